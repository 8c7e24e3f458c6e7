//! Signs checkpoints of the audit log: a thread appends new entries to the Merkle tree each second, has the root signed, and
//! stores tiles and checkpoint. Once a minute the checkpoint leaves the host too.
//!
//! The thread goes on from the tree in the store only if that is the tree of the last checkpoint, and if no checkpoint of
//! more entries has left the host. If somebody has changed the tree, or an entry is missing, nothing more is signed, the
//! log says so each minute, and `rialto audit verify` names what differs: a new signature would hide it.

mod folder;
pub mod witnesses;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use parking_lot::{Condvar, Mutex};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use rialto_audit::{Checkpoint, Hash, Tree, tree};
use rialto_engine::{Clock, Timestamp};
use rialto_store::{HostStore, StoredCheckpoint, StoredTile};
use rialto_store_sqlite::retention::ArchivedEntries;
use rialto_store_sqlite::retention::ReadArchives as _;

use self::witnesses::{Leaving, LeavingThread, Outside};
use crate::audit_key::AuditKey;
use crate::one_metric::{counter, gauge};
use crate::starting::Start;

/// The time between two looks for new entries.
const SIGNED_EVERY: Duration = Duration::from_secs(1);
/// The time between two checkpoints that are kept and leave the host, in milliseconds.
const KEPT_EVERY: u64 = 60_000;
/// How many entries are read at a time.
const ENTRIES_AT_ONCE: u32 = 1_000;
/// How many entries one checkpoint adds at most, so that its tiles are written in short transactions.
const ENTRIES_PER_CHECKPOINT: u64 = 100_000;

/// What is known of the signed log, for metrics.
#[derive(Debug, Default)]
pub struct Signed {
    /// How many entries are in the tables.
    pub entries: AtomicU64,
    /// How many of them the last checkpoint covers.
    pub signed: AtomicU64,
    /// When it was signed, in milliseconds since 1970. 0 before the first one.
    pub at: AtomicU64,
    /// Looks that have failed.
    pub failures: AtomicU64,
    /// What leaves over the network.
    pub outside: Arc<Outside>,
}

/// The work of the thread.
pub struct Checkpoints {
    store: Arc<dyn HostStore>,
    clock: Arc<dyn Clock>,
    key: AuditKey,
    origin: String,
    /// The folder outside the host.
    folder: Option<PathBuf>,
    signed: Arc<Signed>,
    /// Entries that were archived before they were to be signed.
    archived: ArchivedEntries,
    state: Option<State>,
}

/// Where the thread is.
struct State {
    tree: Tree,
    /// The last checkpoint that is kept.
    kept: Option<StoredCheckpoint>,
    /// The size of the last checkpoint, if the next one takes its place.
    passing: Option<u64>,
    /// Whether the last checkpoint is yet to leave the host.
    is_to_leave: bool,
}

impl Checkpoints {
    /// Begin, with the log's name and the folder outside the host.
    #[must_use]
    pub fn new(
        store: Arc<dyn HostStore>,
        clock: Arc<dyn Clock>,
        key: AuditKey,
        (origin, folder): (&str, Option<PathBuf>),
        signed: Arc<Signed>,
    ) -> Self {
        Self {
            store,
            clock,
            key,
            origin: origin.to_owned(),
            folder,
            signed,
            archived: ArchivedEntries::default(),
            state: None,
        }
    }

    /// The folder of archives, if entries may have been archived before `[audit]` was there.
    #[must_use]
    pub fn with_archives(mut self, folder: &Path) -> Self {
        self.archived = ArchivedEntries::new(folder, &[]);
        self
    }

    /// Sign what is new, until nothing is.
    ///
    /// # Errors
    /// When the log is not the one that was signed, or the store, the provider or the folder fails.
    pub fn look(&mut self) -> anyhow::Result<()> {
        let size = self.store.audit_size()?;
        self.signed.entries.store(size, Ordering::Relaxed);
        if self.signed.outside.is_asking() {
            return Ok(());
        }
        self.signed.outside.refuse_if_other()?;
        if self.state.is_none() {
            self.state = Some(self.resumed()?);
        }
        while self.sign_next()? {}
        Ok(())
    }

