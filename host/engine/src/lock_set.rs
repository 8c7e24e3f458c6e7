//! The lock set of a job: the documents that it must lock before it runs again.
//!
//! A job locks them in key order and queues for those that another turn holds.

use crate::engine::Shared;
use crate::queue::Job;
use crate::turn::{AccessedDocument, Turn};

/// Lock the documents of the job's lock set, in key order. None if the job now queues for one of them.
pub(crate) fn acquire_lock_set(mut job: Box<Job>) -> Option<Box<Job>> {
    assert!(
        job.locks_held <= job.lock_set.len(),
        "turn {} holds {} documents of {}",
        job.turn,
        job.locks_held,
        job.lock_set.len()
    );
    while job.locks_held < job.lock_set.len() {
        let cell = job.lock_set[job.locks_held].clone();
        if let Some(before) = job.locks_held.checked_sub(1) {
            let before = &job.lock_set[before].key;
            assert!(
                *before < cell.key,
                "turn {} takes {:?} after {before:?}, which is out of order",
                job.turn,
                cell.key
            );
        }
        job = cell.take_for(job)?;
        job.locks_held += 1;
    }
    Some(job)
}

/// Move the locks of the job into its turn.
pub(crate) fn adopt_lock_set(turn: &mut Turn, job: &mut Job) {
    assert!(
        job.locks_held == job.lock_set.len(),
        "turn {} begins and holds {} of the {} documents that it is to hold",
        job.turn,
        job.locks_held,
        job.lock_set.len()
    );
    for cell in job.lock_set.drain(..) {
        let sight = cell.look(job.turn, true);
        let sight = sight.unwrap_or_else(|| {
            panic!(
                "turn {} begins and another holds document {:?}, which it has waited for",
                job.turn, cell.key.id
            )
        });
        let touch = AccessedDocument {
            cell: cell.clone(),
            version: sight.version,
            seen: sight.body,
            held: true,
            write: None,
        };
        let before = turn.touched.insert(cell.key.clone(), touch);
        assert!(
            before.is_none(),
            "turn {} begins and holds document {:?} twice",
            job.turn,
            cell.key.id
        );
    }
    job.locks_held = 0;
}

/// Release the locks of a job that has no turn.
pub(crate) fn release_all(shared: &Shared, job: &mut Job) {
    // Also one that was just handed to it: `locks_held` does not count that yet.
    for cell in job.lock_set.drain(..) {
        if let Some(next) = cell.release(job.turn) {
            shared.queue.push_first(next);
        }
    }
    job.locks_held = 0;
}
