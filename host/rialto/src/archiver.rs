//! The archiver: a thread that archives items whose retention period is over.

mod documents;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rialto_components::runtime::Runtime;
use rialto_engine::{Clock, Engine, Timestamp};
use rialto_manifest::operator;
use rialto_store_sqlite::SqliteStore;
use rialto_store_sqlite::retention::{AuditKeep, DocumentCipher, Keep};

use documents::Documents;

/// The longest pause between two passes.
const LOOK_MAX: Duration = Duration::from_secs(600);
/// The shortest pause between two passes.
const LOOK_MIN: Duration = Duration::from_secs(1);

/// The running thread. It ends between two small steps, when it is told to or when this is dropped.
pub struct ArchiverThread {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The archiver and its counters.
pub struct Archiver {
    /// None for a store that writes no archives.
    work: Option<Work>,
    /// The folder of archives.
    pub folder: PathBuf,
    /// Failed passes since the start.
    pub failures: AtomicU64,
}

/// What is archived, and from where.
struct Work {
    store: Arc<SqliteStore>,
    keep: Keep,
    documents: Documents,
}

impl Archiver {
    /// An archiver with the operator's periods. It does nothing for a store that is not embedded.
    #[must_use]
    pub fn new(
        components: (Engine, Arc<Runtime>),
        store: Option<&Arc<SqliteStore>>,
        operator: &operator::OperatorFile,
        (folder, cipher): (PathBuf, Arc<dyn DocumentCipher>),
    ) -> Self {
        let work =
            store.map(|store| Work::new(components, store, operator, (folder.clone(), cipher)));
        Self {
            work,
            folder,
            failures: AtomicU64::new(0),
        }
    }

    /// The pause between two passes.
    fn pause(&self) -> Duration {
        self.work.as_ref().map_or(LOOK_MAX, Work::pause)
    }

    fn look(&self, clock: &dyn Clock, stop: &AtomicBool) {
        let is_enough = || stop.load(Ordering::Relaxed);
        let Some(work) = &self.work else { return };
        let archived = work.look(&self.folder, clock.now(), &is_enough);
        // A pass that a stopping host interrupts is not a failure.
        if let Err(error) = archived
            && !is_enough()
        {
            self.failures.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                "data that is due for archiving could not be archived; the host tries again: {error:#}"
            );
        }
    }
}

impl Work {
    fn new(
        components: (Engine, Arc<Runtime>),
        store: &Arc<SqliteStore>,
        operator: &operator::OperatorFile,
        (folder, cipher): (PathBuf, Arc<dyn DocumentCipher>),
    ) -> Self {
        let keep = &operator.store.keep;
        let periods = keep.documents.iter();
        let periods = periods.map(|(name, period)| (name.to_string(), period.millis()));
        let periods = periods.collect();
        let documents = Documents::new(components, store.clone(), periods, (folder, cipher));
        Self {
            store: store.clone(),
            keep: Keep {
                history: keep.history.map(|period| period.millis()),
                receipts: keep.receipts.map(|period| period.millis()),
                documents: documents.shortest(),
                audit: keep.audit.map(|period| AuditKeep {
                    period: period.millis(),
                    only_signed: operator.audit.is_some(),
                    only_sent: operator
                        .telemetry
                        .as_ref()
                        .is_some_and(|wanted| wanted.audit.is_some()),
                }),
            },
            documents,
        }
    }

    fn pause(&self) -> Duration {
        let of_audit = self.keep.audit.map(|keep| keep.part());
        let ages = [self.keep.segment_age_max(), of_audit];
        let age = ages.into_iter().flatten().min().map(Duration::from_millis);
        age.unwrap_or(LOOK_MAX).clamp(LOOK_MIN, LOOK_MAX)
    }

    /// Archive what is due. Stops early when `is_enough`.
    fn look(
        &self,
        folder: &Path,
        now: Timestamp,
        is_enough: &dyn Fn() -> bool,
    ) -> anyhow::Result<()> {
        let archived = self.store.archive(&self.keep, folder, now, is_enough);
        let archived = archived.map(drop).map_err(anyhow::Error::from);
        let documents = self.documents.look(now, is_enough);
        archived.and(documents)
    }
}

impl ArchiverThread {
    /// Start the thread.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn start(archiver: Arc<Archiver>, clock: Arc<dyn Clock>) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("archive".into())
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    archiver.look(&*clock, &stopped);
                    std::thread::park_timeout(archiver.pause());
                }
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }

    /// Stop the thread, and wait for its end.
    pub fn stop(mut self) {
        self.tell();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }

    fn tell(&self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for ArchiverThread {
    fn drop(&mut self) {
        self.tell();
    }
}