    /// The tree of the last checkpoint.
    fn resumed(&self) -> anyhow::Result<State> {
        let last = self.store.last_audit_checkpoint()?;
        self.refuse_if_shorter(last.as_ref().map_or(0, |last| last.size))?;
        let Some(last) = last else {
            return Ok(State {
                tree: Tree::default(),
                kept: None,
                passing: None,
                is_to_leave: false,
            });
        };
        let checkpoint = self.verified(&last.note)?;
        let mut failure = None;
        let tree = Tree::of_tiles(checkpoint.size, |id| {
            let read = self.store.audit_tile(id.level, id.index);
            match read {
                Ok(bytes) => tree::hashes_of(&bytes?),
                Err(error) => {
                    failure = Some(error);
                    None
                }
            }
        });
        if let Some(error) = failure {
            return Err(error).context("reading the audit log's tree");
        }
        let tree = tree.map_err(anyhow::Error::from);
        let tree = tree.and_then(|tree| {
            let is_same = tree.root() == checkpoint.root && checkpoint.size == last.size;
            ensure!(is_same, "its root is not that of its last checkpoint");
            Ok(tree)
        });
        let tree = tree.context("the audit log's tree in the store was changed; `rialto audit verify` names what differs, and nothing more is signed")?;
        Ok(State {
            tree,
            kept: Some(last),
            passing: None,
            // It may have been lost on the way out.
            is_to_leave: true,
        })
    }

    /// Fail if a checkpoint of more entries has left the host than the last one in the store has. Then the end of the log
    /// was cut off, or all checkpoints were removed from the store, or an earlier store was restored.
    fn refuse_if_shorter(&self, size: u64) -> anyhow::Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let reading = || format!("reading the checkpoints in {}", folder.display());
        for outside in folder::sizes_above(folder, size).with_context(reading)? {
            let note = folder::read(folder, outside).with_context(reading)?;
            let signed = self.signed_by_us(&note);
            let is_ours =
                signed.is_some_and(|found| found.size == outside && found.origin == self.origin);
            ensure!(
                !is_ours,
                "{} has a checkpoint of {outside} entries, and the last one in the store is of {size}: entries that were signed are missing. `rialto audit verify` names them. After a restore, move the checkpoints of more than {size} entries to another folder; nothing more is signed until then",
                folder.display()
            );
        }
        Ok(())
    }

    /// A checkpoint, if a key of ours has signed it.
    fn signed_by_us(&self, note: &str) -> Option<Checkpoint> {
        let mut keys = std::iter::once(&self.key.public).chain(&self.key.earlier);
        keys.find_map(|key| Checkpoint::verified(note, key).ok())
    }

    fn verified(&self, note: &str) -> anyhow::Result<Checkpoint> {
        let checkpoint = self.signed_by_us(note).context(
            "no key of [audit] has signed the last checkpoint in the store: add the key that has to `earlier-keys`",
        )?;
        ensure!(
            checkpoint.origin == self.origin,
            "the log in the store has the name `{}`, and [audit] says `{}`: leave `origin` as it was",
            checkpoint.origin,
            self.origin
        );
        Ok(checkpoint)
    }

    /// Sign the next part of the log. False if nothing is new.
    fn sign_next(&mut self) -> anyhow::Result<bool> {
        let size = self.store.audit_size()?;
        let state = self.state.as_mut();
        let mut state = state.context("the thread has not begun")?;
        self.signed.entries.store(size, Ordering::Relaxed);
        let before = state.tree.size();
        self.signed.signed.store(before, Ordering::Relaxed);
        let kept_at = state.kept.as_ref().map_or(0, |kept| kept.at.0);
        self.signed.at.fetch_max(kept_at, Ordering::Relaxed);
        if size < before {
            bail!(
                "the audit log has {size} entries, and {before} were signed: `rialto audit verify` names what is missing, and nothing more is signed"
            );
        }
        if size == before {
            if std::mem::take(&mut state.is_to_leave) {
                if let Some(kept) = &state.kept {
                    self.signed.outside.send(kept);
                }
                let left = leave(self.folder.as_deref(), state.kept.as_ref());
                state.is_to_leave = left.is_err();
                left?;
            }
            return Ok(false);
        }
        let to = size.min(before + ENTRIES_PER_CHECKPOINT);
        let (tree, tiles) = grown(&*self.store, &mut self.archived, &state.tree, to)?;
        let now = self.clock.now();
        let note = self.note(&tree, now)?;
        let checkpoint = StoredCheckpoint {
            size: tree.size(),
            at: now,
            note,
        };
        state = self.state.as_mut().context("the thread has not begun")?;
        let stored = self
            .store
            .add_audit_checkpoint(&checkpoint, &tiles, state.passing);
        stored.context("storing a checkpoint")?;
        state.tree = tree;
        let is_kept = now.0.saturating_sub(kept_at) >= KEPT_EVERY || kept_at == 0;
        state.passing = (!is_kept).then_some(checkpoint.size);
        self.signed.signed.store(checkpoint.size, Ordering::Relaxed);
        self.signed.at.store(now.0, Ordering::Relaxed);
        if is_kept {
            state.kept = Some(checkpoint);
            state.is_to_leave = true;
        }
        Ok(true)
    }

    fn note(&self, tree: &Tree, now: Timestamp) -> anyhow::Result<String> {
        let checkpoint = Checkpoint {
            origin: self.origin.clone(),
            size: tree.size(),
            root: tree.root(),
        };
        let unsigned = checkpoint.unsigned()?;
        let signature = self.key.sign(now.0, unsigned.message());
        let signature = signature.context("a checkpoint of the audit log cannot be signed")?;
        Ok(unsigned.signed(&self.key.public, &signature)?)
    }
}

