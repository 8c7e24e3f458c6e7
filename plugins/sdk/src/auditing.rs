//! Entries of the audit log. Writing one calls the host, which adds time, caller, component, release, turn and trace.

use serde_json::{Value, json};

use crate::bindings::rialto::host::auditing as host;
pub use crate::bindings::rialto::host::auditing::Outcome;

/// The longest action that the host takes, in bytes.
pub const ACTION_BYTES_MAX: usize = 64;
/// The longest subject that the host takes, in bytes.
pub const ABOUT_BYTES_MAX: usize = 256;
/// The longest note that the host takes, in bytes.
pub const NOTE_BYTES_MAX: usize = 1_024;
/// The longest details that the host takes, in bytes of JSON.
pub const DETAILS_BYTES_MAX: usize = 8 << 10;

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

    /// Write the entry. Texts that are too long are cut. Of details that are too long, the entry has only their length, as
    /// `{"leftOutBytes": 9000}`: what happened must not fail because much is to be said of it.
    pub fn write(&self) {
        let details = (!self.details.is_null()).then(|| fitting(&self.details));
        host::write(&host::Entry {
            action: self.action.to_owned(),
            about: cut(&self.about, ABOUT_BYTES_MAX).to_owned(),
            outcome: self.outcome,
            note: cut(&self.note, NOTE_BYTES_MAX).to_owned(),
            details,
        });
    }
}

/// Somebody who was refused, because they have not proven who they are or may not do what they want.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused<'a> {
    /// What was refused, as [`Audited::action`].
    pub action: &'static str,
    /// Who it was, as far as known. Refusals are counted by it.
    pub source: &'a str,
    /// What they wanted, such as `POST /accounts`.
    pub about: &'a str,
    /// Why they were refused, for people.
    pub why: &'a str,
}

impl Refused<'_> {
    /// Keep it. The host bounds how many of a source have entries of their own. Texts that are too long are cut.
    pub fn write(&self) {
        let source = if self.source.is_empty() {
            "unknown"
        } else {
            self.source
        };
        host::write_refusal(&host::Refusal {
            action: self.action.to_owned(),
            source: cut(source, ABOUT_BYTES_MAX).to_owned(),
            about: cut(self.about, ABOUT_BYTES_MAX).to_owned(),
            note: cut(self.why, NOTE_BYTES_MAX).to_owned(),
        });
    }
}

/// Details as JSON, or their length if they are too long.
fn fitting(details: &Value) -> String {
    let text = details.to_string();
    match text.len() {
        ..=DETAILS_BYTES_MAX => text,
        length => json!({ "leftOutBytes": length }).to_string(),
    }
}

/// The beginning of a text, ending between characters.
#[must_use]
pub fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_fit_or_tell_their_length() {
        // A text in JSON has two quotes more.
        let fits = Value::from("x".repeat(DETAILS_BYTES_MAX - 2));
        assert_eq!(fitting(&fits), fits.to_string());
        let long = Value::from("x".repeat(DETAILS_BYTES_MAX - 1));
        assert_eq!(fitting(&long), r#"{"leftOutBytes":8193}"#);
    }
}
