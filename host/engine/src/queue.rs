//! The queue of jobs that are ready to run, and admission control.
//!
//! There are two kinds of jobs: work that has begun (deliveries, reruns, retries), and new requests. Work
//! goes first, so that an overloaded host ends payments instead of beginning new ones. After
//! eight jobs of work in a row a request is begun, so that endless events keep no client out.
//! Turns whose call outside the host was answered are work. They take turns with the rest of it, in the order of their
//! answers: they have waited, and none of both keeps the other out.
//! Requests wait in one queue for each client and priority (`clients.rs`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::clients::{ClientSlot, Clients, Priority};
use crate::documents::Cell;
use crate::ids::{Name, TurnId};
use crate::origin::Origin;
use crate::outside::Remembered;
use crate::stimulus::{Stimulus, Waiter};
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard};
use crate::workers::{Worker, Workers};

/// How many jobs of work are taken in a row while requests wait.
const WORK_IN_A_ROW_MAX: u32 = 8;

/// A turn that is to run, perhaps again.
pub(crate) struct Job {
    pub turn: TurnId,
    pub stimulus: Stimulus,
    pub waiter: Option<Waiter>,
    /// The origin of the turn, as far as known.
    pub origin: Origin,
    /// When the client stops waiting, on the engine's monotonic clock.
    pub expires_us: Option<u64>,
    /// Failures so far.
    pub attempts: u32,
    /// When the first failure was, on the engine's monotonic clock.
    pub failing_since_us: u64,
    /// The period of its subscriber in which the delivery was released, if it was kept.
    pub released: Option<u64>,
    /// Reruns because of conflicts so far.
    pub conflicts: u32,
    /// What its next run must know of calls outside the host.
    pub remembered: Remembered,
    /// Documents that the job must lock before its next run, in key order.
    pub lock_set: Vec<Arc<Cell>>,
    /// How many documents of `lock_set` are locked, from the first on.
    pub locks_held: usize,
    /// Its number in the order in which jobs became ready.
    pub arrival: i64,
    /// Counts the job for its client until it is dropped.
    slot: Option<ClientSlot>,
    /// Counts the job until it is dropped.
    _alive: Alive,
}

/// Counts one job that is not done, wherever it waits.
struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Default)]
struct Ready {
    work: VecDeque<Box<Job>>,
    /// Work that has the answer of a call outside the host.
    answered: VecDeque<Box<Job>>,
    /// Whether the last job of work was one of `answered`.
    answered_before: bool,
    clients: Clients,
    /// Jobs of work that were taken since the last request.
    in_a_row: u32,
    /// The number of the next job that comes.
    next_arrival: i64,
    /// The number of the next job that is put first; counts down from -1.
    next_first: i64,
    workers: Workers,
    closed: bool,
}

impl Ready {
    fn len(&self) -> usize {
        self.work.len() + self.answered.len() + self.clients.waiting()
    }

    /// The next job. While `full`, a request is begun only if no work is ready.
    fn next(&mut self, full: bool) -> Option<Box<Job>> {
        let requests = self.clients.waiting() > 0;
        let no_work = self.work.is_empty() && self.answered.is_empty();
        let begin = no_work || (self.in_a_row >= WORK_IN_A_ROW_MAX && !full);
        if requests && begin {
            self.in_a_row = 0;
            let next = self.clients.pop();
            assert!(
                next.is_some(),
                "{} requests wait and none is the next",
                self.clients.waiting()
            );
            return next;
        }
        self.in_a_row = if requests { self.in_a_row + 1 } else { 0 };
        self.next_work()
    }

    fn next_work(&mut self) -> Option<Box<Job>> {
        let answered = self.work.is_empty() || !self.answered_before;
        let next = answered.then(|| self.answered.pop_front()).flatten();
        self.answered_before = next.is_some();
        next.or_else(|| self.work.pop_front())
    }
}

/// The bounds of admission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Jobs that are not done, in all.
    pub all_max: usize,
    /// Requests of one client that are not done.
    pub each_max: usize,
}

/// A request that is offered to the queue.
pub(crate) struct Offer {
    pub origin: Origin,
    pub priority: Priority,
    pub turn: TurnId,
    pub stimulus: Stimulus,
    /// When the client stops waiting, on the engine's monotonic clock.
    pub expires_us: Option<u64>,
    pub waiter: Waiter,
}

/// The outcome of an offered request.
pub(crate) enum Offered {
    /// It waits in the queue.
    Taken,
    /// It waits, and it has displaced this request: of a client with a longer queue, or of the same client with a
    /// lower priority.
    Displaced(Box<Job>),
    /// There is no room for it: the client has its share, or the queue is full.
    Full,
    /// The queue is closed.
    Closed(Waiter),
}