/// A tree with the entries up to this size, and the tiles that have changed.
fn grown(
    store: &dyn HostStore,
    archived: &mut ArchivedEntries,
    tree: &Tree,
    to: u64,
) -> anyhow::Result<(Tree, Vec<StoredTile>)> {
    let mut tree = tree.clone();
    let mut tiles = Vec::new();
    while tree.size() < to {
        let at = tree.size();
        let entries = store.all_audit_entries(archived, at, ENTRIES_AT_ONCE)?;
        if let Some(unread) = archived.take_unread().first() {
            bail!("{unread}. Nothing more is signed until then");
        }
        if entries.is_empty() {
            bail!("entry {at} of the audit log is missing in the store: nothing more is signed");
        }
        for entry in entries {
            let at = tree.size();
            if at == to {
                break;
            }
            ensure!(
                entry.index == at,
                "entry {at} of the audit log is missing in the store: nothing more is signed"
            );
            let hash = Hash::of_entry(entry.body.as_bytes());
            tree.append_with(hash, |id, hashes| {
                tiles.push(StoredTile {
                    level: id.level,
                    index: id.index,
                    hashes: tree::bytes_of(hashes),
                });
            });
        }
    }
    let partial = tree.partial().map(|(id, hashes)| StoredTile {
        level: id.level,
        index: id.index,
        hashes: tree::bytes_of(hashes),
    });
    tiles.extend(partial);
    Ok((tree, tiles))
}

/// Write a checkpoint to the folder outside the host.
fn leave(folder: Option<&Path>, checkpoint: Option<&StoredCheckpoint>) -> anyhow::Result<()> {
    let (Some(folder), Some(checkpoint)) = (folder, checkpoint) else {
        return Ok(());
    };
    let written = folder::write(folder, checkpoint.size, &checkpoint.note);
    written.with_context(|| format!("writing a checkpoint to {}", folder.display()))
}

/// The thread.
pub struct CheckpointsThread {
    thread: Option<JoinHandle<()>>,
    leaving: Option<LeavingThread>,
    stop: Arc<(Mutex<bool>, Condvar)>,
}

