//! Whether the audit log of a store is the one whose checkpoints were signed. It reads one commit of the store, with or
//! without a running host. `rialto audit verify` and the operators' API ask.

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use rialto_audit::verify::{Head, Log, check};
use rialto_audit::{Checkpoint, Cosignature, Hash, PublicKey, Report, WitnessKey, tree};
use rialto_engine::store::StoreError;
use rialto_store::{AuditSnapshot, StoredCheckpoint};
use rialto_store_sqlite::retention::ArchivedEntries;

use crate::checkpoints::witnesses::COSIGNED;
use crate::stored::Stored;

/// How many entries are read at a time.
pub const ENTRIES_AT_ONCE: u32 = 256;

/// What became of the check of a store's log.
pub struct Checked {
    /// What it found.
    pub report: Report,
    /// How many entries are in archives.
    pub archived: u64,
}

/// Check the log of a store by its own checkpoints and by those that were found elsewhere. What is wrong with archives and checkpoints is added to those. With `until`, it gives up then.
///
/// # Errors
/// When the store cannot be read, or the time is over.
pub fn check_store(
    heads: &mut Heads<'_>,
    stored: &Stored,
    until: Option<Instant>,
) -> anyhow::Result<Checked> {
    let mut store = InStore::of(stored, until)?;
    let archived = store.archived.count();
    let checkpoints = store.snapshot.audit_checkpoints(u32::MAX)?;
    for StoredCheckpoint { size, note, .. } in checkpoints {
        heads.add(format!("the store's own of {size} entries"), &note);
    }
    let cosigned = stored.folder().join(COSIGNED);
    if cosigned.exists() {
        heads.add_file(&cosigned)?;
    }
    let report = check(&mut store, &heads.found)?;
    heads.unsigned.append(&mut store.findings);
    Ok(Checked { report, archived })
}

/// What is wrong, in sentences.
#[must_use]
pub fn findings(report: &Report, heads: &Heads<'_>) -> Vec<String> {
    let mut findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    findings.extend(heads.unsigned.iter().cloned());
    if heads.found.is_empty() {
        findings.push("there is no signed checkpoint: nothing says what the log was".to_owned());
    }
    findings
}

/// The log in a store and in its archives.
struct InStore {
    snapshot: Box<dyn AuditSnapshot>,
    archived: ArchivedEntries,
    /// What is wrong with archives.
    findings: Vec<String>,
    /// When to give up.
    until: Option<Instant>,
}

impl InStore {
    fn of(stored: &Stored, until: Option<Instant>) -> anyhow::Result<Self> {
        let mut snapshot = stored.audit_log()?;
        let folder = stored.archives();
        let archived = ArchivedEntries::new(folder, &snapshot.audit_archives()?);
        let mut findings = Vec::new();
        for one in archived.archives() {
            in_time(until)?;
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
            until,
        })
    }
}

/// Refuse to go on when the time is over.
fn in_time(until: Option<Instant>) -> Result<(), StoreError> {
    if until.is_some_and(|until| Instant::now() >= until) {
        let reason = "it took too long and was stopped; `rialto audit verify` has no limit";
        return Err(StoreError::Failed(reason.to_owned()));
    }
    Ok(())
}

impl Log for InStore {
    type Error = StoreError;

    fn entries(&mut self, first: u64) -> Result<Vec<(u64, Vec<u8>)>, StoreError> {
        in_time(self.until)?;
        let snapshot = &mut *self.snapshot;
        let entries = self
            .archived
            .all_entries(snapshot, first, ENTRIES_AT_ONCE)?;
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

/// Checkpoints whose signatures were verified.
pub struct Heads<'k> {
    keys: &'k [PublicKey],
    /// The checkpoints.
    pub found: Vec<Head>,
    witnesses: &'k [WitnessKey],
    /// By witness: the largest size that it has signed, and when, in milliseconds since 1970.
    cosigned: Vec<Option<(u64, u64)>>,
    /// What is wrong with others, and with archives.
    pub unsigned: Vec<String>,
}

impl<'k> Heads<'k> {
    /// None yet: they are to be signed by one of these keys, and may be by these witnesses.
    #[must_use]
    pub fn new(keys: &'k [PublicKey], witnesses: &'k [WitnessKey]) -> Self {
        Self {
            keys,
            found: Vec::new(),
            witnesses,
            cosigned: vec![None; witnesses.len()],
            unsigned: Vec::new(),
        }
    }

    /// Whether nothing that was found is signed by this witness.
    #[must_use]
    pub fn is_silent(&self, witness: &WitnessKey) -> bool {
        let mut all = self.witnesses.iter().zip(&self.cosigned);
        !all.any(|(key, found)| key == witness && found.is_some())
    }

    /// Each witness that has signed a checkpoint: its name, the largest size, and when.
    pub fn cosigned(&self) -> impl Iterator<Item = (&str, u64, u64)> {
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

    /// Add a signed note that was found at a place.
    pub fn add(&mut self, place: String, note: &str) {
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
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn add_files(&mut self, path: &Path) -> anyhow::Result<()> {
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

    /// Add the checkpoint in a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn add_file(&mut self, path: &Path) -> anyhow::Result<()> {
        let note = fs::read_to_string(path);
        let note = note.with_context(|| format!("reading {}", path.display()))?;
        self.add(path.display().to_string(), &note);
        Ok(())
    }
}
