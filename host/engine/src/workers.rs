//! Which worker threads run jobs.
//!
//! | A worker is | until |
//! | --- | --- |
//! | idle: waits for its signal | it is called, and wakes up |
//! | called: its signal was sent | it has woken up |
//! | running: has a job | the job is done |
//! | slow: runs a job that it had at the last look | the job is done |
//!
//! There are more threads than cores, because a turn that reads from the disk or calls a slow component
//! blocks its thread. At most `at_once` workers run jobs, and one more for each slow one. With more, each
//! core would change between several stacks and heaps, which costs more than a tenth of its time. The worker
//! that became idle last is called first, because its memory is still in the caches.

use std::sync::Arc;

use crate::sync::Condvar;

/// A thread that takes jobs.
pub(crate) struct Worker {
    number: usize,
    /// The signal that it waits for when it is idle.
    pub signal: Arc<Condvar>,
}

/// All workers of an engine.
#[derive(Default)]
pub(crate) struct Workers {
    /// How many run jobs at once while none of them is slow.
    at_once: usize,
    /// For each worker, the number of the look before which it took its current job.
    took: Vec<Option<u64>>,
    /// How many run a job.
    running: usize,
    /// How many were called and have not woken up.
    called: usize,
    /// How many were slow at the last look: they had the same job at the look before.
    slow: usize,
    /// Looks so far.
    looks: u64,
    /// The idle workers, in the order in which they became idle.
    idle: Vec<(usize, Arc<Condvar>)>,
}

impl Workers {
    /// Set how many run jobs at once.
    pub fn set_at_once(&mut self, at_once: usize) {
        self.at_once = at_once.max(1);
    }

    /// Add a worker.
    pub fn join(&mut self) -> Worker {
        self.took.push(None);
        Worker {
            number: self.took.len() - 1,
            signal: Arc::default(),
        }
    }

    /// Whether another worker may run a job.
    fn has_room(&self) -> bool {
        self.running + self.called < self.at_once + self.slow
    }

    /// Note that the worker asks for a job; its last job is done.
    pub fn returned(&mut self, worker: &Worker) {
        if self.took[worker.number].take().is_some() {
            let before = self.running;
            assert!(before > 0, "a worker returns, and none runs a job");
            self.running -= 1;
        }
    }

    /// Whether a worker may take a job. It must then call [`took`](Self::took).
    pub fn may_take(&self) -> bool {
        self.has_room()
    }

    /// Note that the worker has taken a job.
    pub fn took(&mut self, worker: &Worker) {
        let before = self.took[worker.number].replace(self.looks);
        assert!(
            before.is_none(),
            "worker {} takes a job and runs one",
            worker.number
        );
        self.running += 1;
    }

    /// Note that the worker is idle from now on.
    pub fn waits(&mut self, worker: &Worker) {
        self.idle.push((worker.number, worker.signal.clone()));
    }

    /// Note that the worker has woken up, whether it was called or not.
    pub fn woke(&mut self, worker: &Worker) {
        let waiting = self.idle.iter().position(|(n, _)| *n == worker.number);
        match waiting {
            Some(at) => {
                self.idle.remove(at);
            }
            None => {
                assert!(
                    self.called > 0,
                    "worker {} was called, and nobody is known to be",
                    worker.number
                );
                self.called -= 1;
            }
        }
    }

    /// The idle worker to call for a job that is ready, if there is one and another may run.
    pub fn call(&mut self) -> Option<Arc<Condvar>> {
        if !self.has_room() {
            return None;
        }
        let (_, signal) = self.idle.pop()?;
        self.called += 1;
        Some(signal)
    }

    /// Count the slow workers: those that still run the job that they ran at the last look.
    pub fn look(&mut self) {
        let last = self.looks;
        let slow = |took: &&Option<u64>| took.is_some_and(|took| took < last);
        self.slow = self.took.iter().filter(slow).count();
        self.looks += 1;
        assert!(
            self.slow <= self.running,
            "{} workers are slow and {} run a job",
            self.slow,
            self.running
        );
    }

    /// Wake all workers, because there will be no more jobs.
    pub fn dismiss(&mut self) {
        self.called += self.idle.len();
        for (_, signal) in self.idle.drain(..) {
            signal.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number of workers, all idle.
    fn crew(at_once: usize, all: usize) -> (Workers, Vec<Worker>) {
        let mut workers = Workers::default();
        workers.set_at_once(at_once);
        let crew: Vec<Worker> = (0..all).map(|_| workers.join()).collect();
        for worker in &crew {
            workers.waits(worker);
        }
        (workers, crew)
    }

    fn number(crew: &[Worker], signal: &Arc<Condvar>) -> usize {
        let at = crew.iter().position(|w| Arc::ptr_eq(&w.signal, signal));
        at.expect("it is the signal of one of them")
    }

    /// Call one worker for a job that is ready; it takes the job.
    fn begin(workers: &mut Workers, crew: &[Worker]) -> Option<usize> {
        let called = number(crew, &workers.call()?);
        workers.woke(&crew[called]);
        workers.took(&crew[called]);
        Some(called)
    }

    #[test]
    fn the_last_idle_worker_is_called_first() {
        let (mut workers, crew) = crew(2, 4);
        assert_eq!(begin(&mut workers, &crew), Some(3));
        assert_eq!(begin(&mut workers, &crew), Some(2));
        assert_eq!(begin(&mut workers, &crew), None);
        workers.returned(&crew[3]);
        assert!(workers.may_take(), "it goes on with the next job");
        workers.waits(&crew[3]);
        assert_eq!(begin(&mut workers, &crew), Some(3), "its memory is warm");
    }

    #[test]
    fn a_slow_worker_lets_another_one_run() {
        let (mut workers, crew) = crew(1, 3);
        assert_eq!(begin(&mut workers, &crew), Some(2));
        workers.look();
        assert_eq!(begin(&mut workers, &crew), None, "it may have just begun");
        workers.look();
        assert_eq!(begin(&mut workers, &crew), Some(1));
        assert_eq!(begin(&mut workers, &crew), None);
        workers.look();
        workers.look();
        assert_eq!(begin(&mut workers, &crew), Some(0), "both are slow");
        for worker in &crew {
            workers.returned(worker);
            workers.waits(worker);
        }
        workers.look();
        assert_eq!(begin(&mut workers, &crew), Some(2));
        assert_eq!(begin(&mut workers, &crew), None, "nobody is slow any more");
    }

    #[test]
    fn one_that_is_called_counts_before_it_has_woken_up() {
        let (mut workers, crew) = crew(1, 2);
        let called = workers.call().expect("there is room for one");
        assert!(workers.call().is_none(), "the room is promised");
        let called = number(&crew, &called);
        workers.woke(&crew[called]);
        workers.waits(&crew[called]);
        assert!(
            workers.call().is_some(),
            "there was no job, so there is room"
        );
    }

    #[test]
    fn who_wakes_without_a_call_waits_no_more() {
        let (mut workers, crew) = crew(2, 1);
        workers.woke(&crew[0]);
        assert!(workers.call().is_none(), "nobody waits");
    }
}
