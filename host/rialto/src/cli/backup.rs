//! `rialto backup` copies a store, `rialto restore` makes a store from a copy. Both work on files, with or without a
//! running host. They must run as the host's user.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rialto_store_sqlite::backup::{self, Manifest, Step};
use serde_json::json;

use super::{folders_of, needs_a_folder};
use crate::out;

/// Take a checked copy of a store, beside a running host or without one.
///
/// The copy has all that was acknowledged when it began. It is a store that `rialto ledger --state DIR` can read.
#[derive(Debug, clap::Args)]
pub(super) struct Backup {
    /// The folder for the copy: new or empty.
    to: PathBuf,
    /// Leave archives out. Archives never change, so one copy of each elsewhere is enough.
    #[arg(long)]
    without_archives: bool,
    #[command(flatten)]
    of: Of,
}

/// Make a store from a backup, in a new or empty folder.
///
/// Verifies the backup's digest, and marks the store as restored. Work that was acknowledged after the backup is not
/// in it: docs/operators.md says what to do before FSPs may connect.
#[derive(Debug, clap::Args)]
pub(super) struct Restore {
    /// The backup's folder.
    from: PathBuf,
    #[command(flatten)]
    of: Of,
}

/// Whose store.
#[derive(Debug, clap::Args)]
struct Of {
    /// The scheme's folder.
    #[arg(long, value_name = "DIR", env = "RIALTO_SCHEME", default_value = ".")]
    at: PathBuf,
    /// The folder of the store. Without it, the folder that rialto.toml names.
    #[arg(long, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Of {
    /// The folders of the store and of its archives.
    fn folders(&self) -> anyhow::Result<(PathBuf, PathBuf)> {
        let instead = "back it up with PostgreSQL's own means, such as pg_basebackup or pg_dump, and restore it with them";
        needs_a_folder(&self.at, self.state.as_deref(), instead)?;
        folders_of(&self.at, self.state.as_deref())
    }

    /// Prints the manifest of the copy, and where it is.
    fn tell(&self, manifest: &Manifest, folder: &Path, verb: &str) -> anyhow::Result<u8> {
        if self.json {
            out::json(&json!({ "folder": folder, "manifest": manifest }))?;
            return Ok(0);
        }
        let release = manifest.release.as_ref();
        let release = release.map_or("no release".to_owned(), |r| format!("release {}", r.number));
        let elsewhere = &manifest.archives_elsewhere;
        if !elsewhere.is_empty() {
            let names = elsewhere.join(", ");
            out::note(format_args!("the backup lacks these archives: {names}"));
        }
        let archives = match manifest.archives.len() {
            0 => String::new(),
            n => format!(" and {n} archives"),
        };
        out::line(format_args!(
            "{verb} {}: as of {}, turn {}, {release}, {} MB{archives}",
            folder.display(),
            manifest.taken,
            manifest.lsn,
            manifest.database.bytes.div_ceil(1_000_000),
        ))?;
        Ok(0)
    }
}

impl Backup {
    pub fn run(self) -> anyhow::Result<u8> {
        let (store, archives) = self.of.folders()?;
        let archives = (!self.without_archives).then_some(&*archives);
        let progress = Progress::new();
        let manifest = backup::take(&store, archives, &self.to, &mut |step| progress.tell(step))?;
        progress.done();
        self.of.tell(&manifest, &self.to, "backed up to")
    }
}

impl Restore {
    pub fn run(self) -> anyhow::Result<u8> {
        let (store, archives) = self.of.folders()?;
        let progress = Progress::new();
        let mut tell = |step| progress.tell(step);
        let manifest = backup::restore(&self.from, &store, &archives, &mut tell)?;
        progress.done();
        if !self.of.json {
            out::note(
                "work that was acknowledged after that is not in it: before clients connect, follow \"Backup and restore\" in docs/operators.md",
            );
        }
        self.of.tell(&manifest, &store, "restored to")
    }
}

/// A progress bar at a terminal; nothing elsewhere.
struct Progress(ProgressBar);

impl Progress {
    fn new() -> Self {
        let bar = ProgressBar::new(0);
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style =
            ProgressStyle::with_template("{msg:<9} {bar:40} {bytes}/{total_bytes} {elapsed}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        Self(bar)
    }

    fn tell(&self, step: Step) {
        let (word, at) = match step {
            Step::Copying { done, of } => ("copying", Some((done, of))),
            Step::Checking => ("checking", None),
            Step::Hashing { done, of } => ("hashing", Some((done, of))),
        };
        self.0.set_message(word);
        if let Some((done, of)) = at {
            self.0.set_length(of.max(done));
            self.0.set_position(done);
        }
    }

    fn done(self) {
        self.0.finish_and_clear();
    }
}
