//! Requests of operators as data: what is asked for, by whom, and its state.
//!
//! | State | Event | Next state | Who is told |
//! |---|---|---|---|
//! | none | a maker asks | PENDING | all checkers |
//! | none | a maker asks, and the settings approve this kind by themselves | APPROVED or CHECKING | the maker, of APPROVED |
//! | PENDING | another operator approves, and an endpoint has to be tried first | CHECKING | nobody |
//! | PENDING | another operator approves | APPROVED | the maker; other contexts, by the change's events |
//! | PENDING | another operator rejects | REJECTED | the maker |
//! | CHECKING | the endpoint answers with a status below 500 | APPROVED | the maker; other contexts, by the change's events |
//! | CHECKING | the endpoint does not, or the participant has changed | FAILED | the maker and the checker |
//!
//! APPROVED, REJECTED and FAILED are final. Operators are told by `approval-notification`.
//!
//! `pending` lists PENDING requests in the order of time. `open-requests` keeps out a second request about the
//! same while one is PENDING or CHECKING.

use crate::kinds::Asked;
use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::documents::{Collection, Store, known};
use rialto_sdk::operators::version;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Requests by id.
pub const REQUESTS: Collection<Request> = Collection::new("requests").of_lenient_documents();
/// The same as raw JSON: a newer release may have added members.
const WRITTEN: Collection<Value> = Collection::new("requests");
/// Waiting requests, by kind and time.
pub const PENDING: Collection<Pending> = Collection::new("pending");
/// Open requests, by their target.
pub const OPEN: Collection<Open> = Collection::new("open-requests");

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A new participant.
    Participant,
    /// A deposit or a withdrawal.
    Funds,
    /// Liquidity set aside.
    LiquidityCover,
    /// Whether the participant may transact.
    State,
    /// An account in one more currency.
    Account,
    /// Whether an account takes transfers.
    AccountStatus,
    /// An account's net debit cap.
    AccountLimit,
    /// An account's warning threshold.
    AccountThreshold,
    /// The participant's endpoints.
    Endpoints,
    /// The addresses from which the participant may send.
    SourceAddresses,
    /// A client certificate.
    Certificate,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Participant,
        Self::Funds,
        Self::LiquidityCover,
        Self::State,
        Self::Account,
        Self::AccountStatus,
        Self::AccountLimit,
        Self::AccountThreshold,
        Self::Endpoints,
        Self::SourceAddresses,
        Self::Certificate,
    ];

    /// Its name in documents, settings and notices.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Participant => "participant",
            Self::Funds => "funds",
            Self::LiquidityCover => "liquidity-cover",
            Self::State => "state",
            Self::Account => "account",
            Self::AccountStatus => "account-status",
            Self::AccountLimit => "account-limit",
            Self::AccountThreshold => "account-threshold",
            Self::Endpoints => "endpoints",
            Self::SourceAddresses => "source-addresses",
            Self::Certificate => "certificate",
        }
    }
}

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum State {
    /// Waits for a checker.
    Pending,
    /// Was approved; an endpoint is being tried.
    Checking,
    /// Was approved and has taken effect.
    Approved,
    /// Was rejected, without effect.
    Rejected,
    /// Was approved, but could not take effect.
    Failed,
}

impl State {
    /// Its name in documents and notices.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Checking => "CHECKING",
            Self::Approved => "APPROVED",
            Self::Rejected => "REJECTED",
            Self::Failed => "FAILED",
        }
    }
}

/// A document of the collection `requests`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// UUID.
    pub id: String,
    /// `kind` and `payload`.
    #[serde(flatten, deserialize_with = "known")]
    pub asked: Asked,
    /// Of whom.
    pub participant: String,
    /// The part of the participant; empty if there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Its value at the time of the request.
    pub based_on: Value,
    /// Its state.
    pub state: State,
    /// Why, in the maker's words.
    pub reason: String,
    /// The requester.
    pub maker: String,
    /// When; UTC, milliseconds since 1970.
    pub made_at: u64,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checker: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u64>,
    /// The checker's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Counts each write.
    pub version: u64,
}

/// A document of the collection `pending`: the values for filters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pending {
    /// Of whom.
    pub participant: String,
    /// The requester.
    pub maker: String,
    /// When; UTC, milliseconds since 1970.
    pub made_at: u64,
    /// The request.
    pub request: String,
}

/// A document of the collection `open-requests`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Open {
    /// The request.
    pub request: String,
}

impl Request {
    fn pending_id(&self) -> String {
        let kind = self.asked.kind().name();
        format!("{kind}/{:013}/{}", self.made_at, self.id)
    }

    /// The entity tag of its version.
    #[must_use]
    pub fn tag(&self) -> String {
        version::tag_of('r', self.version)
    }

    /// The part of it for the history, which protects it from tampering: payload, reason, note and failure.
    #[must_use]
    pub fn told(&self, store: &mut (impl Store + ?Sized)) -> Value {
        let asked = serde_json::to_value(&self.asked).unwrap_or_default();
        let known = REQUESTS.within(store).get(&self.id);
        let written = known
            .filter(|known| known.asked == self.asked)
            .and_then(|_| WRITTEN.within(store).get(&self.id));
        let payload = &written.as_ref().unwrap_or(&asked)["payload"];
        let mut told = json!({ "payload": payload, "reason": self.reason });
        for (name, words) in [("note", &self.note), ("failure", &self.failure)] {
            if let Some(words) = words {
                told[name] = json!(words);
            }
        }
        told
    }

    fn open_id(&self) -> String {
        open_id(&self.participant, self.asked.kind(), &self.target)
    }

    /// Stores a new request, which waits for a checker.
    pub fn submit(&self, store: &mut (impl Store + ?Sized)) {
        REQUESTS.within(store).put(&self.id, self);
        PENDING.within(store).put(
            &self.pending_id(),
            &Pending {
                participant: self.participant.clone(),
                maker: self.maker.clone(),
                made_at: self.made_at,
                request: self.id.clone(),
            },
        );
        let open = Open {
            request: self.id.clone(),
        };
        OPEN.within(store).put(&self.open_id(), &open);
    }

    /// Stores its new state.
    pub fn stand(&mut self, store: &mut (impl Store + ?Sized), state: State) {
        self.state = state;
        self.version += 1;
        REQUESTS.within(store).put(&self.id, self);
        PENDING.within(store).delete(&self.pending_id());
        if state == State::Checking {
            // A request in CHECKING is open too, even if it was approved automatically.
            let open = Open {
                request: self.id.clone(),
            };
            OPEN.within(store).put(&self.open_id(), &open);
        } else {
            OPEN.within(store).delete(&self.open_id());
        }
    }
}

/// The id of the open request about a target. Long targets are replaced by their hash.
#[must_use]
pub fn open_id(participant: &str, kind: Kind, target: &str) -> String {
    format!(
        "{participant}/{}/{}",
        kind.name(),
        sha256_hex(target.as_bytes())
    )
}
