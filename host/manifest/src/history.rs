//! The table `[history]` of the operator's document: what the history of turns has beside what happened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::Size;

/// What the history of turns keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct History {
    /// Whether the history keeps messages, with headers and bodies: what participants send and are answered, and what components send to them and are answered. They are archived with `keep.history`. Headers with secrets, such as `Authorization` and cookies, and requests of operators are never kept. With [personal-data], only turns that name people keep bodies, encrypted. False by default: a payment has about 25 KiB more on disk with them.
    pub messages: bool,
    /// The most that is kept of each message: of its headers, and then of its body.
    pub message_max: Size,
}

impl Default for History {
    fn default() -> Self {
        Self {
            messages: false,
            message_max: Size::from_kib(64),
        }
    }
}

impl History {
    /// The bytes of each message that are kept; 0 if none are.
    #[must_use]
    pub const fn message_bytes(&self) -> u64 {
        if self.messages {
            self.message_max.bytes()
        } else {
            0
        }
    }
}
