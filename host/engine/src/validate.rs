//! Whether what a turn has seen still holds, when it is to get its position in the log or is to fail.
//!
//! Both are asked: what a turn computed from old and new documents together may be any nonsense, a trap
//! too, and nobody may be told of it.

use std::sync::Arc;

use crate::commit::LockedLog;
use crate::documents::Cell;
use crate::engine::Shared;
use crate::ids::DocumentKey;
use crate::reminder_check::{ReminderCheck, check_reminders};
use crate::stimulus::Stimulus;
use crate::turn::Turn;

/// What is in a turn's way: when it runs again it holds all of this.
#[derive(Default)]
pub(crate) struct Conflict {
    /// Documents that it read and others have written since, or hold.
    pub read: Vec<Arc<Cell>>,
    /// Documents that others have written since, where it has scanned.
    pub scanned: Vec<DocumentKey>,
}

/// What is in the way of a turn that is to get its position in the log, if anything is.
pub(crate) fn conflict(turn: &Turn, log: &LockedLog<'_>) -> Option<Conflict> {
    let read = outdated_reads(turn);
    let (scanned, more) = match &turn.scans {
        Some(scans) => log.written_since(scans.ranges()),
        None => (Vec::new(), false),
    };
    let none = read.is_empty() && scanned.is_empty() && !more;
    (!none).then_some(Conflict { read, scanned })
}

/// The same for a turn that is not to get its position, or not yet: what it has seen was so at one moment
/// if nothing is in its way.
pub(crate) fn conflict_now(shared: &Shared, turn: &Turn) -> Option<Conflict> {
    if turn.scans.is_some() {
        return shared.log.look(|log| conflict(turn, log));
    }
    // Each version is still the newest when it is looked at, so all were when the first was.
    let read = outdated_reads(turn);
    let none = read.is_empty();
    (!none).then_some(Conflict {
        read,
        ..Conflict::default()
    })
}

/// The same for a turn that failed, with the reminders that it was told of.
pub(crate) fn conflict_of_failed(
    shared: &Shared,
    turn: &Turn,
    stimulus: &Stimulus,
) -> Option<Conflict> {
    if !turn.staged.reminders_seen.is_empty()
        && let ReminderCheck::Outdated = check_reminders(&shared.reminders.lock(), turn, stimulus)
    {
        return Some(Conflict::default());
    }
    conflict_now(shared, turn)
}

fn outdated_reads(turn: &Turn) -> Vec<Arc<Cell>> {
    let reads = turn.touched.values().filter(|touch| !touch.held);
    let outdated = reads.filter(|touch| !touch.cell.is_still(touch.version));
    outdated.map(|touch| touch.cell.clone()).collect()
}
