//! `rialto audit`: shows what operators did, verifies the audit log, and exports it.

mod entries;
mod log;
mod verify;

use std::path::PathBuf;

use anyhow::bail;
use rialto_store_sqlite::retention::ArchivedEntries;

use super::inspect::path;
use super::{At, stored_in};
use crate::audit::Entry;
use crate::audit_check::ENTRIES_AT_ONCE;
use crate::audit_lines::Format;
use crate::stored::Stored;
use crate::{out, words};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Audit {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Verify that the audit log is the one whose checkpoints were signed. The exit code is 1 if it is not
    Verify(verify::Verify),
    /// Write the entries of the audit log as lines for other systems, or its signed part to a folder
    Export(Export),
}

#[derive(Debug, clap::Args)]
struct List {
    /// The number of entries to show: the latest. 1 to 10,000; the default is 100
    #[arg(long, value_name = "ENTRIES")]
    last: Option<u32>,
    /// Show only entries with this text in their subject, such as `dead letter` or `release 3`
    #[arg(long, value_name = "TEXT", default_value = "")]
    about: String,
    /// Print one JSON object per entry.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

/// Reads the store's file, with or without a running host.
#[derive(Debug, clap::Args)]
struct Export {
    /// The folder for the signed part, in the public format of transparency logs. It is made, and must be empty.
    #[arg(
        value_name = "DIR",
        required_unless_present = "format",
        conflicts_with = "format"
    )]
    folder: Option<PathBuf>,
    /// Instead of a folder: one line for each entry, in this format.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
    #[command(flatten)]
    lines: entries::Lines,
    #[command(flatten)]
    store: Store,
}

#[derive(Debug, clap::Args)]
struct Store {
    /// The scheme's folder.
    #[arg(long, value_name = "DIR", env = "RIALTO_SCHEME", default_value = ".")]
    at: PathBuf,
    /// The folder of the store. Without it, the folder that rialto.toml names.
    #[arg(long, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
}

impl Audit {
    pub fn run(self) -> anyhow::Result<u8> {
        match self.verb {
            Some(Verb::Verify(verify)) => verify.run(),
            Some(Verb::Export(export)) => export.run(),
            None => self.list.run(),
        }
    }
}

impl List {
    fn run(self) -> anyhow::Result<u8> {
        let about = path(&self.about);
        let last = self.last.map(|last| format!("&last={last}"));
        let path = format!("/audit-log?about={about}{}", last.unwrap_or_default());
        let entries: Vec<Entry> = self.at.client()?.get(&path)?;
        if entries.is_empty() {
            out::note("the audit log has no such entry");
        }
        for entry in &entries {
            if self.json {
                out::json(entry)?;
            } else {
                out::line(done(entry))?;
            }
        }
        Ok(0)
    }
}

/// `12 2026-01-01 00:00:00.000Z anna release-apply sha256:… “lower the limit”: done: release 2 is current`
fn done(entry: &Entry) -> String {
    let Entry {
        id,
        person,
        operator,
        action,
        about,
        note,
        outcome,
        reason,
        ..
    } = entry;
    let at = words::instant(entry.at);
    let token = if operator == person || operator.is_empty() {
        String::new()
    } else {
        format!(" (as {operator})")
    };
    let reason = if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    };
    let note = if note.is_empty() {
        String::new()
    } else {
        format!(" “{note}”")
    };
    words::plain(&format!(
        "{id} {at} {person}{token} {action} {about}{note}: {outcome}{reason}"
    ))
}

impl Store {
    fn stored(&self) -> anyhow::Result<Stored> {
        stored_in(&self.at, self.state.as_deref())
    }
}

impl Export {
    fn run(self) -> anyhow::Result<u8> {
        match (self.format, self.folder) {
            (Some(format), _) => self.lines.run(format, &self.store),
            (None, Some(folder)) => {
                let stored = self.store.stored()?;
                let mut snapshot = stored.audit_log()?;
                let archives = snapshot.audit_archives()?;
                let archived = ArchivedEntries::new(stored.archives(), &archives);
                log::export(&folder, &mut *snapshot, archived)
            }
            (None, None) => bail!("name a folder, or a format with --format"),
        }
    }
}
