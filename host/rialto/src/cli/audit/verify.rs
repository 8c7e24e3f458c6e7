//! `rialto audit verify`: whether the log is the one whose checkpoints were signed.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_audit::folder::Reader;
use rialto_audit::verify::{Head, Log, check};
use rialto_audit::{Checkpoint, Cosignature, Hash, PublicKey, Report, WitnessKey, tree};
use rialto_engine::store::StoreError;
use rialto_store_sqlite::retention::ArchivedEntries;
use rialto_store_sqlite::{Snapshot, StoredCheckpoint};
use serde_json::json;

use super::{ENTRIES_AT_ONCE, Store};
use crate::audit_key;
use crate::checkpoints::witnesses::{self, COSIGNED};
use crate::cli::{folders_of, operator_of};
use crate::{out, words};

/// Reads one commit of the store's file, with or without a running host, or an exported log.
#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// A log that `rialto audit export` has written. Without it, the log in the store.
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
    /// The public key that has signed the checkpoints, PEM. Several for several. Without it, the keys of rialto.toml
    #[arg(long = "key", value_name = "FILE")]
    keys: Vec<PathBuf>,
    /// A checkpoint that was kept somewhere else, or a folder of them. Several for several.
    #[arg(long = "head", value_name = "FILE")]
    heads: Vec<PathBuf>,
    /// The public key of a witness: `name+id+key`. Several for several. Without it, those of rialto.toml
    #[arg(long = "witness", value_name = "KEY")]
    witnesses: Vec<WitnessKey>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: Store,
}

/// The log in a store and in its archives.
struct InStore {
    snapshot: Snapshot,
    archived: ArchivedEntries,
    /// What is wrong with archives.
    findings: Vec<String>,
}

impl InStore {
    fn of(store: &Store) -> anyhow::Result<Self> {
        let mut snapshot = store.snapshot()?;
        let archived = store.archived(&mut snapshot)?;
        let mut findings = Vec::new();
        let (_, folder) = folders_of(&store.at, store.state.as_deref())?;
        for one in archived.archives() {
            let path = folder.join(&one.file);
            // One that cannot be read is told when its entries are to be read.
            if let Ok(found) = rialto_archive::verify(&path)
                && !one.is(&found)
            {
                findings.push(format!(
                    "the archive {} is not the one that was written: its SHA-256 is {}, the store has {}",
                    path.display(),
                    found.written.sha256,
                    one.sha256
                ));
            }
        }
        Ok(Self {
            snapshot,
            archived,
            findings,
        })
    }
}

impl Log for InStore {
    type Error = StoreError;

    fn entries(&mut self, first: u64) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        let archived = &mut self.archived;
        let entries = self
            .snapshot
            .all_audit_entries(archived, first, ENTRIES_AT_ONCE)?;
        let unread = self.archived.take_unread();
        self.findings.extend(unread.iter().map(ToString::to_string));
        let bytes = entries.into_iter();
        Ok(bytes.map(|one| (one.index, one.body.into())).collect())
    }

    fn hashes(&mut self, tile: u64) -> Result<Option<Vec<Hash>>, StoreError> {
        let bytes = self.snapshot.audit_tile(0, tile)?;
        // Bytes that are no hashes are as good as none.
        Ok(bytes.and_then(|bytes| tree::hashes_of(&bytes)))
    }
}

impl Verify {
    pub(super) fn run(self) -> anyhow::Result<u8> {
        let keys = self.keys()?;
        let witnesses = self.witnesses()?;
        let mut heads = Heads {
            keys: &keys,
            witnesses: &witnesses,
            cosigned: vec![None; witnesses.len()],
            found: Vec::new(),
            unsigned: Vec::new(),
        };
        for path in self.heads.iter().chain(&self.kept_elsewhere()?) {
            heads.add_files(path)?;
        }
        let mut archived = 0;
        let report = match &self.log {
            Some(folder) => {
                for (file, note) in Reader::checkpoints(folder)? {
                    heads.add(file.display().to_string(), &note);
                }
                let all: Vec<Checkpoint> = heads
                    .found
                    .iter()
                    .map(|one| one.checkpoint.clone())
                    .collect();
                let size = rialto_audit::folder::size_of(&all);
                check(&mut Reader::new(folder, size), &heads.found)?
            }
            None => {
                let mut store = InStore::of(&self.store)?;
                archived = store.archived.count();
                let checkpoints = store.snapshot.audit_checkpoints(u32::MAX)?;
                for StoredCheckpoint { size, note, .. } in checkpoints {
                    heads.add(format!("the store's own of {size} entries"), &note);
                }
                let (state, _) = folders_of(&self.store.at, self.store.state.as_deref())?;
                let cosigned = state.join(COSIGNED);
                if cosigned.exists() {
                    heads.add_file(&cosigned)?;
                }
                let report = check(&mut store, &heads.found)?;
                heads.unsigned.append(&mut store.findings);
                report
            }
        };
        self.tell(&report, archived, &heads)
    }

    fn keys(&self) -> anyhow::Result<Vec<PublicKey>> {
        if !self.keys.is_empty() {
            let keys = self.keys.iter();
            return keys.map(|file| audit_key::public_key(file)).collect();
        }
        if self.log.is_some() {
            bail!("an exported log is verified with --key, the public key of its checkpoints");
        }
        audit_key::public_keys(&operator_of(&self.store.at)?, &self.store.at)
    }

