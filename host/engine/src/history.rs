//! The history: a record of each turn. `rialto events` shows the records of a payment. A record is written
//! in the same group as its turn, so history and state agree.

use data_encoding::BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{Name, TurnId};
use crate::messages::Message;
use crate::time::Timestamp;

/// What started a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A request of a client.
    Request,
    /// An event that another turn published.
    Event,
    /// A reminder that came due.
    Reminder,
    /// The report of an outbound request.
    Report,
    /// A release that became current.
    Activation,
}

/// Something that a turn did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Called another component, in the same turn.
    Called {
        /// The component that answered.
        component: Name,
        /// Interface and function.
        function: Name,
        /// Microseconds.
        took_us: u32,
    },
    /// Published an event.
    Published {
        /// Interface and function.
        event: Name,
        /// The subscribers.
        to: Vec<Name>,
    },
    /// Asked a rule for a verdict.
    Judged {
        /// The step of the scheme.
        step: Name,
        /// The rule.
        rule: Name,
        /// `allow`, `refuse 4200`, …
        verdict: String,
        /// Microseconds.
        took_us: u32,
    },
    /// Sent an outbound request.
    Sent {
        /// The request's id.
        id: u64,
        /// Method and URL.
        request: String,
    },
    /// Set a reminder.
    Reminded {
        /// The reminder's id.
        id: String,
        /// When.
        due: Timestamp,
    },
    /// Wrote or removed a document.
    Wrote {
        /// Component, collection and id, with slashes.
        document: String,
    },
    /// Answered the request.
    Answered {
        /// HTTP status.
        status: u16,
    },
    /// The answer to an outbound request.
    Reported {
        /// The request's id.
        id: u64,
        /// `200 after 1 attempt`, `unreachable after 8 attempts: …`.
        outcome: String,
    },
    /// Answered an external call.
    Replied {
        /// The word of the refusal, if it was one: `exceeds-limits`.
        refused: Option<String>,
    },
    /// The parts of the record that may name people, encrypted ([`crate::personal_data`]). It is the last step.
    Sealed {
        /// How many steps are in it.
        steps: u32,
        /// The ciphertext; empty if it was taken away.
        content: Ciphertext,
    },
    /// A message of the turn, where the operator has the history keep messages ([`crate::messages`]).
    Message(Box<Message>),
}

/// Encrypted bytes. In JSON they are base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ciphertext(pub Vec<u8>);

impl Serialize for Ciphertext {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&BASE64.encode(&self.0))
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Ciphertext {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return <&[u8]>::deserialize(deserializer).map(|bytes| Self(bytes.to_vec()));
        }
        let text = String::deserialize(deserializer)?;
        let bytes = BASE64.decode(text.as_bytes());
        bytes.map(Self).map_err(D::Error::custom)
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ended {
    /// Executed.
    Executed,
    /// Failed for this reason, without effect; it is retried.
    Failed(String),
    /// Failed for the last time; it is a dead letter.
    Parked(String),
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The turn.
    pub turn: TurnId,
    /// The turn that caused it; none for a client's request.
    pub cause: Option<TurnId>,
    /// When it began.
    pub at: Timestamp,
    /// Microseconds from beginning to end.
    pub took_us: u32,
    /// The number of the release that it ran on.
    pub release: u64,
    /// What started it.
    pub kind: Kind,
    /// The component that ran it.
    pub component: Name,
    /// What ran: interface and function, or method and path.
    pub function: Name,
    /// W3C trace id.
    #[serde(with = "trace_id")]
    pub trace: u128,
    /// What it was about.
    pub subjects: Vec<Name>,
    /// What it did, in order.
    pub steps: Vec<Step>,
    /// How it ended.
    pub ended: Ended,
}

/// A trace id: 32 hexadecimal digits in readable formats, because JSON numbers do not have 128 bits; the
/// number in binary ones.
mod trace_id {
    use serde::de::{Deserialize, Deserializer, Error, Unexpected};
    use serde::ser::Serializer;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    pub(super) fn serialize<S: Serializer>(id: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(&format_args!("{id:032x}"))
        } else {
            serializer.serialize_u128(*id)
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<u128, D::Error> {
        if !deserializer.is_human_readable() {
            return u128::deserialize(deserializer);
        }
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let id = digits
            .then(|| u128::from_str_radix(&text, 16).ok())
            .flatten();
        id.ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &"32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn record(trace: u128) -> Record {
        Record {
            turn: TurnId(7),
            cause: None,
            at: Timestamp(1),
            took_us: 2,
            release: 3,
            kind: Kind::Request,
            component: "api".into(),
            function: "POST /".into(),
            trace,
            subjects: vec!["a:1".into()],
            steps: vec![Step::Answered { status: 202 }],
            ended: Ended::Executed,
        }
    }

    #[test]
    fn a_trace_id_is_the_same_again_from_every_format() {
        for trace in [0, 1, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, u128::MAX] {
            let record = record(trace);
            let text = serde_json::to_string(&record).unwrap();
            assert!(
                text.contains(&format!("\"trace\":\"{trace:032x}\"")),
                "{text}"
            );
            assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
            let value = serde_json::to_value(&record).unwrap();
            assert_eq!(serde_json::from_value::<Record>(value).unwrap(), record);
            let bytes = postcard::to_stdvec(&record).unwrap();
            assert_eq!(postcard::from_bytes::<Record>(&bytes).unwrap(), record);
        }
    }

    #[test]
    fn what_is_no_trace_id_is_refused() {
        let text = serde_json::to_string(&record(1)).unwrap();
        let id = format!("{:032x}", 1);
        for wrong in ["1", "", "+000000000000000000000000000000f", &"g".repeat(32)] {
            let changed = text.replace(&id, wrong);
            assert!(serde_json::from_str::<Record>(&changed).is_err(), "{wrong}");
        }
    }
}
