//! Auditing: the bounded context that writes entries of programs outside into the host's audit log, and reads it.
//!
//! The log itself is the host's: it chains the entries in a Merkle tree and signs checkpoints of it. Contexts write into it
//! in their own turns, by the surface `auditing`. Here arrive those who are not in a turn: programs outside, who sign each
//! entry with a registered key, and contexts by the event `audit-log-write`.
//!
//! | Module | Holds |
//! |---|---|
//! | [`api`] | the operations over HTTP, and the roles that they need |
//! | [`signed`] | an entry as a program has signed it |
//! | [`entries`] | writing entries: of programs and of events |
//! | [`quarantine`] | entries whose signature is not good: kept, and never dropped |
//! | [`reading`] | searches of the log |
//! | [`world`] | everything outside; [`host`] is the real one |

pub mod api;
pub mod bindings;
pub mod entries;
pub mod host;
pub mod quarantine;
pub mod reading;
pub mod signed;
#[cfg(test)]
mod tests;
pub mod world;

mod component {
    //! The exports.

    use crate::bindings::exports::rialto::auditing::audit_log_write;
    use crate::bindings::exports::rialto::host::http_handler;
    use crate::host::Host;
    use crate::{api, entries};

    struct Auditing;

    rialto_sdk::serves_operators!(
        http_handler for Auditing, "../openapi.yaml",
        |request, caller| api::answer(&mut Host, &caller, &request)
    );

    impl audit_log_write::Guest for Auditing {
        fn audit_log_write(event: audit_log_write::Event) {
            entries::of_event(&mut Host, event);
        }
    }

    // Component exports have names that no native linker takes.
    #[cfg(target_arch = "wasm32")]
    crate::bindings::export!(Auditing with_types_in crate::bindings);
}
