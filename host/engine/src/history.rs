//! What happened, turn by turn: the record from which `rialto events` tells the story of a
//! payment. Written with the group that holds the turn, so the story and the state agree.

use serde::{Deserialize, Serialize};

use crate::ids::{Name, TurnId};
use crate::time::Timestamp;

/// What started a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A request from outside.
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
    /// Asked for a verdict.
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
    /// Sent a request to the outside.
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
    /// What the outside answered to a request.
    Reported {
        /// The request's id.
        id: u64,
        /// `200 after 1 attempt`, `unreachable after 8 attempts: …`.
        outcome: String,
    },
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ended {
    /// Executed.
    Executed,
    /// Failed for this reason; nothing of it remains, it will be tried again.
    Failed(String),
    /// Failed for the last time; parked as a dead letter.
    Parked(String),
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The turn.
    pub turn: TurnId,
    /// The turn that caused it; none for what came from outside.
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
    pub trace: u128,
    /// What it was about.
    pub subjects: Vec<Name>,
    /// What it did, in order.
    pub steps: Vec<Step>,
    /// How it ended.
    pub ended: Ended,
}
