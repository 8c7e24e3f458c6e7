//! Checks the books that a scheme's context keeps, for operators: one check at a time, on a thread of the lowest priority. The last
//! report stays in the store's folder.
//!
//! A check reads one commit of the store's file. Meanwhile the write-ahead log grows, so a check that takes too long is stopped.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rialto_engine::{Clock, Timestamp, fatal};
use rialto_ledger::check::Report;
use rialto_ledger::{Ledger, LedgerError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::stored::Stored;

/// How long a check may take, in milliseconds.
const CHECK_MS_MAX: u64 = 3_600_000;
/// The file of the last check, in the store's folder.
const FILE: &str = "books-check.json";

/// The books, and the checks of them.
pub struct Books {
    stored: Stored,
    clock: Arc<dyn Clock>,
    stopping: Arc<AtomicBool>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    running: Option<(ShownRunning, Arc<AtomicU64>)>,
    last: Option<LastCheck>,
    thread: Option<JoinHandle<()>>,
}

/// A check that runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownRunning {
    /// Who began it.
    pub by: String,
    /// When; milliseconds since 1970.
    pub began: u64,
    /// How many documents it has read.
    pub documents: u64,
}

/// A check that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastCheck {
    /// Who began it.
    pub by: String,
    /// When; milliseconds since 1970.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// How many documents it has read.
    pub documents: u64,
    /// What was found, as `rialto ledger check --json` prints it; none if it did not come to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Value>,
    /// Why it did not come to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The checks, for an operator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShownChecks {
    /// The one that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<ShownRunning>,
    /// The last one that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastCheck>,
}

/// Why no check was begun.
#[derive(Debug, thiserror::Error)]
pub enum NotBegun {
    /// One runs.
    #[error("a check runs since {}, begun by {by}", crate::words::instant(*began))]
    Runs {
        /// Who began it.
        by: String,
        /// When.
        began: u64,
    },
    /// The system refused a thread.
    #[error("the system refused a thread for the check: {0}")]
    NoThread(std::io::Error),
}

impl Books {
    /// The books in this store. The last check is read from its file; one that cannot be read is none.
    #[must_use]
    pub fn new(stored: Stored, clock: Arc<dyn Clock>) -> Self {
        let kept = std::fs::read(stored.folder().join(FILE)).ok();
        let last = kept.and_then(|kept| serde_json::from_slice(&kept).ok());
        Self {
            stored,
            clock,
            stopping: Arc::default(),
            state: Arc::new(Mutex::new(State {
                last,
                ..State::default()
            })),
        }
    }

    /// The books as of now.
    ///
    /// # Errors
    /// When the store cannot be read, or the scheme keeps none.
    pub fn read(&self) -> Result<Ledger, LedgerError> {
        self.stored.ledger()
    }

    /// The check that runs and the last one.
    #[must_use]
    pub fn shown(&self) -> ShownChecks {
        let state = self.state.lock();
        let running = state.running.as_ref();
        ShownChecks {
            running: running.map(|(running, documents)| ShownRunning {
                documents: documents.load(Ordering::Relaxed),
                ..running.clone()
            }),
            last: state.last.clone(),
        }
    }

    /// Begin a check, which goes on by itself.
    ///
    /// # Errors
    /// When one runs, or the system refuses a thread.
    pub fn check(&self, by: &str) -> Result<(), NotBegun> {
        let mut state = self.state.lock();
        if let Some((ShownRunning { by, began, .. }, _)) = &state.running {
            return Err(NotBegun::Runs {
                by: by.clone(),
                began: *began,
            });
        }
        let running = ShownRunning {
            by: by.to_owned(),
            began: self.clock.now().0,
            documents: 0,
        };
        let checking = Checking {
            stored: self.stored.clone(),
            clock: self.clock.clone(),
            stopping: self.stopping.clone(),
            documents: Arc::default(),
            running: running.clone(),
        };
        state.running = Some((running, checking.documents.clone()));
        let kept = self.state.clone();
        let thread = std::thread::Builder::new().name("books-check".into());
        let begun = thread.spawn(move || {
            let last = checking.run();
            keep(checking.stored.folder(), &last);
            let mut state = kept.lock();
            state.running = None;
            state.last = Some(last);
        });
        match begun {
            Ok(thread) => state.thread = Some(thread),
            Err(error) => {
                state.running = None;
                return Err(NotBegun::NoThread(error));
            }
        }
        Ok(())
    }

    /// Stop the check that runs, and wait for its end.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        let thread = self.state.lock().thread.take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that checks the books has panicked");
        }
    }
}

impl Drop for Books {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
    }
}

/// What a check's thread has.
struct Checking {
    stored: Stored,
    clock: Arc<dyn Clock>,
    stopping: Arc<AtomicBool>,
    documents: Arc<AtomicU64>,
    running: ShownRunning,
}

impl Checking {
    fn run(&self) -> LastCheck {
        // Payments go first. On Linux this is of the thread, and of those that it starts.
        let _ = rustix::process::nice(19);
        // Amounts that no ledger can have end the check, not the host.
        let (report, failure) = match fatal::contained(|| self.report()) {
            Ok(Ok(report)) => (Some(report), None),
            Ok(Err(error)) => (None, Some(format!("{:#}", anyhow::Error::from(error)))),
            Err(panic) => (None, Some(format!("the books cannot be added up: {panic}"))),
        };
        LastCheck {
            by: self.running.by.clone(),
            began: self.running.began,
            ended: self.clock.now().0,
            documents: self.documents.load(Ordering::Relaxed),
            report,
            failure,
        }
    }

    fn report(&self) -> Result<Value, LedgerError> {
        let until = Timestamp(self.running.began) + CHECK_MS_MAX;
        let mut watch = |documents: u64| {
            self.documents.store(documents, Ordering::Relaxed);
            let is_over = self.stopping.load(Ordering::Relaxed) || self.clock.now() > until;
            if is_over {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let mut books = self.stored.ledger()?;
        let report = books.check_watched(None, Some(self.stored.archives()), &mut watch)?;
        tell(&report);
        serde_json::to_value(&report).map_err(|error| LedgerError::Output(error.into()))
    }
}

/// Say in the log what was found.
fn tell(report: &Report) {
    let (turn, breaches) = (report.lsn, report.total());
    if breaches == 0 {
        tracing::info!(turn, "the books were checked: every invariant holds");
    } else {
        tracing::error!(
            turn,
            breaches,
            "ALERT the books were checked: invariants are broken"
        );
    }
}

fn keep(folder: &Path, last: &LastCheck) {
    let kept = serde_json::to_vec(last).map_err(anyhow::Error::from);
    let kept = kept.and_then(|text| Ok(rialto_files::write(&folder.join(FILE), &[&text])?));
    if let Err(error) = kept {
        tracing::warn!("the report of the check of the books is in memory alone: {error:#}");
    }
}
