//! `rialto receipts`: the receipts of a running host, and receipts in a file, which prove themselves without one.

mod again;
mod redact;
mod verify;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rialto_receipts::proof::FILE_BYTES_MAX;
use rialto_receipts::{ProofFile, Why};

use super::At;
use super::inspect::{note_missing, path};
use crate::client::Client;
use crate::ops::FiledReceipt;
use crate::{out, words};

/// How long `--out` waits for the checkpoint of the newest receipts. One is signed each second.
const SIGNED_WITHIN: Duration = Duration::from_secs(10);
/// The time between two looks for it.
const LOOK: Duration = Duration::from_millis(250);

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Receipts {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Verify receipts that `rialto receipts ID --out` has written, without a host. The exit code is 1 if one does not hold
    Verify(verify::Verify),
    /// Take fields of receipts away. What is left can still be verified
    Redact(redact::Redact),
}

#[derive(Debug, clap::Args)]
struct List {
    /// The id of a transfer or a quote.
    #[arg(required = true)]
    id: Option<String>,
    /// Ask each rule again, with the same bytes and the same input, and compare.
    #[arg(long)]
    again: bool,
    /// Write them to a new file, with the proof that this host has made them; `[audit]` must be set up
    #[arg(long, value_name = "FILE", conflicts_with_all = ["again", "json"])]
    out: Option<PathBuf>,
    /// Print one JSON object per receipt.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    at: At,
}

impl Receipts {
    pub fn run(self) -> anyhow::Result<u8> {
        match self.verb {
            Some(Verb::Verify(verify)) => verify.run(),
            Some(Verb::Redact(redact)) => redact.run(),
            None => self.list.run(),
        }
    }
}

impl List {
    fn run(self) -> anyhow::Result<u8> {
        let client = self.at.client()?;
        let id = self.id.as_deref().context("name an id")?;
        if let Some(file) = &self.out {
            return export(&client, id, file);
        }
        let path = format!("/receipts/{}?again={}", path(id), self.again);
        let filed: Vec<FiledReceipt> = client.get(&path)?;
        note_missing(&client, "receipts")?;
        if filed.is_empty() {
            out::note(format_args!("there is no receipt about {id}"));
            return Ok(1);
        }
        if self.json {
            for receipt in &filed {
                out::json(receipt)?;
            }
        } else {
            out::text(words::receipts(&filed, words::colours()))?;
        }
        let differs = |filed: &FiledReceipt| filed.again.as_ref().is_some_and(|a| !a.same);
        Ok(u8::from(filed.iter().any(differs)))
    }
}

/// Writes the receipts about an id with their proofs. The exit code is 1 if one has none.
fn export(client: &Client, id: &str, file: &Path) -> anyhow::Result<u8> {
    if file.exists() {
        bail!(
            "{} exists: name a new file, or remove this one",
            file.display()
        );
    }
    let path = format!("/receipts/{}/proofs", path(id));
    let started = Instant::now();
    let found = loop {
        let found: ProofFile = client.get(&path)?;
        let mut unproven = found.unproven.iter();
        let waits = unproven.any(|one| one.why == Why::Unsigned);
        if !waits || started.elapsed() >= SIGNED_WITHIN {
            break found;
        }
        std::thread::sleep(LOOK);
    };
    note_missing(client, "receipts")?;
    for unproven in &found.unproven {
        let why = unproven.why.words();
        out::note(format_args!("receipt {} is left out: {why}", unproven.id));
    }
    if found.receipts.is_empty() {
        out::note(format_args!(
            "there is no receipt about {id} that can be proven; nothing is written"
        ));
        return Ok(1);
    }
    write(file, &found)?;
    let count = found.receipts.len();
    out::line(format_args!("{count} receipts are in {}", file.display()))?;
    Ok(u8::from(!found.unproven.is_empty()))
}

/// Writes a new file.
pub(super) fn write(file: &Path, proofs: &ProofFile) -> anyhow::Result<()> {
    use std::io::Write as _;
    let text = serde_json::to_string(proofs)?;
    let made = rialto_files::create(file);
    let mut made = made.with_context(|| format!("making {}", file.display()))?;
    let written = made
        .write_all(text.as_bytes())
        .and_then(|()| made.sync_all());
    written.with_context(|| format!("writing {}", file.display()))
}

/// Reads a file.
fn read(file: &Path) -> anyhow::Result<ProofFile> {
    let reading = || format!("reading {}", file.display());
    let size = fs::metadata(file).with_context(reading)?.len();
    if size > FILE_BYTES_MAX {
        bail!(
            "{} has {size} bytes, and a file of receipts at most {FILE_BYTES_MAX}",
            file.display()
        );
    }
    let text = fs::read_to_string(file).with_context(reading)?;
    ProofFile::read(&text).with_context(reading)
}