/// Jobs that are ready.
#[derive(Default)]
pub(crate) struct Queue {
    ready: Mutex<Ready>,
    /// Jobs that are ready or running. While it is 0, no more turns can join the next group.
    active: AtomicUsize,
    /// Jobs that are not done, those that queue for a document included.
    alive: Arc<AtomicUsize>,
    /// Begun jobs that wait for a service outside the host. Its bounds limit them, so they keep no other job out.
    pub outside: AtomicUsize,
    /// A copy of `closed` in `ready`, to be read without the lock.
    closed: AtomicBool,
    /// How many begun jobs that are not done make the queue full: then no request is begun while work is ready.
    begun_max: usize,
}

impl Queue {
    /// A queue with these weights of clients.
    pub fn new(begun_max: usize, weights: &[(Name, u32)]) -> Self {
        let ready = Ready {
            clients: Clients::new(weights),
            next_first: -1,
            ..Ready::default()
        };
        Self {
            ready: Mutex::new(ready),
            begun_max,
            ..Self::default()
        }
    }

    /// Make a job. It is not in the queue yet.
    pub fn job(&self, turn: TurnId, stimulus: Stimulus, waiter: Option<Waiter>) -> Box<Job> {
        self.alive.fetch_add(1, Ordering::AcqRel);
        let origin = match &stimulus {
            Stimulus::Delivery(delivery) => delivery.origin.clone(),
            Stimulus::Request { .. } => Origin::default(),
        };
        Box::new(Job {
            turn,
            stimulus,
            waiter,
            origin,
            expires_us: None,
            attempts: 0,
            failing_since_us: 0,
            released: None,
            conflicts: 0,
            remembered: Remembered::default(),
            lock_set: Vec::new(),
            locks_held: 0,
            arrival: 0,
            slot: None,
            _alive: Alive(self.alive.clone()),
        })
    }

    /// Add a job behind all others.
    pub fn push(&self, job: Box<Job>) {
        let mut ready = self.ready.lock();
        self.ready_now(&mut ready, job);
        call(ready);
    }

    /// Add a job behind all others. Returns the job if the queue is closed.
    pub fn push_if_open(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let mut ready = self.ready.lock();
        if ready.closed {
            return Err(job);
        }
        self.ready_now(&mut ready, job);
        call(ready);
        Ok(())
    }

    fn ready_now(&self, ready: &mut Ready, mut job: Box<Job>) {
        self.active.fetch_add(1, Ordering::AcqRel);
        job.arrival = ready.next_arrival;
        ready.next_arrival += 1;
        ready.work.push_back(job);
    }

    /// Add a request of a client, if there is room for it.
    pub fn offer(&self, offer: Offer, bounds: Bounds) -> Offered {
        let Offer {
            origin,
            priority,
            turn,
            stimulus,
            expires_us,
            waiter,
        } = offer;
        let client = &origin.sender.clone().unwrap_or_default();
        let mut ready = self.ready.lock();
        if ready.closed {
            return Offered::Closed(waiter);
        }
        let mut instead = None;
        let mut slot = ready.clients.slot(client, bounds.each_max);
        if slot.is_none() {
            instead = ready.clients.displace_own(client, priority);
            slot = instead.as_mut().and_then(|job| job.slot.take());
        } else if self.alive() >= bounds.all_max {
            let displaced = ready.clients.displace(client);
            instead = displaced.or_else(|| ready.clients.displace_own(client, priority));
            slot = slot.filter(|_| instead.is_some());
        }
        let Some(slot) = slot else {
            return Offered::Full;
        };
        if instead.is_some() {
            let before = self.active.fetch_sub(1, Ordering::AcqRel);
            assert!(before > 0, "a request makes room that was never ready");
        }
        let mut job = self.job(turn, stimulus, Some(waiter));
        job.expires_us = expires_us;
        job.origin = origin;
        job.slot = Some(slot);
        job.arrival = ready.next_arrival;
        ready.next_arrival += 1;
        self.active.fetch_add(1, Ordering::AcqRel);
        ready.clients.push(client, priority, job);
        call(ready);
        instead.map_or(Offered::Taken, Offered::Displaced)
    }

    /// Add a job that has waited before, in front of all others.
    pub fn push_first(&self, job: Box<Job>) {
        let mut ready = self.ready.lock();
        self.first_now(&mut ready, job);
        call(ready);
    }

    /// Add a job whose call outside the host was answered, behind others of its kind. Returns the job if the queue is
    /// closed.
    pub fn push_answered_if_open(&self, mut job: Box<Job>) -> Result<(), Box<Job>> {
        let mut ready = self.ready.lock();
        if ready.closed {
            return Err(job);
        }
        self.active.fetch_add(1, Ordering::AcqRel);
        job.arrival = ready.next_arrival;
        ready.next_arrival += 1;
        ready.answered.push_back(job);
        call(ready);
        Ok(())
    }

