//! The FSP Interop API: the bounded context that connects participants with the scheme.
//!
//! FSPIOP messages arrive by HTTP and become events. Outcomes of other contexts arrive as events and become
//! callbacks. State of a message under way travels with the message (its correlation) or with the events (the
//! cause). Documents are only for signatures: key owners, and signed messages that must not be accepted again.
//!
//! | To see | Read |
//! |---|---|
//! | which messages are taken | `openapi.yaml`, and [`document`] for what settings change in it |
//! | how a message is brought into the API definition's form | [`usual`] |
//! | how a message becomes an event | [`inbound`] |
//! | which outcome tells whom what | [`outcomes`] |
//! | how a callback is built and handed on | [`notice`], [`headers`], [`delivery`] |
//! | what a signature must say, and what the hub signs | [`jws`] |
//! | how a user's authenticator is registered | [`fido`] |
//! | how a participant asks what the rules would say | [`what_if`] |
//! | how it is known who had a key | `signers` |
//! | what is not asked again in each turn | `remembered` |
//! | what a delivery report leads to | [`report`] |
//! | how a refusal is worded | [`refusal`] |

pub mod bindings;
pub mod callback_reports;
#[cfg(test)]
mod catalogue;
pub mod delivery;
pub mod document;
pub mod fido;
pub mod headers;
mod http;
pub mod inbound;
pub mod jws;
pub mod notice;
pub mod outcomes;
pub mod refusal;
mod remembered;
pub mod report;
pub mod settings;
mod signers;
pub mod usual;
#[cfg(test)]
mod versions;
pub mod what_if;

pub use rialto_sdk::media;

use bindings::exports::rialto::participant_lifecycle_management::participant_endpoints_updated;

/// The component; the modules implement its exports.
pub struct Component;

impl participant_endpoints_updated::Guest for Component {
    fn participant_endpoints_updated(event: participant_endpoints_updated::Event) {
        rialto_sdk::logging::heard("participant-endpoints-updated", &event.participant);
    }
}

// Component exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
