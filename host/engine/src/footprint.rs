//! The documents that a job must hold before it runs again, taken in key order by queueing.

use crate::engine::Shared;
use crate::queue::Job;
use crate::turn::{Touch, Turn};

/// Take the documents that the job must hold, in key order. None if it now queues for one.
pub(crate) fn take_footprint(mut job: Box<Job>) -> Option<Box<Job>> {
    assert!(
        job.held <= job.footprint.len(),
        "turn {} holds {} documents of {}",
        job.turn,
        job.held,
        job.footprint.len()
    );
    while job.held < job.footprint.len() {
        let cell = job.footprint[job.held].clone();
        if let Some(before) = job.held.checked_sub(1) {
            let before = &job.footprint[before].key;
            assert!(
                *before < cell.key,
                "turn {} takes {:?} after {before:?}, which is out of order",
                job.turn,
                cell.key
            );
        }
        job = cell.take_for(job)?;
        job.held += 1;
    }
    Some(job)
}

/// Put the documents that the job holds into its turn.
pub(crate) fn adopt_footprint(turn: &mut Turn, job: &mut Job) {
    assert!(
        job.held == job.footprint.len(),
        "turn {} begins and holds {} of the {} documents that it is to hold",
        job.turn,
        job.held,
        job.footprint.len()
    );
    for cell in job.footprint.drain(..) {
        let sight = cell.look(job.turn, true);
        let sight = sight.unwrap_or_else(|| {
            panic!(
                "turn {} begins and another holds document {:?}, which it has waited for",
                job.turn, cell.key.id
            )
        });
        let touch = Touch {
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
    job.held = 0;
}

/// Let go of what the job holds without a turn.
pub(crate) fn release_all(shared: &Shared, job: &mut Job) {
    // Also one that was just handed to it: `held` does not count that yet.
    for cell in job.footprint.drain(..) {
        if let Some(next) = cell.release(job.turn) {
            shared.queue.push_first(next);
        }
    }
    job.held = 0;
}
