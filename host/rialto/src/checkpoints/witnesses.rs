//! Checkpoints leave the host over the network: to witnesses, who sign them too (c2sp.org/tlog-witness), and to a URL.
//!
//! A thread of its own sends the newest checkpoint, so that a slow witness keeps nobody waiting. A witness that has signed
//! more entries than the log has, or another log, says so: then nothing more is signed here until it agrees again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use http::{Method, StatusCode};
use parking_lot::{Condvar, Mutex};
use rialto_audit::proof::Hashes;
use rialto_audit::{Hash, WitnessKey, tree, witness};
use rialto_manifest::audit::AuditLog;
use rialto_store::{HostStore, StoredCheckpoint};

mod place;

use super::folder;
use place::Place;

/// When a checkpoint that was not taken is sent again, if there is no newer one.
const SENT_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// The file in the store's folder with the newest checkpoint that has cosignatures.
pub const COSIGNED: &str = "audit.cosigned";

/// What the thread and the one that signs share.
#[derive(Debug, Default)]
pub struct Outside {
    newest: Mutex<Option<StoredCheckpoint>>,
    changed: Condvar,
    is_stopping: AtomicBool,
    /// Whether the witnesses are being asked about the log as the host has found it at its start.
    is_asking: AtomicBool,
    /// Why nothing more is signed.
    refused: Mutex<Option<String>>,
    /// Checkpoints that a witness has not signed, or the URL has not taken.
    pub failures: AtomicU64,
    /// How many entries all witnesses have signed since the start.
    pub cosigned: AtomicU64,
}

impl Outside {
    /// Send this checkpoint next. One that still waits is passed over.
    pub fn send(&self, checkpoint: &StoredCheckpoint) {
        *self.newest.lock() = Some(checkpoint.clone());
        self.changed.notify_one();
    }

    /// Whether it is yet to be seen if the witnesses have signed this log. Nothing is signed before. It lasts no longer than
    /// each witness may take to answer: one that is away is not awaited.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.is_asking.load(Ordering::Acquire)
    }

    /// Fail if a witness says that the log is not the one that it has signed.
    pub fn refuse_if_other(&self) -> anyhow::Result<()> {
        match &*self.refused.lock() {
            Some(why) => bail!("{why}"),
            None => Ok(()),
        }
    }
}

/// The witness has signed more entries, or other ones.
#[derive(Debug, thiserror::Error)]
#[error(
    "the witness {name} {what}. The log was cut, or is another one: `rialto audit verify` names what differs. After a restore, have the witness forget the log, or take it out of [audit]; nothing more is signed until then"
)]
struct OtherLog {
    name: String,
    what: String,
}

/// A witness, and what it has signed.
struct Witness {
    key: WitnessKey,
    place: Place,
    /// The size that it signed last, as far as known.
    size: u64,
}

/// The work of the thread.
pub struct Leaving {
    store: Arc<dyn HostStore>,
    witnesses: Vec<Witness>,
    url: Option<Place>,
    /// The folder outside the host.
    folder: Option<PathBuf>,
    cosigned: PathBuf,
    outside: Arc<Outside>,
}

/// The keys of the document's witnesses.
///
/// # Errors
/// When one is none.
pub fn keys(wanted: &AuditLog) -> anyhow::Result<Vec<WitnessKey>> {
    let witnesses = wanted.witnesses.iter();
    let key = |key: &str| {
        let parsed = key.parse();
        parsed.with_context(|| format!("`{key}` of [[audit.witnesses]] is no key of a witness"))
    };
    witnesses.map(|one| key(&one.key)).collect()
}