    /// The witnesses' keys.
    fn witnesses(&self) -> anyhow::Result<Vec<WitnessKey>> {
        if !self.witnesses.is_empty() || self.log.is_some() || !self.keys.is_empty() {
            return Ok(self.witnesses.clone());
        }
        let operator = operator_of(&self.store.at)?;
        let wanted = operator.audit.as_ref();
        wanted.map_or(Ok(Vec::new()), witnesses::keys)
    }

    /// The folder of rialto.toml to which checkpoints leave, if there is one.
    fn kept_elsewhere(&self) -> anyhow::Result<Option<PathBuf>> {
        if self.log.is_some() || self.store.state.is_some() {
            return Ok(None);
        }
        let operator = operator_of(&self.store.at)?;
        let folder = operator.audit.as_ref().and_then(|a| a.checkpoints.as_ref());
        let folder = folder.map(|folder| folder.from_folder(&self.store.at));
        // Before the first minute there is none.
        Ok(folder.filter(|folder| folder.exists()))
    }

    fn tell(&self, report: &Report, archived: u64, heads: &Heads<'_>) -> anyhow::Result<u8> {
        let mut findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        findings.extend(heads.unsigned.iter().cloned());
        if heads.found.is_empty() {
            findings
                .push("there is no signed checkpoint: nothing says what the log was".to_owned());
        }
        // Who names a witness wants its word. One of rialto.toml may not have signed yet.
        let silent = self.witnesses.iter().filter(|key| heads.is_silent(key));
        let silent =
            silent.map(|key| format!("no checkpoint is signed by the witness {}", key.name()));
        findings.extend(silent);
        let Report {
            entries,
            signed,
            fitting,
            ..
        } = report;
        if self.json {
            out::json(&json!({
                "entries": entries,
                "archived": archived,
                "signed": signed,
                "checkpoints": fitting,
                "findings": findings,
                "cosigned": heads.cosigned().map(|(name, size, at)| json!({
                    "witness": name, "entries": size, "at": at,
                })).collect::<Vec<_>>(),
            }))?;
        } else {
            for finding in &findings {
                out::line(words::plain(finding))?;
            }
            for (name, size, at) in heads.cosigned() {
                let at = words::instant(at);
                out::line(format_args!("{name} has signed {size} entries at {at}"))?;
            }
            let in_archives = match archived {
                0 => String::new(),
                count => format!(", {count} of them in archives"),
            };
            let behind = entries.saturating_sub(*signed);
            out::line(format_args!(
                "{entries} entries{in_archives}, {behind} of them behind the last checkpoint; {fitting} of {} checkpoints fit",
                heads.found.len()
            ))?;
        }
        Ok(u8::from(!findings.is_empty()))
    }
}

/// Checkpoints whose signatures were verified.
struct Heads<'k> {
    keys: &'k [PublicKey],
    found: Vec<Head>,
    witnesses: &'k [WitnessKey],
    /// By witness: the largest size that it has signed, and when, in milliseconds since 1970.
    cosigned: Vec<Option<(u64, u64)>>,
    /// What is wrong with others, and with archives.
    unsigned: Vec<String>,
}

impl Heads<'_> {
    /// Each witness that has signed a checkpoint: its name, the largest size, and when.
    /// Whether nothing that was found is signed by this witness.
    fn is_silent(&self, witness: &WitnessKey) -> bool {
        let mut all = self.witnesses.iter().zip(&self.cosigned);
        !all.any(|(key, found)| key == witness && found.is_some())
    }

    fn cosigned(&self) -> impl Iterator<Item = (&str, u64, u64)> {
        let all = self.witnesses.iter().zip(&self.cosigned);
        all.filter_map(|(key, found)| found.map(|(size, at)| (key.name(), size, at)))
    }

    fn add_cosignatures(&mut self, place: &str, size: u64, note: &str) {
        for (key, found) in self.witnesses.iter().zip(&mut self.cosigned) {
            match key.cosignature(note) {
                Cosignature::None => {}
                Cosignature::At(seconds) => {
                    *found = (*found).max(Some((size, seconds.saturating_mul(1_000))));
                }
                Cosignature::Bad => self.unsigned.push(format!(
                    "{place} has a signature in the name of the witness {} that is not one of it",
                    key.name()
                )),
            }
        }
    }

    fn add(&mut self, place: String, note: &str) {
        let outcomes = self.keys.iter();
        let mut outcomes = outcomes.map(|key| Checkpoint::verified(note, key));
        let mut last = None;
        let found = outcomes.find_map(|outcome| outcome.map_err(|error| last = Some(error)).ok());
        match (found, last) {
            (Some(checkpoint), _) => {
                self.add_cosignatures(&place, checkpoint.size, note);
                self.found.push(Head { checkpoint, place });
            }
            (None, Some(error)) => {
                let finding = format!("{place} cannot be believed: {error}");
                self.unsigned.push(finding);
            }
            (None, None) => {}
        }
    }

    /// Add the checkpoint in a file, or all in a folder.
    fn add_files(&mut self, path: &Path) -> anyhow::Result<()> {
        let reading = || format!("reading {}", path.display());
        if path.is_dir() {
            for file in fs::read_dir(path).with_context(reading)? {
                let file = file.with_context(reading)?.path();
                // One that is being written has another name until it is whole.
                if file.extension().is_none_or(|kind| kind == "cosigned") {
                    self.add_file(&file)?;
                }
            }
            return Ok(());
        }
        self.add_file(path)
    }

    fn add_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let note = fs::read_to_string(path);
        let note = note.with_context(|| format!("reading {}", path.display()))?;
        self.add(path.display().to_string(), &note);
        Ok(())
    }
}
