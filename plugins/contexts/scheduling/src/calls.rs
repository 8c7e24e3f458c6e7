//! The operations by calls: of other components, and of programs by gRPC. The host says who calls.
//!
//! A reminder of `create-schedule-reminder` is not stored here: it is a reminder of the host, named after its client, and
//! is committed with the turn of the context that asked.

use crate::bindings::exports::rialto::scheduling::create_reminder::{
    CreateError, Otherwise as Wish, Reminder as Instruction, Transport as By, When,
};
use crate::bindings::exports::rialto::scheduling::create_schedule_reminder::{
    Reminder, ScheduleError,
};
use crate::bindings::exports::rialto::scheduling::delete_schedule_reminder::Deletion;
use crate::names;
use crate::reminders::{self, Deleted, Otherwise, Recovery, Refused, Transport, Wanted};
use crate::world::World;

/// Sets a reminder by the event.
///
/// # Errors
/// When the instruction is malformed, or names another client than the caller.
pub fn create_schedule_reminder(
    world: &mut impl World,
    reminder: &Reminder,
) -> Result<(), ScheduleError> {
    let caller = world.caller();
    names::check(reminder, caller.as_ref()).map_err(ScheduleError::Malformed)?;
    // Checked: the caller is known.
    if let Some(caller) = caller {
        let name = names::name(&caller.name(), &reminder.id);
        world.set_reminder(&name, reminder.due, &reminder.payload);
    }
    Ok(())
}

/// Creates a stored reminder.
///
/// # Errors
/// When it is refused.
pub fn create_reminder(
    world: &mut impl World,
    instruction: Instruction,
) -> Result<(), CreateError> {
    let Some(caller) = world.caller() else {
        let why = "the caller is not known, so it can have no reminders";
        return Err(CreateError::Malformed(why.to_owned()));
    };
    let created = reminders::create(world, &caller, wanted(instruction));
    created.map(|_| ()).map_err(|refused| match refused {
        Refused::Malformed(why) => CreateError::Malformed(why),
        Refused::Exists(_) => CreateError::Exists,
        Refused::TooMany(most) => CreateError::LimitReached(most),
    })
}

fn wanted(instruction: Instruction) -> Wanted {
    let (at, cron) = match instruction.when {
        When::At(at) => (Some(at), None),
        When::Cron(cron) => (None, Some(cron)),
    };
    let (transport, url) = match instruction.transport {
        By::Event => (Transport::Event, None),
        By::HttpPost(url) => (Transport::HttpPost, Some(url)),
    };
    let recovery = instruction.recovery.map(|recovery| Recovery {
        attempts: recovery.attempts,
        pause_ms: recovery.pause_ms,
        otherwise: Some(match recovery.otherwise {
            Wish::Abort => Otherwise::Abort,
            Wish::Reschedule => Otherwise::Reschedule,
        }),
    });
    Wanted {
        id: Some(instruction.id),
        at,
        cron,
        transport,
        url,
        payload: instruction.payload,
        recovery,
        alert: instruction.alert,
    }
}

/// Deletes a reminder of the caller.
pub fn delete_schedule_reminder(world: &mut impl World, client: &str, id: &str) -> Deletion {
    let Some(caller) = world.caller().filter(|caller| caller.own_name() == client) else {
        world.warn(&format!(
            "a reminder of {client:?} stays: who asks to delete it is another"
        ));
        return Deletion::AlreadyElapsed;
    };
    if world.cancel_reminder(&names::name(&caller.name(), id)) {
        return Deletion::Deleted;
    }
    match reminders::delete(world, &caller, id) {
        Deleted::Done => Deletion::Deleted,
        Deleted::Elapsed(_) | Deleted::Unknown => Deletion::AlreadyElapsed,
    }
}