impl Leaving {
    /// What the document wants. None if it names neither a witness nor a URL.
    ///
    /// # Errors
    /// When a key is none, or an authority's file cannot be read.
    pub fn of(
        wanted: &AuditLog,
        (scheme, state): (&Path, &Path),
        store: &Arc<dyn HostStore>,
        outside: &Arc<Outside>,
    ) -> anyhow::Result<Option<Self>> {
        if wanted.witnesses.is_empty() && wanted.checkpoints_url.is_none() {
            return Ok(None);
        }
        let named = keys(wanted)?.into_iter().zip(&wanted.witnesses);
        let witnesses = named.map(|(key, one)| {
            let ca = one.ca.as_ref().map(|ca| ca.from_folder(scheme));
            let place = Place::new(&one.url, ca).context("[[audit.witnesses]]")?;
            let size = 0;
            Ok(Witness { key, place, size })
        });
        let ca = wanted.checkpoints_ca.as_ref();
        let ca = ca.map(|ca| ca.from_folder(scheme));
        let url = wanted.checkpoints_url.as_ref();
        let url = url.map(|url| Place::new(url, ca).context("`checkpoints-url` of [audit]"));
        let url = url.transpose()?;
        let folder = wanted.checkpoints.as_ref();
        Ok(Some(Self {
            store: store.clone(),
            witnesses: witnesses.collect::<anyhow::Result<_>>()?,
            url,
            folder: folder.map(|folder| folder.from_folder(scheme)),
            cosigned: state.join(COSIGNED),
            outside: outside.clone(),
        }))
    }

    /// The last checkpoint in the store.
    fn found(&self) -> Option<StoredCheckpoint> {
        self.store.last_audit_checkpoint().unwrap_or_else(|error| {
            // The thread that signs needs it too, and fails.
            tracing::warn!(%error, "the last checkpoint of the audit log cannot be read");
            None
        })
    }

    /// Send a checkpoint everywhere. What is away does not keep it from the others.
    fn leave(&mut self, checkpoint: &StoredCheckpoint) -> anyhow::Result<()> {
        let mut failures = Vec::new();
        let mut refused = None;
        let mut cosigned = checkpoint.note.clone();
        for witness in &mut self.witnesses {
            match witness.ask(&*self.store, checkpoint) {
                Ok(line) => cosigned.push_str(&line),
                Err(error) => {
                    if let Some(other) = error.downcast_ref::<OtherLog>() {
                        refused = Some(other.to_string());
                    }
                    failures.push(format!("the witness {}: {error:#}", witness.key.name()));
                }
            }
        }
        *self.outside.refused.lock() = refused;
        if let Some(url) = &self.url {
            let size = checkpoint.size.to_string();
            let sent = url.send(Method::PUT, &size, checkpoint.note.clone());
            match sent {
                Ok(answer) if answer.status.is_success() => {}
                Ok(answer) => failures.push(format!("{} answered {}", url.url, answer.status)),
                Err(error) => failures.push(format!("{error:#}")),
            }
        }
        if cosigned.len() > checkpoint.note.len() {
            rialto_files::write(&self.cosigned, &[cosigned.as_bytes()])?;
            if let Some(folder) = &self.folder {
                folder::write_cosigned(folder, checkpoint.size, &cosigned)
                    .with_context(|| format!("writing to {}", folder.display()))?;
            }
        }
        let all = self.witnesses.iter().map(|witness| witness.size).min();
        self.outside
            .cosigned
            .store(all.unwrap_or(0), Ordering::Relaxed);
        ensure!(failures.is_empty(), "{}", failures.join("; "));
        Ok(())
    }
}

