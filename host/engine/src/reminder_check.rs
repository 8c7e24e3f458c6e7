//! Checks a turn against the reminders before it is executed: whether the reminder that it handles still
//! exists, and whether what it read of other reminders is still true.
//!
//! Reminders belong to no document, so the locks of documents do not order the turns that change reminders.
//! The lock of the reminders does: the caller holds it from this check until the turn is in the log.

use crate::engine::Shared;
use crate::ids::Name;
use crate::queue::Job;
use crate::reminders::{ReminderChange, Reminders};
use crate::stimulus::{Cause, Delivery, Stimulus};
use crate::turn::{Staged, Turn};

/// Returns the delivery if it is of a reminder that has been replaced or cancelled since it fired.
pub(crate) fn stale_reminder<'a>(shared: &Shared, job: &'a Job) -> Option<&'a Delivery> {
    let Stimulus::Delivery(delivery) = &job.stimulus else {
        return None;
    };
    (is_reminder(&job.stimulus) && !is_current(&shared.reminders.lock(), &job.stimulus))
        .then_some(delivery)
}

/// The removal of the reminder that a turn handles, if it handles one. It comes before the turn's own
/// changes, so that a reminder which the handler set under the same id stays. It is only for a reminder
/// that is current.
pub(crate) fn handled_reminder(stimulus: &Stimulus) -> Option<ReminderChange> {
    let (component, id, _) = reminder_of(stimulus)?;
    Some(ReminderChange::Cancel {
        component: component.clone(),
        id: id.clone(),
    })
}

/// The reminder that this stimulus delivers: its component, id and generation.
fn reminder_of(stimulus: &Stimulus) -> Option<(&Name, &Name, u64)> {
    let Stimulus::Delivery(delivery) = stimulus else {
        return None;
    };
    match &delivery.cause {
        Cause::Reminder { id, generation } => Some((&delivery.component, id, *generation)),
        Cause::Event | Cause::Report { .. } => None,
    }
}

pub(crate) fn is_reminder(stimulus: &Stimulus) -> bool {
    reminder_of(stimulus).is_some()
}

/// False for the delivery of a reminder that was replaced, cancelled or handled; true for all else.
pub(crate) fn is_current(reminders: &Reminders, stimulus: &Stimulus) -> bool {
    reminder_of(stimulus)
        .is_none_or(|(component, id, generation)| reminders.is_current(component, id, generation))
}

pub(crate) fn concerns_reminders(staged: &Staged, stimulus: &Stimulus) -> bool {
    is_reminder(stimulus) || !staged.reminders.is_empty()
}

/// The outcome of the check.
pub(crate) enum ReminderCheck {
    /// The turn may be executed.
    Current,
    /// The reminder that the turn handles no longer exists: the turn ends without effect.
    Stale,
    /// A reminder that the turn has read has changed since: the turn must run again.
    Outdated,
}

pub(crate) fn check_reminders(
    reminders: &Reminders,
    turn: &Turn,
    stimulus: &Stimulus,
) -> ReminderCheck {
    if !is_current(reminders, stimulus) {
        return ReminderCheck::Stale;
    }
    let seen = &turn.staged.reminders_seen;
    let same = seen
        .iter()
        .all(|(component, id, waited)| reminders.waits(component, id, turn.reminder) == *waited);
    if same {
        ReminderCheck::Current
    } else {
        ReminderCheck::Outdated
    }
}
