//! Backtests as jobs of a host: one at a time, at the lowest priority, each with an end.
//!
//! Who starts one may leave: the job goes on, and its report is kept for a while in memory. A host that ends has none any
//! more, and receipts stay, so that a backtest can be started again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use anyhow::Context as _;
use parking_lot::Mutex;
use rialto_components::Release;
use rialto_engine::store::Receipt;
use rialto_engine::{Clock, Timestamp};
use rialto_manifest::scheme::SchemeDocument;
use serde::{Deserialize, Serialize};

use super::report::{Candidate, Report};
use super::{Progress, Selection, run};
use crate::personal_data::OpenedReceipt;
use crate::stored::Stored;

/// The most jobs that are kept, the running one included.
const JOBS_MAX: usize = 4;
/// How long a report is kept, in milliseconds.
const REPORT_LIFE_MS: u64 = 24 * 60 * 60 * 1_000;
/// How long a job may run, in milliseconds.
const RUN_MAX_MS: u64 = 4 * 60 * 60 * 1_000;
/// The verdicts at a time: the processors are for those who wait.
const THREADS: usize = 1;

/// A backtest that is wanted.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewBacktest {
    /// A stored release whose rules judge again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<u64>,
    /// A plan whose rules do, by its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// A scheme's document whose rules do. Its components must be stored already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<SchemeDocument>,
    /// The first instant of what is judged again; milliseconds since 1970.
    pub since: u64,
    /// The instant before which it is; now without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Only requests of this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Only requests in which this participant pays or is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// Only requests with an amount in this currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The rules that are effective at this instant judge; those of now without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

/// Why no backtest is started.
#[derive(Debug, thiserror::Error)]
pub enum NotStarted {
    /// Another one runs.
    #[error("backtest {0} runs, and one runs at a time: wait for it or cancel it")]
    Runs(u64),
    /// The period has no instant.
    #[error("`since` is not before `until`, or before now")]
    Period,
    /// The system has no thread for it.
    #[error("starting a thread: {0}")]
    Thread(std::io::Error),
}

/// How a backtest stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum JobState {
    /// It judges.
    Running,
    /// Its report is there.
    Done,
    /// Somebody has cancelled it.
    Cancelled,
    /// It took too long, the host ends, or it could not read on.
    Failed,
}

/// A backtest of this host, as the operators' API shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownBacktest {
    /// Its number.
    pub id: u64,
    /// Who has started it.
    pub person: String,
    /// What judges: a release, a plan or a draft.
    pub of: String,
    /// How it stands.
    pub state: JobState,
    /// When it began; milliseconds since 1970.
    pub begun: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<u64>,
    /// The first instant of what is judged.
    pub since: u64,
    /// The instant before which it is.
    pub until: u64,
    /// The one step, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The one participant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// The one currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Verdicts so far.
    pub verdicts: u64,
    /// The instant of the receipts that are being read; none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// Why it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The report, where one job is shown and it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Arc<Report>>,
}

/// Opens a stored receipt, which may be encrypted.
pub type Opening = Arc<dyn Fn(Receipt) -> OpenedReceipt + Send + Sync>;

/// A job.
struct Job {
    shown: ShownBacktest,
    as_of: u64,
    candidate: Arc<Release>,
    progress: Arc<Progress>,
}

/// The backtests of a host.
pub struct Backtests {
    stored: Stored,
    opening: Opening,
    clock: Arc<dyn Clock>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The oldest first.
    jobs: VecDeque<Job>,
    last_id: u64,
    /// The thread of the last job.
    thread: Option<JoinHandle<()>>,
}

