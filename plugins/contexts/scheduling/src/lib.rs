//! Scheduling: the bounded context for other contexts' reminders, and for those of programs outside.
//!
//! A one-shot reminder of a context that reminds by the event is a reminder of the host, named after its client: it is
//! not stored here, and costs a payment one call and one reminder. All others are documents: those of programs outside,
//! recurring ones, and those that remind by an HTTP callback.
//!
//! | Module | Holds |
//! |---|---|
//! | [`api`] | the operations over HTTP, and the roles that they need |
//! | [`calls`] | the operations by calls |
//! | [`names`] | clients, and the host's names of reminders |
//! | [`reminders`] | stored reminders: creating and deleting them |
//! | [`firing`] | what happens when a stored reminder comes due |
//! | [`cron`] | cron expressions |
//! | [`settings`] | bounds |
//! | [`world`] | everything outside; [`host`] is the real one |

pub mod api;
pub mod bindings;
pub mod calls;
pub mod cron;
pub mod firing;
pub mod host;
pub mod names;
pub mod reminders;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod world;

mod component {
    //! The exports.

    use crate::bindings::exports::rialto::host::{
        configuration_schema, http_handler, http_report_handler, reminder_handler, settings_handler,
    };
    use crate::bindings::exports::rialto::scheduling::create_reminder::{
        self, CreateError, Reminder as Instruction,
    };
    use crate::bindings::exports::rialto::scheduling::create_schedule_reminder::{
        self, Reminder, ScheduleError,
    };
    use crate::bindings::exports::rialto::scheduling::delete_schedule_reminder::{self, Deletion};
    use crate::bindings::exports::rialto::scheduling::get_earlier_work::{
        self, EarlierWork, PendingDelivery,
    };
    use crate::bindings::rialto::scheduling::schedule_reminder_elapsed::Event;
    use crate::host::Host;
    use crate::settings::Settings;
    use crate::world::World;
    use crate::{api, calls, firing, names};
    use rialto_sdk::bindings::rialto::host::http::DeliveryReport;
    use rialto_sdk::bindings::rialto::host::scheduling as host;

    struct Scheduling;

    rialto_sdk::serves_operators!(
        http_handler for Scheduling, "../openapi.yaml",
        |request, caller| api::answer(&mut Host, &caller, &request)
    );

    rialto_sdk::judges_settings!(settings_handler, Scheduling, Settings);
    rialto_sdk::describes_settings!(configuration_schema, Scheduling, version 1, "../settings.schema.json");

    impl create_schedule_reminder::Guest for Scheduling {
        fn create_schedule_reminder(reminder: Reminder) -> Result<(), ScheduleError> {
            calls::create_schedule_reminder(&mut Host, &reminder)
        }
    }

    impl create_reminder::Guest for Scheduling {
        fn create_reminder(reminder: Instruction) -> Result<(), CreateError> {
            calls::create_reminder(&mut Host, reminder)
        }
    }

    impl delete_schedule_reminder::Guest for Scheduling {
        fn delete_schedule_reminder(client: String, id: String) -> Deletion {
            calls::delete_schedule_reminder(&mut Host, &client, &id)
        }
    }

    impl get_earlier_work::Guest for Scheduling {
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

    impl reminder_handler::Guest for Scheduling {
        fn reminder_due(name: String, due: u64, payload: String) {
            if let Some(key) = names::stored_key(&name) {
                firing::due(&mut Host, key);
                return;
            }
            let (client, id) = names::parts(&name).unwrap_or_else(|| {
                panic!("the name of the reminder {name:?} does not begin with its client")
            });
            Host.subject(&name);
            Host.elapsed(&Event {
                id: id.to_owned(),
                client: client.to_owned(),
                due,
                payload,
            });
        }
    }

    impl http_report_handler::Guest for Scheduling {
        fn report(report: DeliveryReport) {
            firing::reported(&mut Host, report);
        }
    }

    // Component exports have names that no native linker takes.
    #[cfg(target_arch = "wasm32")]
    crate::bindings::export!(Scheduling with_types_in crate::bindings);
}
