//! `rialto backup` and `rialto restore`: a store's copy, and a store from a copy. Both work on files, so
//! the host may run or not; the user must be the one as whom it runs.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rialto_store_sqlite::backup::{self, Manifest, Step};
use serde_json::json;

use super::folders_of;
use crate::out;

/// Take a checked copy of a store, beside a running host or without one.
///
/// The copy is one commit: all that was acknowledged when it began. It is a store of its own that
/// `rialto ledger --state DIR` reads where it is.
#[derive(Debug, clap::Args)]
pub(super) struct Backup {
    /// The folder for the copy: empty, or not there.
    to: PathBuf,
    /// Leave archives out. They never change: one copy of each, elsewhere, is enough.
    #[arg(long)]
    without_archives: bool,
    #[command(flatten)]
    of: Of,
}

/// Make a store from a backup, in the empty folder of a store.
///
/// The digest of the backup is verified, and the store is marked as a restored one. What was
/// acknowledged after the backup is not in it: docs/operators.md says what to do before FSPs come in.
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
    /// The folder of its store, where that is not the one that rialto.toml names.
    #[arg(long, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Of {
    /// The folders of the store and of its archives.
    fn folders(&self) -> anyhow::Result<(PathBuf, PathBuf)> {
        folders_of(&self.at, self.state.as_deref())
    }

    /// Tell what was done: the manifest, and where.
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
            out::note(format_args!(
                "these archives are not in the backup: {names}"
            ));
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
                "what was acknowledged after that is not in it; before others are let in, do what docs/operators.md says under \"Backup and restore\"",
            );
        }
        self.of.tell(&manifest, &store, "restored to")
    }
}

/// A bar at a terminal, nothing elsewhere.
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