impl Backtests {
    /// The backtests of the store in the first folder, whose archives are in the second.
    #[must_use]
    pub fn new(stored: Stored, opening: Opening, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            stored,
            opening,
            clock,
            kept: Mutex::default(),
        })
    }

    /// Start one. `of` says in words what the candidate is.
    ///
    /// # Errors
    /// When one runs, or the period has no instant.
    pub fn start(
        self: &Arc<Self>,
        candidate: Arc<Release>,
        (person, of): (&str, String),
        wanted: &NewBacktest,
    ) -> Result<ShownBacktest, NotStarted> {
        let now = self.clock.now().0;
        let until = wanted.until.unwrap_or(now).min(now);
        if wanted.since >= until {
            return Err(NotStarted::Period);
        }
        let mut kept = self.kept.lock();
        kept.give_up_old(now);
        let mut running = kept.jobs.iter();
        if let Some(job) = running.find(|job| job.shown.state == JobState::Running) {
            return Err(NotStarted::Runs(job.shown.id));
        }
        // One that was cancelled ends its last input first.
        if kept.thread.as_ref().is_some_and(|last| !last.is_finished()) {
            return Err(NotStarted::Runs(kept.last_id));
        }
        kept.last_id += 1;
        let shown = ShownBacktest {
            id: kept.last_id,
            person: person.to_owned(),
            of,
            state: JobState::Running,
            begun: now,
            ended: None,
            since: wanted.since,
            until,
            step: wanted.step.clone(),
            participant: wanted.participant.clone(),
            currency: wanted.currency.clone(),
            verdicts: 0,
            at: None,
            error: None,
            report: None,
        };
        let job = Job {
            shown: shown.clone(),
            as_of: wanted.as_of.unwrap_or(now),
            candidate: candidate.clone(),
            progress: Arc::default(),
        };
        let (progress, as_of) = (job.progress.clone(), job.as_of);
        let (of, id) = (self.clone(), shown.id);
        let selection = Selection {
            step: wanted.step.clone(),
            participant: wanted.participant.clone(),
            currency: wanted.currency.clone(),
            as_of,
        };
        let period = (shown.since, shown.until);
        let thread = thread::Builder::new()
            .name("backtest".into())
            .spawn(move || {
                // Those who wait for the host go first.
                let _ = rustix::process::nice(19);
                let report = of.judge(&candidate, period, &selection, &progress);
                of.end(id, &progress, report);
            });
        kept.thread = Some(thread.map_err(NotStarted::Thread)?);
        kept.jobs.push_back(job);
        while kept.jobs.len() > JOBS_MAX {
            kept.jobs.pop_front();
        }
        Ok(shown)
    }

    fn judge(
        &self,
        candidate: &Release,
        (since, until): (u64, u64),
        selection: &Selection,
        progress: &Progress,
    ) -> anyhow::Result<Report> {
        let receipts = self.stored.receipts(Timestamp(since), Timestamp(until));
        let mut receipts = receipts.context("reading the store")?;
        let opening = &*self.opening;
        let threads = (THREADS, progress);
        let figures = run(candidate, &mut *receipts, opening, selection, threads)?;
        let candidate = Candidate::release(candidate);
        let period = (since, until);
        Ok(Report::of(
            candidate,
            period,
            selection,
            figures,
            receipts.unread(),
        ))
    }

    fn end(&self, id: u64, progress: &Progress, report: anyhow::Result<Report>) {
        let now = self.clock.now().0;
        let mut kept = self.kept.lock();
        let Some(job) = kept.job(id) else {
            return;
        };
        job.shown.ended = Some(now);
        match report {
            // It was cancelled, or has failed before.
            _ if job.shown.state != JobState::Running => {}
            Ok(report) if !progress.is_given_up() => {
                job.shown.state = JobState::Done;
                job.shown.report = Some(Arc::new(report));
            }
            Ok(_) => job.shown.fail("it was given up"),
            Err(error) => job.shown.fail(&format!("{error:#}")),
        }
    }

    /// All that are kept, the newest first, without reports.
    #[must_use]
    pub fn list(&self) -> Vec<ShownBacktest> {
        let mut kept = self.kept.lock();
        kept.give_up_old(self.clock.now().0);
        let all = kept.jobs.iter().rev().map(|job| ShownBacktest {
            report: None,
            ..job.now()
        });
        all.collect()
    }

    /// One with its report; none if it is not kept.
    #[must_use]
    pub fn show(&self, id: u64) -> Option<ShownBacktest> {
        let mut kept = self.kept.lock();
        kept.give_up_old(self.clock.now().0);
        kept.job(id).map(|job| job.now())
    }

    /// Who judges in one, and the instant of the effective rules.
    #[must_use]
    pub fn candidate(&self, id: u64) -> Option<(Arc<Release>, u64)> {
        let mut kept = self.kept.lock();
        kept.job(id).map(|job| (job.candidate.clone(), job.as_of))
    }

    /// Cancel one that runs, or forget one that has ended. Returns how it stood before; none if it is not kept.
    pub fn cancel(&self, id: u64) -> Option<ShownBacktest> {
        let mut kept = self.kept.lock();
        let job = kept.job(id)?;
        let before = job.now();
        if before.state == JobState::Running {
            job.shown.state = JobState::Cancelled;
            job.progress.give_up();
        } else {
            kept.jobs.retain(|job| job.shown.id != id);
        }
        Some(ShownBacktest {
            report: None,
            ..before
        })
    }

    /// Give up the one that runs, and wait for its end: the host ends.
    pub fn stop(&self) {
        let thread = {
            let mut kept = self.kept.lock();
            for job in &mut kept.jobs {
                if job.shown.state == JobState::Running {
                    job.shown.fail("the host ends");
                    job.progress.give_up();
                }
            }
            kept.thread.take()
        };
        if let Some(thread) = thread {
            // A thread that has panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Job {
    fn now(&self) -> ShownBacktest {
        let at = self.progress.at.load(Ordering::Relaxed);
        ShownBacktest {
            verdicts: self.progress.verdicts.load(Ordering::Relaxed),
            at: (at > 0).then_some(at),
            ..self.shown.clone()
        }
    }
}

impl ShownBacktest {
    fn fail(&mut self, why: &str) {
        self.state = JobState::Failed;
        self.error = Some(why.to_owned());
    }
}

impl Kept {
    fn job(&mut self, id: u64) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.shown.id == id)
    }

    /// Forgets reports whose time is over, and gives up a job that runs for too long.
    fn give_up_old(&mut self, now: u64) {
        let is_over = |since: u64, life: u64| now.saturating_sub(since) > life;
        self.jobs.retain(|job| {
            !job.shown
                .ended
                .is_some_and(|ended| is_over(ended, REPORT_LIFE_MS))
        });
        for job in &mut self.jobs {
            if job.shown.state == JobState::Running && is_over(job.shown.begun, RUN_MAX_MS) {
                job.shown.fail("it took too long: choose a shorter period");
                job.progress.give_up();
            }
        }
    }
}
