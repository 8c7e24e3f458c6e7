//! Scheduling: the bounded context for other contexts' reminders.
//!
//! It stores nothing: a reminder is a reminder of the host, named after its client, and is committed with the
//! turn of the context that asked.

pub mod bindings;
pub mod names;

use bindings::exports::rialto::host::reminder_handler;
use bindings::exports::rialto::scheduling::create_schedule_reminder::{
    self, Reminder, ScheduleError,
};
use bindings::exports::rialto::scheduling::delete_schedule_reminder::{self, Deletion};
use bindings::exports::rialto::scheduling::get_earlier_work::{self, EarlierWork, PendingDelivery};
use bindings::rialto::scheduling::schedule_reminder_elapsed;
use rialto_sdk::bindings::rialto::host::scheduling as host;
use rialto_sdk::logging;

/// The component.
pub struct Component;

impl create_schedule_reminder::Guest for Component {
    fn create_schedule_reminder(reminder: Reminder) -> Result<(), ScheduleError> {
        names::check(&reminder).map_err(ScheduleError::Malformed)?;
        let name = names::name(&reminder.client, &reminder.id);
        host::set_reminder(&name, reminder.due, &reminder.payload);
        Ok(())
    }
}

impl delete_schedule_reminder::Guest for Component {
    fn delete_schedule_reminder(client: String, id: String) -> Deletion {
        if host::cancel_reminder(&names::name(&client, &id)) {
            Deletion::Deleted
        } else {
            Deletion::AlreadyElapsed
        }
    }
}

impl get_earlier_work::Guest for Component {
    fn get_earlier_work(subject: String, due: u64) -> Option<EarlierWork> {
        let pending = |delivery: host::PendingDelivery| PendingDelivery {
            id: delivery.id,
            context: delivery.component,
        };
        let earlier = host::waits_for(&subject, due)?;
        Some(match earlier {
            host::Earlier::RunningTurn => EarlierWork::Running,
            host::Earlier::Delivery(delivery) => EarlierWork::Delivery(pending(delivery)),
            host::Earlier::DeadLetter(delivery) => EarlierWork::DeadLetter(pending(delivery)),
        })
    }
}

impl reminder_handler::Guest for Component {
    fn reminder_due(name: String, due: u64, payload: String) {
        let (client, id) = names::parts(&name).unwrap_or_else(|| {
            panic!("the name of the reminder {name:?} does not begin with its client")
        });
        logging::subject("reminder", &name);
        schedule_reminder_elapsed::schedule_reminder_elapsed(&schedule_reminder_elapsed::Event {
            id: id.to_owned(),
            client: client.to_owned(),
            due,
            payload,
        });
    }
}

// Component exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