    fn first_now(&self, ready: &mut Ready, mut job: Box<Job>) {
        self.active.fetch_add(1, Ordering::AcqRel);
        assert!(
            ready.next_first < 0 && ready.next_arrival >= 0,
            "number {} goes first and number {} last, on the wrong side of 0",
            ready.next_first,
            ready.next_arrival
        );
        job.arrival = ready.next_first;
        ready.next_first -= 1;
        ready.work.push_front(job);
    }

    /// Note that a job which was taken is done, or waits somewhere else now. Returns whether all are.
    pub fn done(&self) -> bool {
        let before = self.active.fetch_sub(1, Ordering::AcqRel);
        assert!(before > 0, "a job is done that was never ready");
        before == 1
    }

    /// Set how many workers run jobs at once while none of them is slow.
    pub fn set_at_once(&self, at_once: usize) {
        self.ready.lock().workers.set_at_once(at_once);
    }

    /// Register a worker thread.
    pub fn worker(&self) -> Worker {
        self.ready.lock().workers.join()
    }

    /// Wait for the next job of a worker whose last job is done. None when the queue is closed.
    pub fn pop_wait(&self, worker: &Worker) -> Option<Box<Job>> {
        let mut ready = self.ready.lock();
        ready.workers.returned(worker);
        loop {
            if ready.closed {
                return None;
            }
            if ready.workers.may_take() {
                let full = self.is_full(&ready);
                if let Some(job) = ready.next(full) {
                    ready.workers.took(worker);
                    return Some(job);
                }
            }
            ready.workers.waits(worker);
            worker.signal.wait(&mut ready);
            ready.workers.woke(worker);
        }
    }

    /// Find the workers that are slow, and wake others for the jobs that wait behind them.
    pub fn look_at_workers(&self) {
        let mut ready = self.ready.lock();
        ready.workers.look();
        let called: Vec<_> = (0..ready.len())
            .map_while(|_| ready.workers.call())
            .collect();
        drop(ready);
        for signal in called {
            signal.notify_one();
        }
    }

    /// The next job, if there is one: for tests that take jobs as threads do.
    pub fn pop(&self) -> Option<Box<Job>> {
        let mut ready = self.ready.lock();
        let full = self.is_full(&ready);
        ready.next(full)
    }

    /// Whether so many jobs have begun that no request should begin.
    fn is_full(&self, ready: &Ready) -> bool {
        // A request is counted as alive before it is added to its client's queue.
        let (alive, waiting) = (self.alive(), ready.clients.waiting());
        assert!(
            alive >= waiting,
            "{waiting} requests wait, and {alive} jobs are not done"
        );
        (alive - waiting).saturating_sub(self.outside.load(Ordering::Acquire)) >= self.begun_max
    }

    /// The job with a number in the order of arrival, if there is one: for tests that choose the order.
    pub fn take(&self, at: usize) -> Option<Box<Job>> {
        let mut ready = self.ready.lock();
        if at == 0 && ready.clients.waiting() == 0 && ready.answered.is_empty() {
            return ready.work.pop_front();
        }
        let work = ready.work.iter().chain(&ready.answered);
        let work = work.map(|job| job.arrival);
        let mut arrivals: Vec<i64> = work.chain(ready.clients.arrivals()).collect();
        arrivals.sort_unstable();
        let arrival = *arrivals.get(at)?;
        let place = |jobs: &VecDeque<Box<Job>>| jobs.iter().position(|job| job.arrival == arrival);
        if let Some(at) = place(&ready.work) {
            return ready.work.remove(at);
        }
        match place(&ready.answered) {
            Some(at) => ready.answered.remove(at),
            None => ready.clients.take(arrival),
        }
    }

    pub fn len(&self) -> usize {
        self.ready.lock().len()
    }

    pub fn active(&self) -> usize {
        self.active.load(Ordering::Acquire)
    }

    pub fn alive(&self) -> usize {
        self.alive.load(Ordering::Acquire)
    }

    /// How many more jobs may begin before the queue is full.
    pub fn room(&self) -> usize {
        let waiting = self.ready.lock().clients.waiting();
        let outside = self.outside.load(Ordering::Acquire);
        let begun = self.alive().saturating_sub(waiting + outside);
        self.begun_max.saturating_sub(begun)
    }

    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Close the queue and wake all workers. Returns the jobs that were waiting.
    pub fn close(&self) -> VecDeque<Box<Job>> {
        let mut ready = self.ready.lock();
        ready.closed = true;
        self.closed.store(true, Ordering::Release);
        ready.workers.dismiss();
        let mut jobs = std::mem::take(&mut ready.work);
        jobs.append(&mut ready.answered);
        jobs.extend(ready.clients.drain());
        jobs
    }
}

/// Wake a worker for a job that is ready, if one waits and may run.
fn call(mut ready: MutexGuard<'_, Ready>) {
    let signal = ready.workers.call();
    drop(ready);
    if let Some(signal) = signal {
        signal.notify_one();
    }
}
