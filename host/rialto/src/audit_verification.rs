//! Checks of the audit log that operators ask the host for: one at a time, for a bounded time, on a thread of its own. The last
//! result is in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rialto_audit::{PublicKey, WitnessKey};
use rialto_engine::{Clock, Timestamp};
use rialto_manifest::Operator;
use serde::{Deserialize, Serialize};

use crate::audit_check::{Heads, check_store, findings};
use crate::checkpoints::witnesses;
use crate::stored::Stored;

/// How long one check may take.
const TAKES_MAX: Duration = Duration::from_secs(600);
/// How many findings are told.
const FINDINGS_MAX: usize = 100;

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// When it began; milliseconds since 1970.
    pub at: u64,
    /// Milliseconds that it took.
    pub took_ms: u64,
    /// The operator's person who asked for it.
    pub person: String,
    /// The entries of the log.
    pub entries: u64,
    /// How many of them are in archives.
    pub archived: u64,
    /// How many of them signed checkpoints cover.
    pub signed: u64,
    /// The checkpoints that were found.
    pub checkpoints: u64,
    /// How many of them fit the log.
    pub fitting: u64,
    /// What is wrong, at most 100 sentences. Empty: the log is the one that was signed.
    pub findings: Vec<String>,
    /// Why there is no result, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// How checks of the audit log stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Since when one runs, if one does; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_since: Option<u64>,
    /// The last result since the host's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Verified>,
}

/// Checks the audit log when it is asked to.
pub struct Verifier {
    stored: Stored,
    elsewhere: Option<PathBuf>,
    keys: Vec<PublicKey>,
    witnesses: Vec<WitnessKey>,
    clock: Arc<dyn Clock>,
    now: Mutex<Verification>,
}

impl Verifier {
    /// Of this store, whose checkpoints these keys sign.
    ///
    /// # Errors
    /// When the key of a witness cannot be read.
    pub fn new(
        operator: &Operator,
        scheme: &Path,
        (stored, keys): (Stored, Vec<PublicKey>),
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let wanted = operator.audit.as_ref();
        let elsewhere = wanted.and_then(|audit| audit.checkpoints.as_ref());
        Ok(Self {
            stored,
            elsewhere: elsewhere.map(|folder| folder.from_folder(scheme)),
            keys,
            witnesses: wanted.map_or(Ok(Vec::new()), witnesses::keys)?,
            clock,
            now: Mutex::default(),
        })
    }

    /// How checks stand.
    #[must_use]
    pub fn now(&self) -> Verification {
        self.now.lock().clone()
    }

    /// Begin a check for this person. Returns whether it has begun: not while another one runs.
    pub fn begin(self: &Arc<Self>, person: &str) -> bool {
        let began = self.clock.now();
        {
            let mut now = self.now.lock();
            if now.running_since.is_some() {
                return false;
            }
            now.running_since = Some(began.0);
        }
        let (verifier, person) = (self.clone(), person.to_owned());
        let thread = std::thread::Builder::new().name("audit-verify".to_owned());
        let spawned = thread.spawn(move || {
            // Payments go first. On Linux this is of the thread alone.
            let _ = rustix::process::nice(19);
            let verified = verifier.verify(began, person);
            let mut now = verifier.now.lock();
            now.running_since = None;
            now.last = Some(verified);
        });
        if spawned.is_err() {
            self.now.lock().running_since = None;
        }
        spawned.is_ok()
    }

    fn verify(&self, began: Timestamp, person: String) -> Verified {
        let mut verified = Verified {
            at: began.0,
            took_ms: 0,
            person,
            entries: 0,
            archived: 0,
            signed: 0,
            checkpoints: 0,
            fitting: 0,
            findings: Vec::new(),
            failed: None,
        };
        let started = Instant::now();
        if let Err(error) = self.check(&mut verified, started + TAKES_MAX) {
            verified.failed = Some(format!("{error:#}"));
        }
        verified.took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        verified
    }

    fn check(&self, verified: &mut Verified, until: Instant) -> anyhow::Result<()> {
        let mut heads = Heads::new(&self.keys, &self.witnesses);
        // Before the first minute there is none.
        if let Some(elsewhere) = self.elsewhere.as_ref().filter(|folder| folder.exists()) {
            heads.add_files(elsewhere)?;
        }
        let checked = check_store(&mut heads, &self.stored, Some(until))?;
        let found = findings(&checked.report, &heads);
        verified.entries = checked.report.entries;
        verified.archived = checked.archived;
        verified.signed = checked.report.signed;
        verified.checkpoints = heads.found.len() as u64;
        verified.fitting = checked.report.fitting as u64;
        let beyond = found.len().saturating_sub(FINDINGS_MAX);
        verified.findings = found.into_iter().take(FINDINGS_MAX).collect();
        if beyond > 0 {
            let more = format!("{beyond} more; `rialto audit verify` tells all");
            verified.findings.push(more);
        }
        Ok(())
    }
}
