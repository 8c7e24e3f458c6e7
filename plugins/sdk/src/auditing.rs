//! Entries of the audit log. Writing one calls the host, which adds time, caller, component, release, turn and trace.

use serde_json::Value;

use crate::bindings::rialto::host::auditing as host;
pub use crate::bindings::rialto::host::auditing::Outcome;

/// The longest subject and note that the host takes, in bytes.
const ABOUT_BYTES_MAX: usize = 256;
const NOTE_BYTES_MAX: usize = 1_024;

/// Something that must be provable later.
#[derive(Debug, Clone, PartialEq)]
pub struct Audited {
    /// What was done: lower-case letters, digits, dots and hyphens, such as `transfer.committed`.
    pub action: &'static str,
    /// What it was done to, such as `transfer:7c23e80c-…`.
    pub about: String,
    /// How it ended.
    pub outcome: Outcome,
    /// For people; empty for nothing.
    pub note: String,
    /// For programs: a JSON object, or null for nothing. At most 8 KiB.
    pub details: Value,
}

impl Audited {
    /// Something that was done.
    #[must_use]
    pub fn done(action: &'static str, about: String, details: Value) -> Self {
        Self {
            action,
            about,
            outcome: Outcome::Done,
            note: String::new(),
            details,
        }
    }

    /// Something that was not allowed or not possible, and why.
    #[must_use]
    pub fn refused(action: &'static str, about: String, why: &str) -> Self {
        Self {
            action,
            about,
            outcome: Outcome::Refused,
            note: why.to_owned(),
            details: Value::Null,
        }
    }

    /// Write the entry. Texts that are too long are cut.
    pub fn write(&self) {
        host::write(&host::Entry {
            action: self.action.to_owned(),
            about: cut(&self.about, ABOUT_BYTES_MAX).to_owned(),
            outcome: self.outcome,
            note: cut(&self.note, NOTE_BYTES_MAX).to_owned(),
            details: (!self.details.is_null()).then(|| self.details.to_string()),
        });
    }
}

/// The beginning of a text, ending between characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
