//! Log lines, and the subjects of a turn. Both call the host.

use crate::bindings::rialto::common::types::PartyId;
use crate::bindings::rialto::host::logging as host;
pub use crate::bindings::rialto::host::logging::Level;
use crate::bindings::rialto::rules::types::QuoteRequest;
use crate::messages::{party_path, path_spelt_once};

/// Adds the subject `kind:id` to this turn, for example `transfer:7c23e80c-…`. A party's id is its path. Turns
/// about a party are found under its usual spelling and under the message's own.
pub fn subject(kind: &str, id: &str) {
    if kind == "party" {
        let once = path_spelt_once(id);
        if once != id {
            file(kind, &once);
        }
    }
    file(kind, id);
}

/// Names a party whom the turn's steps, receipts or entries name. If parties are people for the operator, the turn's records
/// are encrypted for the party; otherwise nothing happens. The subject of a turn need not be named.
pub fn party(party: &PartyId) {
    host::person(&party_subject(party));
}

/// The subject of a party, for example `party:MSISDN/1234`.
#[must_use]
pub fn party_subject(party: &PartyId) -> String {
    text("party", &path_spelt_once(&party_path(party)))
}

/// Names a subject who may be a person for the operator, as [`party`] does.
pub fn person(subject: &str) {
    host::person(subject);
}

/// Names the payer and the payee of a quote.
pub fn parties(request: &QuoteRequest) {
    party(&request.payer);
    party(&request.payee);
}

fn file(kind: &str, id: &str) {
    host::subject(&text(kind, id));
}

fn text(kind: &str, id: &str) -> String {
    let mut text = String::with_capacity(kind.len() + 1 + id.len());
    text.push_str(kind);
    text.push(':');
    text.push_str(id);
    text
}

/// Logs an event about a participant that this context does not store: it asks Participant Lifecycle Management
/// in the turn that needs the fact.
pub fn heard(event: &str, participant: &str) {
    subject("participant", participant);
    log(Level::Debug, &format!("heard {event} of {participant}"));
}

/// Writes a line to the host's log.
pub fn log(level: Level, message: &str) {
    host::log(level, message);
}

/// Logs a line for debugging, with the syntax of `format!`.
#[macro_export]
macro_rules! debug {
    ($($word:tt)*) => { $crate::logging::log($crate::logging::Level::Debug, &format!($($word)*)) };
}

/// Logs a line of information, with the syntax of `format!`.
#[macro_export]
macro_rules! info {
    ($($word:tt)*) => { $crate::logging::log($crate::logging::Level::Info, &format!($($word)*)) };
}

/// Logs a warning, with the syntax of `format!`.
#[macro_export]
macro_rules! warn {
    ($($word:tt)*) => { $crate::logging::log($crate::logging::Level::Warn, &format!($($word)*)) };
}

/// Logs an error, with the syntax of `format!`.
#[macro_export]
macro_rules! error {
    ($($word:tt)*) => { $crate::logging::log($crate::logging::Level::Error, &format!($($word)*)) };
}
