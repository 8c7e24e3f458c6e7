//! Starts payments, by a closed or an open loop, and counts their outcomes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use super::report::{BenchResult, Percentiles, ProcessUse};
use super::{
    Account, BenchError, BenchSettings, Extent, Latencies, Load, Paid, Progress, Unpaid, Work,
};
use crate::cpu::{CpuClock, CpuReading};
use crate::limits::{DRAIN_TIMEOUT, OPEN_LOOP_IN_FLIGHT_MAX};
use crate::time;

/// Runs a benchmark of this work.
///
/// # Errors
/// When the settings describe no run, or a process cannot be watched.
pub async fn run(
    settings: &BenchSettings,
    work: Arc<impl Work>,
    progress: Arc<Progress>,
) -> Result<BenchResult, BenchError> {
    if let Load::Closed { concurrency: 0 } | Load::Open { per_second: 0 } = settings.load {
        return Err(BenchError::Settings("a load of zero measures nothing"));
    }
    let clocks = clocks(settings)?;
    let tally = Arc::new(Tally::new(progress));
    let window = match settings.load {
        Load::Closed { concurrency } => closed(settings, &work, &tally, &clocks, concurrency).await,
        Load::Open { per_second } => open(settings, &work, &tally, &clocks, per_second).await,
    };
    Ok(tally.result(settings, &window))
}

/// How long one of a closed loop waits after a payment that failed; twice as long after each further one.
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// The longest such pause.
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The outcomes of payments, as they end.
struct Tally {
    progress: Arc<Progress>,
    account: Mutex<Account>,
    ended: Mutex<Vec<Ended>>,
    /// Payments that ended since the window opened.
    counted: AtomicU64,
    open: AtomicBool,
    changed: Notify,
}

struct Ended {
    /// When it began, or in an open loop should have.
    began: Instant,
    ended: Instant,
    result: Result<Paid, Unpaid>,
}

/// The measured window.
struct Window {
    opened: Instant,
    /// When it was to close.
    planned_end: Instant,
    closed: Instant,
    cpu: Vec<ProcessCpu>,
}

struct ProcessCpu {
    name: String,
    pid: u32,
    used: crate::cpu::CpuUse,
}

impl Tally {
    fn new(progress: Arc<Progress>) -> Self {
        Self {
            progress,
            account: Mutex::default(),
            ended: Mutex::default(),
            counted: AtomicU64::new(0),
            open: AtomicBool::new(false),
            changed: Notify::new(),
        }
    }

    /// Do the work once, and note that it began.
    async fn once(&self, work: &impl Work) -> Result<Paid, Unpaid> {
        self.account.lock().begin();
        work.once().await
    }

    fn add(&self, began: Instant, result: Result<Paid, Unpaid>) {
        self.account.lock().end(&result);
        let ended = time::now();
        let count = match result {
            Ok(_) => &self.progress.committed,
            Err(_) => &self.progress.failed,
        };
        count.fetch_add(1, Ordering::Relaxed);
        if self.open.load(Ordering::Acquire) {
            self.ended.lock().push(Ended {
                began,
                ended,
                result,
            });
            self.counted.fetch_add(1, Ordering::Release);
            self.changed.notify_waiters();
        }
    }

    /// Waits until a number of payments have ended since the window opened.
    async fn reach(&self, payments: u64) {
        loop {
            let changed = self.changed.notified();
            if self.counted.load(Ordering::Acquire) >= payments {
                return;
            }
            changed.await;
        }
    }

    /// The time by which payments are divided. A payment that fails by a timeout ends long after all others, and is
    /// not waited for.
    fn length(&self, settings: &BenchSettings, window: &Window) -> Duration {
        let closed = match settings.load {
            Load::Closed { .. } => window.closed,
            Load::Open { .. } => {
                let ended = self.ended.lock();
                let committed = ended.iter().filter(|payment| payment.result.is_ok());
                let last = committed.map(|payment| payment.ended).max();
                last.unwrap_or(window.closed).max(window.planned_end)
            }
        };
        closed.saturating_duration_since(window.opened)
    }

    fn result(&self, settings: &BenchSettings, window: &Window) -> BenchResult {
        let length = self.length(settings, window);
        let mut latencies = Vec::new();
        let mut transfers = Vec::new();
        let mut failures = BTreeMap::new();
        let whole_seconds = usize::try_from(length.as_secs()).unwrap_or(0);
        let mut per_second = vec![0; whole_seconds];
        for payment in self.ended.lock().iter() {
            let counts = match settings.load {
                Load::Closed { .. } => {
                    payment.ended >= window.opened && payment.ended < window.closed
                }
                Load::Open { .. } => payment.began >= window.opened,
            };
            if !counts {
                continue;
            }
            match &payment.result {
                Ok(paid) => {
                    transfers.extend(paid.transfer.map(crate::recorder::micros));
                    let latency = payment.ended.saturating_duration_since(payment.began);
                    latencies.push(crate::recorder::micros(latency));
                    let after = payment.ended.saturating_duration_since(window.opened);
                    let second = usize::try_from(after.as_secs()).unwrap_or(usize::MAX);
                    if let Some(count) = per_second.get_mut(second) {
                        *count += 1;
                    }
                }
                Err(unpaid) => *failures.entry(unpaid.reason.clone()).or_insert(0) += 1,
            }
        }
        let payments = latencies.len() as u64;
        let seconds = length.as_secs_f64();
        let per = |total: f64, parts: f64| if parts > 0.0 { total / parts } else { 0.0 };
        BenchResult {
            load: settings.load,
            account: self.account.lock().clone(),
            payments,
            failed: failures.values().sum(),
            failures,
            seconds,
            payments_per_second: per(payments as f64, seconds),
            latency: Percentiles::of(&Latencies::new(latencies)),
            transfer: (!transfers.is_empty()).then(|| Percentiles::of(&Latencies::new(transfers))),
            per_second,
            cpu: window
                .cpu
                .iter()
                .map(|process| ProcessUse {
                    name: process.name.clone(),
                    pid: process.pid,
                    ms_per_payment: per(process.used.seconds * 1000.0, payments as f64),
                    cpu: process.used.clone(),
                })
                .collect(),
        }
    }
}