impl Witness {
    /// Its cosignature's line. A witness that has signed another size than we know says which one, and is asked again.
    fn ask(
        &mut self,
        store: &dyn HostStore,
        checkpoint: &StoredCheckpoint,
    ) -> anyhow::Result<String> {
        let StoredCheckpoint { size, note, .. } = checkpoint;
        let name = || self.key.name().to_owned();
        let other = |what: String| OtherLog { name: name(), what };
        let mut old = self.size.min(*size);
        for _ in 0..2 {
            let proof = proof(store, old, *size)?;
            let body = witness::request(old, &proof, note);
            let answer = self.place.send(Method::POST, "add-checkpoint", body)?;
            match answer.status {
                StatusCode::OK => {
                    let with = self.key.added(note, &answer.body);
                    let with = with.context("its answer has no good cosignature")?;
                    self.size = *size;
                    return Ok(with[note.len()..].to_owned());
                }
                StatusCode::CONFLICT if answer.is_size => {
                    let its: u64 = answer.body.trim().parse().context("it answered no size")?;
                    if its > *size {
                        bail!(other(format!(
                            "has signed {its} entries, and the log has {size}"
                        )));
                    }
                    if its == old {
                        bail!(other(format!("has signed another log of {its} entries")));
                    }
                    old = its;
                }
                StatusCode::UNPROCESSABLE_ENTITY => {
                    bail!(other(format!("has signed another log of {old} entries")));
                }
                status => bail!("it answered {status}"),
            }
        }
        bail!("it names another size each time")
    }
}

/// The proof that the log of this size goes on from the old one.
fn proof(store: &dyn HostStore, old: u64, size: u64) -> anyhow::Result<Vec<Hash>> {
    let mut failure = None;
    let mut tile = |id: rialto_audit::TileId| match store.audit_tile(id.level, id.index) {
        Ok(bytes) => tree::hashes_of(&bytes?),
        Err(error) => {
            failure = Some(error);
            None
        }
    };
    let proof = Hashes::new(size, &mut tile).consistency(old);
    if let Some(error) = failure {
        return Err(error).context("reading the audit log's tree");
    }
    proof?.context("the log is shorter")
}

/// The thread.
pub struct LeavingThread {
    thread: JoinHandle<()>,
    outside: Arc<Outside>,
}

impl LeavingThread {
    /// Start it.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn start(mut leaving: Leaving) -> std::io::Result<Self> {
        let outside = leaving.outside.clone();
        let shared = outside.clone();
        let asks = !leaving.witnesses.is_empty();
        outside.is_asking.store(asks, Ordering::Release);
        let body = move || {
            let mut is_told = false;
            let mut again = None;
            let mut found = leaving.found();
            loop {
                let checkpoint = match found.take() {
                    Some(checkpoint) => checkpoint,
                    None => {
                        shared.is_asking.store(false, Ordering::Release);
                        let Some(checkpoint) = next(&shared, again.take()) else {
                            break;
                        };
                        checkpoint
                    }
                };
                let left = leaving.leave(&checkpoint);
                if left.is_err() {
                    again = Some(checkpoint);
                }
                match left {
                    Ok(()) if is_told => {
                        is_told = false;
                        tracing::info!(
                            "checkpoints of the audit log reach witnesses and URL again"
                        );
                    }
                    Ok(()) => {}
                    Err(error) => {
                        shared.failures.fetch_add(1, Ordering::Relaxed);
                        if !std::mem::replace(&mut is_told, true) {
                            tracing::warn!(
                                "a checkpoint of the audit log was not taken everywhere; it is tried again: {error:#}"
                            );
                        }
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("audit-leaving".into())
            .spawn(body)?;
        Ok(Self { thread, outside })
    }

    /// End it. A request that is on its way is awaited, for its bounded time.
    pub fn stop(self) {
        let newest = self.outside.newest.lock();
        self.outside.is_stopping.store(true, Ordering::Relaxed);
        drop(newest);
        self.outside.changed.notify_all();
        let _ = self.thread.join();
    }
}

/// The next checkpoint to send, or the one to send again when a minute has brought no newer one. None at the end: what was
/// not sent leaves after the next start.
fn next(outside: &Outside, mut again: Option<StoredCheckpoint>) -> Option<StoredCheckpoint> {
    let mut newest = outside.newest.lock();
    loop {
        if outside.is_stopping.load(Ordering::Relaxed) {
            return None;
        }
        if let Some(checkpoint) = newest.take() {
            return Some(checkpoint);
        }
        if again.is_none() {
            outside.changed.wait(&mut newest);
        } else if outside
            .changed
            .wait_for(&mut newest, SENT_AGAIN_AFTER)
            .timed_out()
        {
            return again.take();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
mod tests;
