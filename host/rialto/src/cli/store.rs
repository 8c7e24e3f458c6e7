//! `rialto store copy`: moves a scheme whose host is stopped from SQLite to PostgreSQL, or back.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use indicatif::{ProgressBar, ProgressDrawTarget};
use rialto_manifest::Operator;
use rialto_store_copy::Part;
use serde_json::json;

use super::operator_of;
use crate::out;
use crate::store_copy::{self, Copied, CopyOptions, Place};

/// Digits of a digest that people are shown: enough to compare two by eye.
const DIGITS: usize = 16;
/// How many items are done between two words at a terminal.
const TOLD_EACH: u64 = 1_000;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Store {
    /// Copy everything of a store into a PostgreSQL database or back, and compare both
    Copy(StoreCopy),
    /// Have hosts serve again on a store whose copy is given up
    TakeBack(TakeBack),
}

/// Copy everything of a store into a PostgreSQL database or back, and compare both.
///
/// The host must be stopped, and the target new. The source keeps everything, but hosts refuse it from then on: two hosts would
/// hold the same money. Keep it until `rialto ledger check` says of the copy that everything holds.
#[derive(Debug, clap::Args)]
pub(super) struct StoreCopy {
    /// The target: the URL of an empty PostgreSQL database, or a folder without a store.
    #[arg(long, value_name = "URL|DIR")]
    to: String,
    /// Copy although a part of the store is in archives. They stay where they are.
    #[arg(long)]
    without_archives: bool,
    /// Have hosts serve on the source afterwards, too: the copy is for something else, such as a test.
    #[arg(long)]
    keep_source: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// The scheme's folder. Its store is the source: the database of `[store] url`, or the folder that rialto.toml names.
    #[arg(long, value_name = "DIR", env = "RIALTO_SCHEME", default_value = ".")]
    at: PathBuf,
    /// The folder of an SQLite store that is the source instead.
    #[arg(long, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
}

/// Have hosts serve again on a store whose copy is given up.
///
/// The host must be stopped, and none may serve on the copy: what it has written there is not in this store.
#[derive(Debug, clap::Args)]
pub(super) struct TakeBack {
    /// The scheme's folder. Its store is meant: the database of `[store] url`, or the folder that rialto.toml names.
    #[arg(long, value_name = "DIR", env = "RIALTO_SCHEME", default_value = ".")]
    at: PathBuf,
    /// The folder of an SQLite store that is meant instead.
    #[arg(long, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
}

impl Store {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Copy(copy) => copy.run(),
            Self::TakeBack(take) => take.run(),
        }
    }
}

impl TakeBack {
    fn run(self) -> anyhow::Result<u8> {
        let place = match &self.state {
            Some(state) => Place::Folder(state.clone()),
            None => place_of(&operator_of(&self.at)?, &self.at),
        };
        if store_copy::take_back(&place)? {
            out::line(format_args!("hosts serve on {place} again"))?;
        } else {
            out::line(format_args!("{place} was not moved: hosts serve on it"))?;
        }
        Ok(0)
    }
}

impl StoreCopy {
    fn run(self) -> anyhow::Result<u8> {
        let to = Place::parse(&self.to).context("--to")?;
        let from = self.source(&to)?;
        let progress = Progress::new();
        let options = CopyOptions {
            without_archives: self.without_archives,
            keep_source: self.keep_source,
        };
        let copied = store_copy::copy(&from, &to, options, &mut |part, done| {
            progress.tell(part, done);
        });
        progress.done();
        let copied = copied?;
        if self.json {
            let archives: Vec<&str> = copied.archives.iter().map(|one| &*one.file).collect();
            out::json(&json!({
                "from": from.to_string(),
                "to": to.to_string(),
                "parts": copied.parts,
                "archives": archives,
            }))?;
            return Ok(0);
        }
        out::text(table(&copied.parts))?;
        out::line(format_args!("{to} has everything that {from} has"))?;
        self.tell_of_archives(&copied, &from);
        tell_next(&from, &to, self.keep_source);
        Ok(0)
    }

