//! The journal, a write-ahead log of groups. A group is durable when its entry is in the journal.
//!
//! - `entry` is what is written: a group, in a compact form;
//! - `stream` is how the entries of a file are compressed, each by what those before it have;
//! - `record` is how an entry lies in a file, so that its end, its order and its damage can be told;
//! - `files` writes: it appends one record after the other, and uses a file again when all of it is in the tables;
//! - `reading` reads: at a start, and in other processes beside a host that writes.
//!
//! The files are in the folder `journal` beside the database, so that a commit is one write and one sync, and waits for no
//! transaction. The table `journal` has entries too: those of a backup, and of a host of layout 17 and before.

mod entry;
mod files;
mod reading;
mod record;
mod stream;

pub(crate) use entry::{Document, Entry, Letter, Verdict};
pub(crate) use files::{Files, NewFile, Syncing, accept, fence_off};
pub(crate) use reading::{Purpose, Reading, database, in_table, put_in_table};

/// The folder of the files, beside the database.
pub(crate) const FOLDER: &str = "journal";
/// The file that says who writes. Its lock is for readers: while one has it, no file is used again.
const HEAD: &str = "head";
/// How names of files end.
const ENDING: &str = ".log";
