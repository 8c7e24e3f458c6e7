//! How a turn stands to reminders: whether the one that it handles is still wanted, and whether what
//! it was told of others still holds when it is to be executed.
//!
//! Reminders belong to no document, so documents do not order the turns that change them. Their lock
//! does: it is held from these checks until the turn has its place in the log.

use crate::engine::Shared;
use crate::ids::Name;
use crate::queue::Job;
use crate::reminders::{ReminderChange, Reminders};
use crate::stimulus::{Cause, Delivery, Stimulus};
use crate::turn::{Staged, Turn};

/// The delivery, if it is of a reminder that has been replaced or cancelled since it fired.
pub(crate) fn stale_reminder<'a>(shared: &Shared, job: &'a Job) -> Option<&'a Delivery> {
    let Stimulus::Delivery(delivery) = &job.stimulus else {
        return None;
    };
    (is_reminder(&job.stimulus) && !is_current(&shared.reminders.lock(), &job.stimulus))
        .then_some(delivery)
}

/// What becomes of the reminder that a turn handles, if it handles one: it goes. To be done before the
/// turn's own changes, so that a reminder of the same id that the handler set stays; and only while the
/// reminder is the current one.
pub(crate) fn handled_reminder(stimulus: &Stimulus) -> Option<ReminderChange> {
    let (component, id, _) = reminder_of(stimulus)?;
    Some(ReminderChange::Cancel {
        component: component.clone(),
        id: id.clone(),
    })
}

/// The reminder of which this is the delivery: its component, id and generation.
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

/// Whether this is no delivery of a reminder that was replaced, cancelled or handled.
pub(crate) fn is_current(reminders: &Reminders, stimulus: &Stimulus) -> bool {
    reminder_of(stimulus)
        .is_none_or(|(component, id, generation)| reminders.is_current(component, id, generation))
}

pub(crate) fn concerns_reminders(staged: &Staged, stimulus: &Stimulus) -> bool {
    is_reminder(stimulus) || !staged.reminders.is_empty()
}

/// How a turn stands to reminders as they are now.
pub(crate) enum Standing {
    /// It may be executed.
    Good,
    /// It handles a reminder that is no more: nobody wants it.
    Stale,
    /// It was told of a reminder what is no longer so: it must run again.
    Outdated,
}

pub(crate) fn standing(reminders: &Reminders, turn: &Turn, stimulus: &Stimulus) -> Standing {
    if !is_current(reminders, stimulus) {
        return Standing::Stale;
    }
    let seen = &turn.staged.reminders_seen;
    let same = seen
        .iter()
        .all(|(component, id, waited)| reminders.waits(component, id, turn.reminder) == *waited);
    if same {
        Standing::Good
    } else {
        Standing::Outdated
    }
}
