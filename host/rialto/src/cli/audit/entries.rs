//! `rialto audit export --format`: the entries as lines, for systems that watch over others.
//!
//! The log is read in steps, and no snapshot of the store stays open while a line is written: a reader that waits would
//! keep the host from making its files smaller.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rialto_files::FileError;
use rialto_receipts::log;
use rialto_store_sqlite::retention::ArchivedEntries;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{ENTRIES_AT_ONCE, Store};
use crate::audit_lines::{Exported, Format};
use crate::cli::instants::past;
use crate::out;
use crate::stored::Stored;

/// The time between two looks for new entries.
const LOOK: Duration = Duration::from_secs(1);
/// How many entries are in memory.
const ENTRIES_MAX: usize = 4_096;

/// Which entries, and where to.
#[derive(Debug, clap::Args)]
pub(super) struct Lines {
    /// With --format: only entries from this instant on, such as 2026-01-31T09:00:00Z, or from so long ago, such as `2 h`.
    #[arg(long, value_name = "TIME", requires = "format", value_parser = past)]
    since: Option<u64>,
    /// With --format: only entries from before this instant.
    #[arg(long, value_name = "TIME", requires = "format", value_parser = past)]
    until: Option<u64>,
    /// With --format: a new file. Without it, standard output.
    #[arg(long, value_name = "FILE", requires = "format")]
    to: Option<PathBuf>,
    /// With --format: go on with new entries, until it is stopped or nobody reads.
    #[arg(long, requires = "format", conflicts_with = "until")]
    follow: bool,
    /// With --format: entries about receipts too. They are hashes, and there is one for most commits of the host
    #[arg(long, requires = "format")]
    receipts: bool,
}

impl Lines {
    pub(super) fn run(self, format: Format, store: &Store) -> anyhow::Result<u8> {
        let (since, until) = (self.since.unwrap_or(0), self.until.unwrap_or(u64::MAX));
        if since >= until {
            bail!(
                "no entry is between --since and --until: give --until an instant that is later than that of --since"
            );
        }
        let stored = store.stored()?;
        let archived = ArchivedEntries::new(stored.archives(), &[]);
        let mut log = Log {
            stored,
            archived,
            next: 0,
        };
        // Before a file is made, so that none is left without a store.
        let mut found = log.read()?;
        let mut sink = Sink::new(self.to.as_deref())?;
        let mut written = 0_u64;
        loop {
            let is_last = found.is_empty();
            let mut lines = String::new();
            for (index, at, body) in found {
                let is_left_out = !self.receipts && log::text_is_about_receipts(&body);
                if (since..until).contains(&at) && !is_left_out {
                    lines.push_str(&format.line(&Exported::new(index, at, &body)));
                    lines.push('\n');
                    written += 1;
                }
            }
            sink.write(&lines)?;
            if is_last {
                if !self.follow {
                    break;
                }
                sink.wait()?;
            }
            found = log.read()?;
        }
        sink.end(written)?;
        Ok(0)
    }
}

/// Index, instant and bytes of an entry.
type Found = (u64, u64, String);

/// The log in a store, read from its begin.
struct Log {
    stored: Stored,
    archived: ArchivedEntries,
    /// The index of the entry to read next.
    next: u64,
}

impl Log {
    /// The next entries; none at the end.
    fn read(&mut self) -> anyhow::Result<Vec<Found>> {
        let mut store = self.stored.audit_log()?;
        let size = store.audit_size()?;
        if size < self.next {
            bail!(
                "the log has {size} entries, and {} were read before: the store was restored or changed. `rialto audit verify` names what differs; then begin the export anew",
                self.next
            );
        }
        let mut found = Vec::new();
        while found.len() < ENTRIES_MAX {
            let entries = self
                .archived
                .all_entries(&mut *store, self.next, ENTRIES_AT_ONCE)?;
            for unread in self.archived.take_unread() {
                out::note(unread);
            }
            if entries.is_empty() {
                break;
            }
            for entry in entries {
                if entry.index > self.next {
                    let last = entry.index - 1;
                    out::note(format_args!(
                        "entries {} to {last} are missing in the store: `rialto audit verify` names all that differs",
                        self.next
                    ));
                }
                self.next = entry.index + 1;
                found.push((entry.index, entry.at.0, entry.body.to_string()));
            }
        }
        Ok(found)
    }
}

/// Where lines go.
enum Sink {
    Output,
    File(File, PathBuf),
}

impl Sink {
    fn new(to: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = to else {
            return Ok(Self::Output);
        };
        match rialto_files::create(path) {
            Ok(file) => Ok(Self::File(file, path.to_owned())),
            Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                let shown = path.display();
                bail!("{shown} exists: name a new file, or remove this one")
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Write whole lines.
    fn write(&mut self, lines: &str) -> anyhow::Result<()> {
        match self {
            Self::Output => Ok(out::text(lines)?),
            Self::File(file, path) => {
                let written = file.write_all(lines.as_bytes());
                written.with_context(|| format!("writing {}", path.display()))
            }
        }
    }

    /// Wait until it is time for the next look, or nobody reads any more.
    fn wait(&self) -> anyhow::Result<()> {
        match self {
            Self::Output => {
                if is_closed()? {
                    return Err(out::Unwritten::Closed.into());
                }
            }
            Self::File(..) => std::thread::sleep(LOOK),
        }
        Ok(())
    }

    /// All is written.
    fn end(self, entries: u64) -> anyhow::Result<()> {
        let Self::File(file, path) = self else {
            return Ok(());
        };
        let shown = path.display();
        file.sync_all()
            .with_context(|| format!("writing {shown}"))?;
        out::note(format_args!("{entries} entries are in {shown}"));
        Ok(())
    }
}

/// Whether the reader of standard output goes away before it is time for the next look.
fn is_closed() -> anyhow::Result<bool> {
    let output = std::io::stdout();
    // Without a wish, only errors and the end of a pipe are told.
    let mut wanted = [PollFd::new(&output, PollFlags::empty())];
    let look = Timespec {
        tv_sec: LOOK.as_secs().try_into()?,
        tv_nsec: 0,
    };
    match poll(&mut wanted, Some(&look)) {
        Ok(found) => Ok(found > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error).context("waiting for standard output"),
    }
}
