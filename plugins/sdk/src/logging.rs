//! Words for the operator: log lines, and what a turn is about. Both call the host.

use crate::bindings::rialto::host::logging as host;
pub use crate::bindings::rialto::host::logging::Level;
use crate::messages::path_spelt_once;

/// File this turn's history under `kind:id`, for example `transfer:7c23e80c-…`. A party's id is its
/// path; what is about a party is found under its one spelling, and under the message's own as well.
pub fn subject(kind: &str, id: &str) {
    if kind == "party" {
        let once = path_spelt_once(id);
        if once != id {
            file(kind, &once);
        }
    }
    file(kind, id);
}

fn file(kind: &str, id: &str) {
    let mut text = String::with_capacity(kind.len() + 1 + id.len());
    text.push_str(kind);
    text.push(':');
    text.push_str(id);
    host::subject(&text);
}

/// Note that a context was told of something about a participant, for whoever asks what it knew: it keeps
/// nothing of it, and asks Participant Lifecycle Management in the turn that needs it.
pub fn heard(event: &str, participant: &str) {
    subject("participant", participant);
    log(Level::Debug, &format!("heard {event} of {participant}"));
}

/// Write a line to the host's log.
pub fn log(level: Level, message: &str) {
    host::log(level, message);
}

/// Write a line for debugging, worded like `format!`.
#[macro_export]
macro_rules! debug {
    ($($word:tt)*) => { $crate::logging::log($crate::logging::Level::Debug, &format!($($word)*)) };
}

/// Write a line that an operator may want to know, worded like `format!`.
#[macro_export]
macro_rules! info {
    ($($word:tt)*) => { $crate::logging::log($crate::logging::Level::Info, &format!($($word)*)) };
}

/// Write a line about something that should not be, worded like `format!`.
#[macro_export]
macro_rules! warn {
    ($($word:tt)*) => { $crate::logging::log($crate::logging::Level::Warn, &format!($($word)*)) };
}

/// Write a line about something that someone must mend, worded like `format!`.
#[macro_export]
macro_rules! error {
    ($($word:tt)*) => { $crate::logging::log($crate::logging::Level::Error, &format!($($word)*)) };
}