fn clocks(settings: &BenchSettings) -> Result<Vec<(String, CpuClock)>, BenchError> {
    let clock = |(name, pid): &(String, u32)| match CpuClock::of(*pid) {
        Ok(clock) => Ok((name.clone(), clock)),
        Err(source) => Err(BenchError::Process {
            name: name.clone(),
            pid: *pid,
            source,
        }),
    };
    settings.processes.iter().map(clock).collect()
}

/// Reads all clocks. A process that has ended has no reading.
fn read(clocks: &[(String, CpuClock)]) -> Vec<Option<CpuReading>> {
    clocks.iter().map(|(_, clock)| clock.read().ok()).collect()
}

/// Closes the window: reads the clocks again.
fn close(
    opened: Instant,
    planned_end: Instant,
    closed: Instant,
    clocks: &[(String, CpuClock)],
    before: &[Option<CpuReading>],
) -> Window {
    let processes = clocks.iter().zip(before).zip(read(clocks));
    let cpu = processes.filter_map(|(((name, clock), before), after)| {
        let used = before.as_ref()?.until(&after?);
        Some(ProcessCpu {
            name: name.clone(),
            pid: clock.pid(),
            used,
        })
    });
    Window {
        opened,
        planned_end,
        closed,
        cpu: cpu.collect(),
    }
}

async fn closed(
    settings: &BenchSettings,
    work: &Arc<impl Work>,
    tally: &Arc<Tally>,
    clocks: &[(String, CpuClock)],
    concurrency: usize,
) -> Window {
    let stop = Arc::new(AtomicBool::new(false));
    let mut lanes = JoinSet::new();
    for _ in 0..concurrency {
        let (work, tally, stop) = (Arc::clone(work), Arc::clone(tally), Arc::clone(&stop));
        lanes.spawn(async move {
            let mut pause = PAUSE_MIN;
            while !stop.load(Ordering::Relaxed) {
                let began = time::now();
                let result = tally.once(&*work).await;
                let failed = result.is_err();
                tally.add(began, result);
                if failed {
                    // A host that is away must not be asked a million times a second.
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                } else {
                    pause = PAUSE_MIN;
                }
            }
        });
    }
    tokio::time::sleep(settings.warm_up).await;
    let before = read(clocks);
    tally.open.store(true, Ordering::Release);
    let opened = time::now();
    match settings.extent {
        Extent::For(duration) => tokio::time::sleep(duration).await,
        Extent::Payments(payments) => tally.reach(payments).await,
    }
    let closed = time::now();
    let window = close(opened, closed, closed, clocks, &before);
    stop.store(true, Ordering::Relaxed);
    // Payments in flight may finish, so that the next run finds an idle host.
    let drained = tokio::time::timeout(DRAIN_TIMEOUT, async {
        while lanes.join_next().await.is_some() {}
    });
    if drained.await.is_err() {
        lanes.abort_all();
    }
    window
}

async fn open(
    settings: &BenchSettings,
    work: &Arc<impl Work>,
    tally: &Arc<Tally>,
    clocks: &[(String, CpuClock)],
    per_second: u32,
) -> Window {
    let interval_ns = 1_000_000_000 / u64::from(per_second);
    let payments_in = |duration: Duration| {
        u64::try_from(duration.as_nanos() / u128::from(interval_ns)).unwrap_or(u64::MAX)
    };
    let warm_up = payments_in(settings.warm_up);
    let measured = match settings.extent {
        Extent::For(duration) => payments_in(duration),
        Extent::Payments(payments) => payments,
    };
    let in_flight = Arc::new(Semaphore::new(OPEN_LOOP_IN_FLIGHT_MAX));
    let mut running = JoinSet::new();
    let start = time::now();
    let mut before = Vec::new();
    let mut opened = start;
    for turn in 0..warm_up.saturating_add(measured) {
        let due = start + Duration::from_nanos(interval_ns.saturating_mul(turn));
        // Sleeping is exact to a millisecond. Those that fell due meanwhile go out at once.
        if due > time::now() {
            tokio::time::sleep_until(due.into()).await;
        }
        if turn == warm_up {
            before = read(clocks);
            opened = due;
            tally.open.store(true, Ordering::Release);
        }
        let Ok(permit) = Arc::clone(&in_flight).acquire_owned().await else {
            break; // never: the semaphore is not closed
        };
        let (work, tally) = (Arc::clone(work), Arc::clone(tally));
        running.spawn(async move {
            let result = tally.once(&*work).await;
            tally.add(due, result);
            drop(permit);
        });
        while running.try_join_next().is_some() {}
    }
    let planned_end = start + Duration::from_nanos(interval_ns.saturating_mul(warm_up + measured));
    let drained = tokio::time::timeout(DRAIN_TIMEOUT + settings.timeout, async {
        while running.join_next().await.is_some() {}
    });
    if drained.await.is_err() {
        running.abort_all();
    }
    let closed = time::now().max(planned_end);
    close(opened, planned_end, closed, clocks, &before)
}
