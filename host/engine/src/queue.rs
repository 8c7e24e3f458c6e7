//! Jobs that are ready to run, and jobs that wait for an instant.

use std::cmp::Ordering as Order;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Condvar, Mutex};

use crate::documents::Cell;
use crate::ids::TurnId;
use crate::stimulus::{Stimulus, Waiter};
use crate::time::Timestamp;

/// A turn that is to be run, perhaps not for the first time.
pub(crate) struct Job {
    pub turn: TurnId,
    pub stimulus: Stimulus,
    pub waiter: Option<Waiter>,
    /// When nobody waits any more, on the engine's monotonic clock.
    pub expires_us: Option<u64>,
    /// Failures so far.
    pub attempts: u32,
    /// Reruns because of other turns so far.
    pub conflicts: u32,
    /// Documents that must be held before the next run, in key order.
    pub footprint: Vec<Arc<Cell>>,
    /// How many of `footprint` are held.
    pub held: usize,
    /// Counts the job for as long as it is there.
    _alive: Alive,
}

/// One job of those that are not done, wherever it waits.
struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Default)]
struct Ready {
    jobs: VecDeque<Box<Job>>,
    closed: bool,
}

/// Jobs that are ready, first come first served.
#[derive(Default)]
pub(crate) struct Queue {
    ready: Mutex<Ready>,
    signal: Condvar,
    /// Jobs that are ready or running: while it is 0 nothing more is coming for the next group.
    active: AtomicUsize,
    /// Jobs that are not done: also those that queue for a document or wait for another attempt.
    alive: Arc<AtomicUsize>,
    /// As in `ready`, for a look without the lock.
    closed: AtomicBool,
}

impl Queue {
    /// A job, not yet in the queue.
    pub fn job(&self, turn: TurnId, stimulus: Stimulus, waiter: Option<Waiter>) -> Box<Job> {
        self.alive.fetch_add(1, Ordering::AcqRel);
        Box::new(Job {
            turn,
            stimulus,
            waiter,
            expires_us: None,
            attempts: 0,
            conflicts: 0,
            footprint: Vec::new(),
            held: 0,
            _alive: Alive(self.alive.clone()),
        })
    }

    /// A job that is new to the queue.
    pub fn push(&self, job: Box<Job>) {
        self.active.fetch_add(1, Ordering::AcqRel);
        let mut ready = self.ready.lock();
        ready.jobs.push_back(job);
        drop(ready);
        self.signal.notify_one();
    }

    /// A job from outside: given back when the queue is closed, for nobody would take it.
    pub fn push_if_open(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let mut ready = self.ready.lock();
        if ready.closed {
            return Err(job);
        }
        self.active.fetch_add(1, Ordering::AcqRel);
        ready.jobs.push_back(job);
        drop(ready);
        self.signal.notify_one();
        Ok(())
    }

    /// A job that has waited before: it goes first.
    pub fn push_first(&self, job: Box<Job>) {
        self.active.fetch_add(1, Ordering::AcqRel);
        self.ready.lock().jobs.push_front(job);
        self.signal.notify_one();
    }

    /// A job that was taken is done, or waits somewhere else now. Answers whether all are.
    pub fn done(&self) -> bool {
        self.active.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// The next job; waits for one. None when the queue is closed.
    pub fn pop_wait(&self) -> Option<Box<Job>> {
        let mut ready = self.ready.lock();
        loop {
            if ready.closed {
                return None;
            }
            if let Some(job) = ready.jobs.pop_front() {
                return Some(job);
            }
            self.signal.wait(&mut ready);
        }
    }

    /// The job at a place of the queue, if there is one: for tests that choose the order.
    pub fn take(&self, at: usize) -> Option<Box<Job>> {
        self.ready.lock().jobs.remove(at)
    }

    pub fn len(&self) -> usize {
        self.ready.lock().jobs.len()
    }

    pub fn active(&self) -> usize {
        self.active.load(Ordering::Acquire)
    }

    pub fn alive(&self) -> usize {
        self.alive.load(Ordering::Acquire)
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Wake all that wait and give out no more; what was waiting is handed back.
    pub fn close(&self) -> VecDeque<Box<Job>> {
        let mut ready = self.ready.lock();
        ready.closed = true;
        self.closed.store(true, Ordering::Release);
        self.signal.notify_all();
        std::mem::take(&mut ready.jobs)
    }
}

struct Later {
    due: Timestamp,
    job: Box<Job>,
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}
impl Eq for Later {}
impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}
impl Ord for Later {
    fn cmp(&self, other: &Self) -> Order {
        // The heap gives its greatest first; we want the earliest.
        (other.due, other.job.turn).cmp(&(self.due, self.job.turn))
    }
}

/// Jobs that wait for an instant.
#[derive(Default)]
pub(crate) struct Delayed {
    heap: Mutex<BinaryHeap<Later>>,
}

impl Delayed {
    pub fn push(&self, due: Timestamp, job: Box<Job>) {
        self.heap.lock().push(Later { due, job });
    }

    #[allow(clippy::vec_box, reason = "jobs are boxed wherever they wait")]
    pub fn take_due(&self, now: Timestamp) -> Vec<Box<Job>> {
        let mut heap = self.heap.lock();
        let mut due = Vec::new();
        while heap.peek().is_some_and(|later| later.due <= now) {
            due.extend(heap.pop().map(|later| later.job));
        }
        due
    }

    pub fn next_due(&self) -> Option<Timestamp> {
        self.heap.lock().peek().map(|later| later.due)
    }

    pub fn len(&self) -> usize {
        self.heap.lock().len()
    }
}
