//! The threads that drive an engine: workers that run turns, a committer, a timer, and a thread that looks for
//! slow turns. A panic on one of them ends the engine, except a panic inside a handler ([`crate::fatal`]).

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::engine::Engine;
use crate::outputs::SubmittedGroup;

/// The longest time between two looks of the timer, in milliseconds. A new reminder that is due before the
/// timer wakes is late by at most this.
const TIMER_PERIOD_MS: u64 = 10;
/// The time between two looks at the workers, in milliseconds. A turn that runs at two looks is slow.
const LOOK_PERIOD_MS: u64 = 10;

/// The stack of a thread, in bytes. Components that call each other are nested on it. Only used pages take
/// memory.
const STACK_BYTES: usize = 32 << 20;

/// The running threads. Dropping it stops them without waiting for work to finish.
pub struct Threads {
    engine: Engine,
    stopping: Arc<Stopping>,
    workers: Vec<JoinHandle<()>>,
    committer: Option<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Start the threads with this many workers, which may all run turns at once.
    ///
    /// # Errors
    /// When the operating system gives no more threads.
    pub fn start(engine: &Engine, workers: usize) -> std::io::Result<Self> {
        Self::start_with_spares(engine, workers, workers)
    }

    /// Start the threads with `workers` workers. `at_once` of them run turns at once, and one more for each turn
    /// that takes longer than 10 ms.
    ///
    /// # Errors
    /// When the operating system gives no more threads.
    pub fn start_with_spares(
        engine: &Engine,
        workers: usize,
        at_once: usize,
    ) -> std::io::Result<Self> {
        let stopping = Arc::new(Stopping::default());
        let mut threads = Self {
            engine: engine.clone(),
            stopping: stopping.clone(),
            workers: Vec::new(),
            committer: None,
            others: Vec::new(),
        };
        engine.shared.queue.set_at_once(at_once);
        for n in 0..workers.max(1) {
            let worker = spawn(engine, &format!("turn-{n}"), |engine| {
                let queue = &engine.shared.queue;
                let worker = queue.worker();
                while let Some(job) = queue.pop_wait(&worker) {
                    engine.run_on(job);
                }
            })?;
            threads.workers.push(worker);
        }
        let ahead = engine.shared.environment.store.groups_ahead();
        threads.committer = Some(match ahead.checked_sub(1) {
            None => spawn(engine, "commit", commit)?,
            Some(waiting) => {
                let (submitted, groups) = sync_channel(waiting);
                let finisher = spawn(engine, "commit-end", move |engine| {
                    // After a failure, the waiters of the groups behind are told.
                    groups
                        .iter()
                        .for_each(|group| drop(engine.end_commit(group)));
                })?;
                threads.others.push(finisher);
                spawn(engine, "commit", move |engine| {
                    commit_ahead(engine, &submitted);
                })?
            }
        });
        let until = stopping.clone();
        let timer = spawn(engine, "timer", move |engine| {
            until.repeat(TIMER_PERIOD_MS, || engine.fire_due());
        })?;
        threads.others.push(timer);
        // Not the timer's: that reads from the disk, and who waits behind a slow turn must not wait for it.
        let look = spawn(engine, "look", move |engine| {
            stopping.repeat(LOOK_PERIOD_MS, || engine.shared.queue.look_at_workers());
        })?;
        threads.others.push(look);
        Ok(threads)
    }

    /// Run no more turns, write all executed turns, and stop.
    pub fn stop(mut self) {
        self.halt();
    }

    fn halt(&mut self) {
        self.engine.abandon();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
        // Jobs that the last runs have put back.
        self.engine.abandon();
        // A candidate that waits outside the host is not what ends the process.
        self.engine.forget_candidate();
        self.engine.shared.log.close();
        if let Some(committer) = self.committer.take() {
            let _ = committer.join();
        }
        self.stopping.stop();
        for other in self.others.drain(..) {
            let _ = other.join();
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.halt();
    }
}

/// Whether the threads that do something again and again go on.
#[derive(Default)]
struct Stopping {
    stopped: Mutex<bool>,
    signal: Condvar,
}

impl Stopping {
    /// Do this again and again, with a pause of so many milliseconds, until it is over.
    fn repeat(&self, period_ms: u64, mut work: impl FnMut()) {
        let period = Duration::from_millis(period_ms);
        loop {
            // Without the lock, so that nobody else's work waits for this.
            work();
            let mut stopped = self.stopped.lock();
            if !*stopped {
                self.signal.wait_for(&mut stopped, period);
            }
            if *stopped {
                return;
            }
        }
    }

    fn stop(&self) {
        *self.stopped.lock() = true;
        self.signal.notify_all();
    }
}

/// Write groups, each when the one before it is durable.
fn commit(engine: &Engine) {
    while wait_for_turns(engine) {
        if engine.commit().is_err() {
            return;
        }
    }
}

/// Give groups to the store while it makes those before them durable. Another thread finishes them.
fn commit_ahead(engine: &Engine, submitted: &SyncSender<SubmittedGroup>) {
    while wait_for_turns(engine) {
        let Ok(group) = engine.begin_commit() else {
            return;
        };
        if group.is_some_and(|group| submitted.send(group).is_err()) {
            return;
        }
    }
}

/// Wait until there is a group to write. False when there will be none.
fn wait_for_turns(engine: &Engine) -> bool {
    let shared = &engine.shared;
    let clock = &shared.environment.clock;
    shared.log.wait(
        shared.limits.commit_linger_us,
        || clock.monotonic_us(),
        || shared.queue.active() == 0,
    )
}

#[allow(
    clippy::disallowed_methods,
    reason = "the one place where the engine starts threads"
)]
fn spawn(
    engine: &Engine,
    name: &str,
    body: impl FnOnce(&Engine) + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    let engine = engine.clone();
    let what = format!("the engine's thread `{name}`");
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            engine.shared.guarded(&what, || body(&engine));
        })
}
