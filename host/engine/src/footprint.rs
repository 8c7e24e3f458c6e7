//! The documents that a job must hold before it runs again, taken in key order by queueing.

use crate::engine::Shared;
use crate::queue::Job;
use crate::turn::{Touch, Turn};

/// Take the documents that the job must hold, in key order. None if it now queues for one.
pub(crate) fn take_footprint(mut job: Box<Job>) -> Option<Box<Job>> {
    while job.held < job.footprint.len() {
        let cell = job.footprint[job.held].clone();
        let mut state = cell.state();
        match state.owner {
            Some(owner) if owner != job.turn => {
                state.waiters.push_back(job);
                return None;
            }
            _ => state.owner = Some(job.turn),
        }
        job.held += 1;
    }
    Some(job)
}

/// Put the documents that the job holds into its turn.
pub(crate) fn adopt_footprint(turn: &mut Turn, job: &mut Job) {
    for cell in job.footprint.drain(..) {
        let (version, seen) = {
            let state = cell.state();
            (state.version, state.body.clone())
        };
        let touch = Touch {
            cell: cell.clone(),
            version,
            seen,
            held: true,
            write: None,
        };
        turn.touched.insert(cell.key.clone(), touch);
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
