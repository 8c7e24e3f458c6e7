//! Converts messages between protobuf's bytes and the host's JSON of component values: records are objects with their
//! WIT names, enums and cases without payload are strings, cases with one are objects of one member, options are the
//! value or null (an option of an option is `{"some": …}` or null), results are `{"ok": …}` or `{"err": …}`. The
//! component's own type checks a decoded value once more.
//!
//! The wire form is read as protobuf's specification says: fields in any order, unknown ones skipped, numbers packed or
//! not, the last of several wins, messages are merged. One thing is stricter: missing values and values out of range are
//! refused, not replaced. An empty id counts as missing.

mod decode;
mod encode;
pub(crate) mod wire;

pub use decode::{room, room_per_byte};

use std::collections::HashMap;
use std::fmt;

use crate::model::{Enum, File, Form, Kind, Message};

/// The deepest nesting of messages.
const DEPTH_MAX: usize = 64;

/// Reads and writes the messages of some files.
#[derive(Clone, Debug)]
pub struct Codec {
    messages: HashMap<String, Message>,
    enums: HashMap<String, Enum>,
}

/// A value that does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", if at.is_empty() { "the message" } else { at })]
pub struct TypeMismatch {
    /// The fields' names, with dots between them.
    pub at: String,
    /// What is wrong.
    pub message: String,
}

impl Codec {
    /// For the messages of numbered files.
    #[must_use]
    pub fn new(files: &[File]) -> Self {
        let mut codec = Self {
            messages: HashMap::new(),
            enums: HashMap::new(),
        };
        for file in files {
            let full = |name: &str| format!("{}.{name}", file.package);
            let messages = file.messages.iter();
            let messages = messages.map(|message| (full(&message.name), message.clone()));
            codec.messages.extend(messages);
            let enums = file.enums.iter();
            codec
                .enums
                .extend(enums.map(|found| (full(&found.name), found.clone())));
        }
        codec
    }

    pub(crate) fn message(&self, name: &str) -> Result<&Message, TypeMismatch> {
        let found = self.messages.get(name);
        found.ok_or_else(|| misfit(format!("`{name}` is not a message that is known here")))
    }

    fn enumeration(&self, name: &str) -> Result<&Enum, TypeMismatch> {
        let found = self.enums.get(name);
        found.ok_or_else(|| misfit(format!("`{name}` is not an enum that is known here")))
    }

    /// Whether a value of this kind may be null by itself, so that its being there must be said.
    fn may_be_null(&self, kind: &Kind) -> bool {
        let Kind::Message(name) = kind else {
            return false;
        };
        let found = self.messages.get(name);
        found.is_some_and(|message| message.form == Form::Option)
    }
}

pub(crate) fn misfit(message: impl Into<String>) -> TypeMismatch {
    TypeMismatch {
        at: String::new(),
        message: message.into(),
    }
}

fn within<T>(step: impl fmt::Display, result: Result<T, TypeMismatch>) -> Result<T, TypeMismatch> {
    result.map_err(|misfit| TypeMismatch {
        at: match misfit.at.as_str() {
            "" => step.to_string(),
            at => format!("{step}.{at}"),
        },
        message: misfit.message,
    })
}