impl CheckpointsThread {
    /// Start it.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn start(mut checkpoints: Checkpoints, leaving: Option<Leaving>) -> std::io::Result<Self> {
        let leaving = leaving.map(LeavingThread::start).transpose()?;
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let stopping = stop.clone();
        let body = move || {
            let mut told = None;
            let (stopped, changed) = &*stopping;
            loop {
                let looked = checkpoints.look();
                tell(&looked, &mut told, &checkpoints);
                let mut stopped = stopped.lock();
                if *stopped {
                    return;
                }
                changed.wait_for(&mut stopped, SIGNED_EVERY);
            }
        };
        let thread = std::thread::Builder::new()
            .name("audit".into())
            .spawn(body)?;
        Ok(Self {
            thread: Some(thread),
            leaving,
            stop,
        })
    }

    /// Have it look once more, and end it.
    pub fn stop(mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(leaving) = self.leaving.take() {
            leaving.stop();
        }
    }
}

/// Write a failure to the log: the first one, then one a minute, and the first success after it.
fn tell(looked: &anyhow::Result<()>, told: &mut Option<u64>, checkpoints: &Checkpoints) {
    let now = checkpoints.clock.now().0;
    match looked {
        Ok(()) => {
            if told.take().is_some() {
                tracing::info!("checkpoints of the audit log are signed again");
            }
        }
        Err(error) => {
            checkpoints.signed.failures.fetch_add(1, Ordering::Relaxed);
            if told.is_none_or(|before| now.saturating_sub(before) >= KEPT_EVERY) {
                *told = Some(now);
                tracing::error!("no checkpoint of the audit log is signed: {error:#}");
            }
        }
    }
}

/// Start the thread, if the operator's document names a key.
///
/// # Errors
/// When the system has no room for it.
pub fn start(
    start: &Start<'_>,
    store: &Arc<dyn HostStore>,
    clock: &Arc<dyn Clock>,
    key: Option<AuditKey>,
    signed: Arc<Signed>,
) -> anyhow::Result<Option<CheckpointsThread>> {
    let (Some(wanted), Some(key)) = (&start.operator.audit, key) else {
        return Ok(None);
    };
    let folder = wanted.checkpoints.as_ref();
    let folder = folder.map(|folder| folder.from_folder(start.scheme));
    let place = (&*wanted.origin, folder);
    let folders = (start.scheme, start.store);
    let leaving = Leaving::of(wanted, folders, store, &signed.outside).context("[audit]")?;
    let checkpoints = Checkpoints::new(store.clone(), clock.clone(), key, place, signed);
    let archives = start.operator.archives_path(start.scheme, start.store);
    let checkpoints = checkpoints.with_archives(&archives);
    let thread = CheckpointsThread::start(checkpoints, leaving);
    let thread = thread.context("starting the thread that signs checkpoints of the audit log")?;
    Ok(Some(thread))
}

/// Metrics of the signed log.
#[derive(Debug)]
pub struct SignedCollector(pub Arc<Signed>);

impl Collector for SignedCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Signed {
            entries,
            signed,
            at,
            failures,
            outside,
        } = &*self.0;
        if entries.load(Ordering::Relaxed) == 0 {
            return Ok(());
        }
        let gauges = [
            ("audit_entries", "Entries of the audit log", entries, 1),
            (
                "audit_signed_entries",
                "Entries of the audit log that its last checkpoint covers",
                signed,
                1,
            ),
            (
                "audit_checkpoint_timestamp_seconds",
                "When the last checkpoint of the audit log was signed: seconds since 1970",
                at,
                1_000,
            ),
            (
                "audit_cosigned_entries",
                "Entries of the audit log that all witnesses have signed since the start",
                &outside.cosigned,
                1,
            ),
        ];
        for (name, help, value, divisor) in gauges {
            let value = value.load(Ordering::Relaxed) / divisor;
            gauge(&mut encoder, name, help, value)?;
        }
        let counters = [
            (
                "audit_checkpoint_failures",
                "Looks at the audit log after which nothing was signed",
                failures,
            ),
            (
                "audit_outside_failures",
                "Checkpoints of the audit log that a witness or the URL outside has not taken",
                &outside.failures,
            ),
        ];
        for (name, help, value) in counters {
            counter(&mut encoder, name, help, value.load(Ordering::Relaxed))?;
        }
        Ok(())
    }
}
