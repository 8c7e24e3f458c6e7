//! Logging: the bounded context of the scheme's log: technical information of contexts and of programs outside, for people.
//!
//! Entries arrive by the event `log-write`, over HTTP, and as lines of the host's log. They are documents in the order of their arrival, with an index by
//! trace and one by subject. Old ones are removed. What must be provable later is in the audit log, not here.
//!
//! | Module | Holds |
//! |---|---|
//! | [`api`] | the operations over HTTP, and the roles that they need |
//! | [`entries`] | entries, and writing them |
//! | [`told`] | entries of events, and of the host's lines |
//! | [`reading`] | searches |
//! | [`newest`] | the ids of the newest entries |
//! | [`sealing`] | signing and encrypting entries |
//! | [`trimming`] | removing what is old, or more than is kept |
//! | [`settings`] | how long and how many entries are kept, and whether they are signed and encrypted |
//! | [`world`] | everything outside; [`host`] is the real one |

pub mod api;
pub mod bindings;
pub mod entries;
pub mod host;
pub mod newest;
pub mod reading;
pub mod sealing;
pub mod settings;
#[cfg(test)]
mod tests;
pub mod told;
pub mod trimming;
pub mod world;

mod component {
    //! The exports.

    use crate::bindings::exports::rialto::host::{
        activation_handler, configuration_schema, http_handler, log_handler, reminder_handler,
        settings_handler,
    };
    use crate::bindings::exports::rialto::logging::log_write;
    use crate::host::Host;
    use crate::settings::Settings;
    use crate::{api, told, trimming};

    struct Logging;

    rialto_sdk::serves_operators!(
        http_handler for Logging, "../openapi.yaml",
        |request, caller| api::answer(&mut Host, &caller, &request)
    );

    rialto_sdk::judges_settings!(settings_handler, Logging, Settings);
    rialto_sdk::describes_settings!(configuration_schema, Logging, version 2, "../settings.schema.json");

    impl log_write::Guest for Logging {
        fn log_write(event: log_write::Event) {
            told::of_event(&mut Host, event);
        }
    }

    impl log_handler::Guest for Logging {
        fn lines_written(lines: Vec<log_handler::LogLine>) {
            told::of_lines(&mut Host, lines);
        }
    }

    impl activation_handler::Guest for Logging {
        fn release_activated(_: u64, _: u32) -> bool {
            trimming::begin(&mut Host);
            false
        }
    }

    impl reminder_handler::Guest for Logging {
        fn reminder_due(_: String, _: u64, _: String) {
            trimming::trim(&mut Host);
        }
    }

    // Component exports have names that no native linker takes.
    #[cfg(target_arch = "wasm32")]
    crate::bindings::export!(Logging with_types_in crate::bindings);
}
