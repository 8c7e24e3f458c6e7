//! `rialto archive`: lists, shows and verifies the archives of a store. It reads files, with or without a running
//! host.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rialto_archive::{Verified, verify};
use rialto_store_sqlite::Snapshot;
use rialto_store_sqlite::retention::Archive as Named;
use serde_json::json;

use super::{folders_of, needs_a_folder, operator_of};
use crate::ops::ShownArchive;
use crate::out;
use crate::personal_data::Reader;
use crate::words;

/// List, show or verify the archives of a store.
///
/// An archive is lines of JSON in gzip: `zcat` shows it. The store keeps the SHA-256 of each archive.
#[derive(Debug, clap::Args)]
pub(super) struct Archive {
    #[command(subcommand)]
    verb: Verb,
    /// The scheme's folder.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "RIALTO_SCHEME",
        default_value = "."
    )]
    at: PathBuf,
    /// The folder of the store. Without it, the folder that rialto.toml names.
    #[arg(long, global = true, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the archives of a store, the oldest of each class first
    List {
        /// Print one JSON object per archive.
        #[arg(long)]
        json: bool,
    },
    /// Print the archived items about a subject, such as transfer:7c23e80c-…, as one JSON object per line, the oldest
    /// archive first. What is encrypted for people is decrypted, if rialto.toml names the file of their keys
    Show {
        /// The subject.
        subject: String,
    },
    /// Read whole archives and compare their digests. The exit code is 1 if one is damaged
    Verify {
        /// The files to verify, each against its own checksums. Without any: all archives of the store, each also
        /// against the store's digest.
        files: Vec<PathBuf>,
        /// Print one JSON object per archive.
        #[arg(long)]
        json: bool,
    },
}

impl Archive {
    pub fn run(self) -> anyhow::Result<u8> {
        match &self.verb {
            Verb::List { json } => {
                let (archives, folder) = self.archives()?;
                for archive in &archives {
                    let shown = ShownArchive::of(archive, &folder);
                    if *json {
                        out::json(&shown)?;
                    } else {
                        out::line(in_a_line(&shown))?;
                    }
                }
                if archives.is_empty() && !json {
                    out::note("there are no archives: `keep` in rialto.toml sets what is archived");
                }
                Ok(0)
            }
            Verb::Show { subject } => {
                let (archives, folder) = self.archives()?;
                show(&archives, &folder, subject, self.reader()?.as_ref())
            }
            Verb::Verify { files, json } if !files.is_empty() => {
                let checked = files.iter().map(|file| Ok(checked(file, None)));
                told(checked, *json)
            }
            Verb::Verify { json, .. } => {
                let (archives, folder) = self.archives()?;
                let all = archives.iter();
                told(
                    all.map(|one| Ok(checked(&folder.join(&one.file), Some(one)))),
                    *json,
                )
            }
        }
    }

    /// The keys of people, if the scheme is there and names them.
    fn reader(&self) -> anyhow::Result<Option<Reader>> {
        if self.state.is_some() && !self.at.join("rialto.toml").is_file() {
            return Ok(None);
        }
        Reader::open(&operator_of(&self.at)?, &self.at)
    }

    /// The archives of the store, and the folder of their files.
    fn archives(&self) -> anyhow::Result<(Vec<Named>, PathBuf)> {
        let instead =
            "a store on PostgreSQL writes no archives, and keeps everything in its tables";
        needs_a_folder(&self.at, self.state.as_deref(), instead)?;
        let (store, folder) = folders_of(&self.at, self.state.as_deref())?;
        let mut snapshot = Snapshot::open(&store)?;
        let archives = snapshot.archives().context("reading the store")?;
        Ok((archives, folder))
    }
}

/// Prints the items about a subject.
fn show(
    archives: &[Named],
    folder: &Path,
    subject: &str,
    reader: Option<&Reader>,
) -> anyhow::Result<u8> {
    let alone = || vec![subject.to_owned()];
    let subjects = reader.map_or_else(alone, |reader| reader.subjects(subject));
    let mut is_found = false;
    for archive in archives {
        let path = folder.join(&archive.file);
        if !path.is_file() {
            out::note(format_args!(
                "{} is missing: it may have items",
                archive.file
            ));
            continue;
        }
        let mut items = rialto_archive::Reader::open(&path)?;
        for subject in &subjects {
            for line in items.about(subject)? {
                is_found = true;
                out::line(match reader {
                    Some(reader) => reader.shown(line),
                    None => line,
                })?;
            }
        }
    }
    if !is_found {
        out::note(format_args!("no archive has an item about {subject}"));
    }
    Ok(u8::from(!is_found))
}

/// A file, and its problem if it has one.
struct Checked {
    file: PathBuf,
    found: Result<Verified, String>,
}

/// Reads a file and compares it with the store's record of it.
fn checked(file: &Path, named: Option<&Named>) -> Checked {
    let found = verify(file).map_err(|error| format!("{:#}", anyhow::Error::from(error)));
    let found = found.and_then(|verified| match named {
        Some(named) if !named.is(&verified) => Err(format!(
            "its SHA-256 is {}, the store has {}",
            verified.written.sha256, named.sha256
        )),
        _ => Ok(verified),
    });
    Checked {
        file: file.to_owned(),
        found,
    }
}

fn told(all: impl Iterator<Item = anyhow::Result<Checked>>, as_json: bool) -> anyhow::Result<u8> {
    let mut is_one_bad = false;
    for one in all {
        let Checked { file, found } = one?;
        is_one_bad |= found.is_err();
        let name = file.display();
        match &found {
            Ok(verified) if as_json => {
                let written = &verified.written;
                out::json(&json!({
                    "file": file, "whole": true, "head": verified.head, "items": written.items,
                    "bytes": written.bytes, "sha256": written.sha256,
                }))?;
            }
            Err(wrong) if as_json => {
                out::json(&json!({ "file": file, "whole": false, "wrong": wrong }))?;
            }
            Ok(verified) => {
                let items = verified.written.items;
                out::line(format_args!("{name} is whole: {items} items"))?;
            }
            Err(wrong) => out::line(format_args!("{name} is NOT whole: {wrong}"))?,
        }
    }
    Ok(u8::from(is_one_bad))
}

fn in_a_line(shown: &ShownArchive) -> String {
    let state = match (shown.is_there, shown.done) {
        (false, _) => "NOT THERE",
        (true, false) => "being taken out of the store",
        (true, true) => "there",
    };
    format!(
        "{} segment {} {} items from {} to {}, {} bytes, sha256 {}, {}: {state}",
        shown.class,
        shown.segment,
        shown.items,
        words::instant(shown.from),
        words::instant(shown.to),
        shown.bytes,
        shown.sha256,
        shown.file,
    )
}
