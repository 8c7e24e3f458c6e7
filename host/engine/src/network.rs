//! Outbound HTTP as the engine sees it: requests that are durable before they are sent, and the reports of
//! their outcomes.

use std::any::Any;

use serde::{Deserialize, Serialize};

use crate::ids::Name;
use crate::stimulus::LivePayload;
use crate::time::Timestamp;

/// How a request is retried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryPolicy {
    /// Attempts in all; [`Self::NOT_ALLOWED`] if the sender may not send there.
    pub attempts_max: u32,
    /// Milliseconds that one attempt may take.
    pub attempt_timeout_ms: u32,
    /// No attempt begins after this instant.
    pub deadline: Timestamp,
    /// Milliseconds of pause after the first failure; doubles, with jitter.
    pub backoff_initial_ms: u32,
    /// The longest pause, in milliseconds.
    pub backoff_max_ms: u32,
    /// What to do while the circuit to the destination is open.
    #[serde(default)]
    pub while_away: WhileAway,
}

impl DeliveryPolicy {
    /// The value of `attempts_max` for a destination that the sender is not granted. The report says so.
    pub const NOT_ALLOWED: u32 = 0;
}

/// What happens to a request while the circuit to its destination is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WhileAway {
    /// It waits until the circuit closes, or until its deadline. Waiting is not an attempt.
    #[default]
    Wait,
    /// It fails at once, because the report is waited for.
    GiveUp,
}

/// A signature of a request's body by the host's own key. The network has it made after the turn is on disk and
/// before the first attempt, so that no turn waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnSignature {
    /// The name of the header that has it, in lower case.
    pub header: String,
    /// The members of its protected header, a JSON object without `alg`.
    pub members: String,
}

/// An outbound request, staged by a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutboundRequest {
    /// Unique in the life of a store.
    pub id: u64,
    /// The component that sent it and gets the report.
    pub component: Name,
    /// An upper-case HTTP method.
    pub method: String,
    /// An absolute URL.
    pub url: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// UTF-8.
    pub body: Option<String>,
    /// The host's signature, if it is to sign.
    #[serde(default)]
    pub signature: Option<OwnSignature>,
    /// How hard to try.
    pub policy: DeliveryPolicy,
    /// Opaque; comes back with the report.
    pub correlation: String,
    /// W3C trace context, `traceparent` form, of the turn that sent it.
    pub traceparent: String,
    /// What the sending turn was about, for the history of the report's turn.
    pub subjects: Vec<Name>,
}

/// The answer of a destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutboundResponse {
    /// HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body's beginning.
    pub body: String,
}

/// Why a request was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The URL is unusable or its origin is not granted, or the host does not sign for the sender.
    NotAllowed,
    /// No connection could be made.
    Unreachable,
    /// No answer in time.
    TimedOut,
    /// Another answer than 2xx.
    Refused,
    /// The connection broke.
    Broken,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// A 2xx answer.
    Delivered(OutboundResponse),
    /// Given up.
    Failed {
        /// Why.
        kind: FailureKind,
        /// A sentence.
        reason: String,
        /// The last answer, if there was one.
        response: Option<OutboundResponse>,
    },
}

/// The outcome of a request, for the component that staged it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The request's id.
    pub id: u64,
    /// The request's correlation.
    pub correlation: String,
    /// Attempts made.
    pub attempts: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// The request's own span, if it has one: the parent of the report's turn.
    #[serde(skip)]
    pub span: Option<u64>,
}

impl Report {
    /// For the history: how it ended, in a few words.
    pub fn summary(&self) -> String {
        let attempts = self.attempts;
        let plural = if attempts == 1 { "attempt" } else { "attempts" };
        match &self.outcome {
            Outcome::Delivered(response) => {
                format!("{} after {attempts} {plural}", response.status)
            }
            Outcome::Failed { reason, .. } => {
                format!("not delivered after {attempts} {plural}: {reason}")
            }
        }
    }
}

impl LivePayload for Report {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Sends outbound requests.
pub trait Network: Send + Sync + 'static {
    /// Send a request that is on disk. Calls `done` once, from any thread, when the request has ended. Must
    /// not block.
    fn send(&self, request: std::sync::Arc<OutboundRequest>, done: Box<dyn FnOnce(Report) + Send>);
}
