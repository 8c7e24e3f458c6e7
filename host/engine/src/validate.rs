//! Validation of a turn's reads (optimistic concurrency control): before it gets its position in the log,
//! and before a failure is reported.
//!
//! Failures are validated too. A turn that has read a mix of old and new documents may compute anything,
//! also a trap. Such a failure counts as a conflict, and the turn runs again.

use std::sync::Arc;

use crate::commit::LockedLog;
use crate::documents::Cell;
use crate::engine::Shared;
use crate::ids::DocumentKey;
use crate::reminder_check::{ReminderCheck, check_reminders};
use crate::stimulus::Stimulus;
use crate::turn::Turn;

/// The documents of a conflict. The turn locks all of them before it runs again.
#[derive(Default)]
pub(crate) struct Conflict {
    /// Documents that the turn has read and others have written since, or have locked.
    pub read: Vec<Arc<Cell>>,
    /// Documents that others have written since, in ranges that the turn has scanned.
    pub scanned: Vec<DocumentKey>,
}

/// The conflict of a turn that is to get its position in the log, if there is one.
pub(crate) fn conflict(turn: &Turn, log: &LockedLog<'_>) -> Option<Conflict> {
    let read = outdated_reads(turn);
    let (scanned, more) = match &turn.scans {
        Some(scans) => log.written_since(scans.ranges()),
        None => (Vec::new(), false),
    };
    let none = read.is_empty() && scanned.is_empty() && !more;
    (!none).then_some(Conflict { read, scanned })
}

/// The same outside the log's lock. Without a conflict, all that the turn has read was true at one moment.
pub(crate) fn conflict_now(shared: &Shared, turn: &Turn) -> Option<Conflict> {
    if turn.scans.is_some() {
        return shared.log.look(|log| conflict(turn, log));
    }
    // Each version is the newest when it is checked, so all were the newest when the first was checked.
    let read = outdated_reads(turn);
    let none = read.is_empty();
    (!none).then_some(Conflict {
        read,
        ..Conflict::default()
    })
}

/// The same for a turn that failed, with the reminders that it has asked about.
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