    fn source(&self, to: &Place) -> anyhow::Result<Place> {
        if let Some(state) = &self.state {
            return Ok(Place::Folder(state.clone()));
        }
        let operator = operator_of(&self.at)?;
        let place = place_of(&operator, &self.at);
        ensure!(
            matches!(
                (to, &place),
                (Place::Folder(_), _) | (_, Place::Database(_))
            ) || operator.personal_data.is_none(),
            "rialto.toml has [personal-data], which a store on PostgreSQL cannot have: the file of people's keys is one host's"
        );
        Ok(place)
    }

    fn tell_of_archives(&self, copied: &Copied, from: &Place) {
        if copied.archives.is_empty() {
            return;
        }
        let items: u64 = copied.archives.iter().map(|archive| archive.items).sum();
        out::note(format_args!(
            "{} archives with {items} items are not in the copy. They stay where they are, and the old store knows them: \
             keep both. `rialto archive list --state {from}` lists them, and `rialto archive show SUBJECT --state {from}` \
             shows what they have about a subject",
            copied.archives.len()
        ));
    }
}

/// The store of a scheme's folder.
fn place_of(operator: &Operator, folder: &Path) -> Place {
    match &operator.store.url {
        Some(url) => Place::Database(url.clone()),
        None => Place::Folder(operator.store_path(folder)),
    }
}

/// What to do after a copy.
fn tell_next(from: &Place, to: &Place, keep_source: bool) {
    if keep_source {
        out::note(format_args!(
            "Hosts serve on both: never start one on {to} that clients can reach"
        ));
        return;
    }
    let before = match (from, to) {
        (Place::Folder(folder), Place::Database(url)) => format!(
            "1. Move rialto.db, rialto.db-wal, rialto.db-shm, journal and archives, as far as they are there, out of {} to a \
             folder of mode 0700: a host on PostgreSQL refuses a folder that has a store.\n\
             2. Set `url = \"{url}\"` in [store] of rialto.toml, and take `archives` and `keep` out of it.",
            folder.display()
        ),
        (_, to) => format!(
            "1. Take `url` and `synchronous-standby` out of [store] in rialto.toml. Start no standby any more.\n\
             2. Set `path` in [store] to {to}, if that is another folder than the host's."
        ),
    };
    out::note(format_args!(
        "What to do next:\n{before}\n\
         3. Start the host, and run `rialto ledger check` and, with [audit], `rialto audit verify`.\n\
         4. Keep the old store until both say that everything holds. What the host writes from now on is not in it, and hosts \
         refuse it; `rialto store take-back` is for a copy that is given up."
    ));
}

/// The parts in columns.
fn table(parts: &[Part]) -> String {
    let names = parts.iter().map(|part| part.name.chars().count());
    let width = names.max().unwrap_or(0).max(4);
    let mut table = format!("{:<width$}  {:>12}  SHA-256\n", "part", "items");
    for part in parts {
        let digits = part.sha256.get(..DIGITS).unwrap_or(&part.sha256);
        table.push_str(&format!(
            "{:<width$}  {:>12}  {digits}\n",
            part.name, part.items
        ));
    }
    table
}

/// A line at a terminal that says what is copied; nothing elsewhere.
struct Progress(ProgressBar);

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    fn tell(&self, part: &str, done: u64) {
        if done.is_multiple_of(TOLD_EACH) {
            self.0.set_message(format!("{part} {done}"));
        }
    }

    fn done(self) {
        self.0.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_part() {
        let part = |name: &str, items| Part {
            name: name.to_owned(),
            items,
            sha256: "0123456789abcdef0123".to_owned(),
        };
        let table = table(&[part("documents of a/b", 12), part("x", 3)]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines,
            [
                "part                     items  SHA-256",
                "documents of a/b            12  0123456789abcdef",
                "x                            3  0123456789abcdef",
            ]
        );
    }
}
