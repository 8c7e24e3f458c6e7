//! The transfer document, and the states of a transfer.
//!
//! | State | Event | Next state | Publishes | Who is told |
//! |---|---|---|---|---|
//! | RECEIVED | all checks pass, the payer's funds are reserved | PREPARED | `transfer-prepared` | payee FSP: POST |
//! | RECEIVED | it has expired on arrival | REJECTED | `transfer-prepare-request-timedout` | payer FSP: error |
//! | RECEIVED | a check refuses it, liquidity included | FAILED | `transfer-prepare-…-check-failed` | payer FSP: error |
//! | PREPARED | the payee FSP commits | COMMITTED | `transfer-committed-fulfiled` | payer FSP: PUT |
//! | PREPARED | the payee FSP commits and asks for a notice | RESERVED, then COMMITTED | `transfer-committed-fulfiled` | payer FSP: PUT; payee FSP: PATCH |
//! | PREPARED | the fulfilment is refused | REJECTED | `transfer-reject-request-processed` | both FSPs: error |
//! | PREPARED | the payee FSP declines | REJECTED | `transfer-reject-request-processed` | payer FSP: error |
//! | PREPARED | the request never left the hub | REJECTED | `transfer-reject-request-processed` | payer FSP: error |
//! | PREPARED | the expiry reminder elapses, or a commitment arrives late | REJECTED | `transfer-fulfil-comit-request-timedout` | both FSPs: error |
//! | PREPARED | two operators end it | REJECTED | as of the expiry, or as of a request that never left | as there |
//!
//! COMMITTED, REJECTED and FAILED are final. RECEIVED and RESERVED end in the turn that enters them; only the
//! history shows them. An FSP that waits for a PATCH gets its error by PATCH.
//!
//! These events change no state:
//!
//! | State | Event | Who is told |
//! |---|---|---|
//! | PREPARED | the same request again | nobody: the callback comes |
//! | final | the same request again | payer FSP: the state |
//! | any | another request with the same id | its sender: error 3106 |
//! | COMMITTED, or REJECTED after a commitment | the same commitment again | payee FSP: the outcome |
//! | REJECTED as expired | a commitment or a refusal | payee FSP: the expiry |
//! | final | another commitment or refusal | its sender: error 3106 or 3100 |
//! | COMMITTED | the expiry reminder elapses | nobody: the transfer notes it once |

use crate::bindings::exports::rialto::settlements::transfer_prepare_accounts_allocated as allocated;
use crate::bindings::rialto::accounts_and_balances::types::{self as ledger, SettlementTiming};
use crate::bindings::rialto::transfers::types::{FulfilMode, TransferState};
use crate::counters::Place;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Money};
use rialto_sdk::deliveries::DeliveryDocument;
use rialto_sdk::messages::ErrorDocument;
use rialto_sdk::money::{document, minor_units};
use serde::{Deserialize, Serialize};

/// Where a transfer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// The request is here; nothing is decided.
    Received,
    /// The payer's funds are reserved; the payee FSP is asked.
    Prepared,
    /// The payee FSP has committed and waits to be told.
    Reserved,
    /// The funds are the payee's; final.
    Committed,
    /// The payee FSP, the scheme or the clock ended it; final.
    Rejected,
    /// It was refused before funds were reserved; final.
    Failed,
}

impl State {
    /// Whether the state is final.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Committed | Self::Rejected | Self::Failed)
    }

    /// Whether `next` may follow.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (
                Self::Received,
                Self::Prepared | Self::Rejected | Self::Failed
            ) | (
                Self::Prepared,
                Self::Reserved | Self::Committed | Self::Rejected
            ) | (Self::Reserved, Self::Committed | Self::Rejected)
        )
    }

    /// The name in documents and for operators.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "RECEIVED",
            Self::Prepared => "PREPARED",
            Self::Reserved => "RESERVED",
            Self::Committed => "COMMITTED",
            Self::Rejected => "REJECTED",
            Self::Failed => "FAILED",
        }
    }

    /// The state as FSPIOP names it.
    #[must_use]
    pub const fn external(self) -> TransferState {
        match self {
            Self::Received => TransferState::Received,
            Self::Prepared | Self::Reserved => TransferState::Reserved,
            Self::Committed => TransferState::Committed,
            Self::Rejected | Self::Failed => TransferState::Aborted,
        }
    }
}

/// What ended a rejected transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RejectionKind {
    /// It expired.
    TimedOut,
    /// The payee FSP declined.
    DeclinedByPayee,
    /// The scheme refused the payee FSP's fulfilment.
    FulfilmentRefused,
    /// Its request never left the hub for the payee FSP.
    NeverSent,
}

/// The operators who had a transfer ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndedBy {
    /// Who asked for it.
    pub maker: String,
    /// Who approved it.
    pub checker: String,
    /// Why, in the maker's words.
    pub reason: String,
}

/// How the payee FSP committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Mode {
    /// It considers the transfer done.
    Committed,
    /// It wants to be told when the transfer is done.
    Reserved,
}

impl From<FulfilMode> for Mode {
    fn from(mode: FulfilMode) -> Self {
        match mode {
            FulfilMode::Committed => Self::Committed,
            FulfilMode::Reserved => Self::Reserved,
        }
    }
}

/// The ledger accounts of one participant of a transfer, by their ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Accounts {
    /// The one to debit.
    pub debit: String,
    /// The one to credit.
    pub credit: String,
}

impl From<allocated::ParticipantAccounts> for Accounts {
    fn from(accounts: allocated::ParticipantAccounts) -> Self {
        Self {
            debit: accounts.debit,
            credit: accounts.credit,
        }
    }
}

/// The accounts of settled funds of the payer that are held while a transfer is under way, by their ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettlementHold {
    /// The payer's settlement account.
    pub settlement: String,
    /// The account where the funds are held.
    pub reserved: String,
}

/// When a transfer is settled, as Settlements decided at its prepare.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Timing {
    /// With others, in a batch.
    #[default]
    Deferred,
    /// By itself, right after its commit; with the hold until then.
    Immediate(Option<SettlementHold>),
}

impl Timing {
    /// Whether it is settled in a batch. Documents leave this value out.
    #[must_use]
    pub fn is_deferred(&self) -> bool {
        *self == Self::Deferred
    }
}

impl From<SettlementTiming> for Timing {
    fn from(timing: SettlementTiming) -> Self {
        match timing {
            SettlementTiming::Deferred => Self::Deferred,
            SettlementTiming::Immediate(hold) => Self::Immediate(hold.map(|hold| SettlementHold {
                settlement: hold.settlement,
                reserved: hold.reserved,
            })),
        }
    }
}

impl From<Timing> for SettlementTiming {
    fn from(timing: Timing) -> Self {
        match timing {
            Timing::Deferred => Self::Deferred,
            Timing::Immediate(hold) => Self::Immediate(hold.map(|hold| ledger::SettlementHold {
                settlement: hold.settlement,
                reserved: hold.reserved,
            })),
        }
    }
}

/// Under which rules a quote was agreed. They judge its transfer until it expires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgreedRules {
    /// The release.
    pub release: u64,
    /// When: UTC, milliseconds since 1970.
    pub at: u64,
}

/// When a transfer entered a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// The state.
    pub state: State,
    /// UTC, milliseconds since 1970.
    pub at: u64,
}

/// A document of the collection `transfers`: all that is known of one transfer. The ILP packet is
/// not kept: it is opaque to the scheme, its quote has it, and the request's hash pins it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transfer {
    /// The payer FSP's id for it, unique in the scheme; the document's id.
    pub transfer_id: String,
    /// Who pays.
    pub payer_fsp: String,
    /// Who is paid.
    pub payee_fsp: String,
    /// How much.
    #[serde(with = "document")]
    pub amount: Money,
    /// 43 characters of base64url.
    pub condition: String,
    /// UTC, milliseconds since 1970.
    pub expiration: u64,
    /// SHA-256 of the request's canonical JSON.
    pub request_hash: String,
    /// The version for messages to the payer FSP, such as `1.0`, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer_version: Option<String>,
    /// How it is settled.
    pub settlement_model: String,
    /// When it is settled.
    #[serde(default, skip_serializing_if = "Timing::is_deferred")]
    pub settlement: Timing,
    /// The payer's ledger accounts, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer_accounts: Option<Accounts>,
    /// The payee's ledger accounts, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payee_accounts: Option<Accounts>,
    /// Under which rules its quote was agreed, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreed: Option<AgreedRules>,
    /// Where it is.
    pub state: State,
    /// The states that it entered.
    pub history: Vec<Step>,
    /// How the payee FSP committed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// SHA-256 of the canonical JSON of the payee FSP's commitment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fulfil_hash: Option<String>,
    /// The payee FSP's fulfilment, once it is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fulfilment: Option<String>,
    /// When the payee FSP completed it, or else when it was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_timestamp: Option<u64>,
    /// What ended it, if it is rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<RejectionKind>,
    /// Why it is rejected or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ErrorDocument>,
    /// The operators who ended it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<EndedBy>,
    /// Where it is counted while it may still end without money moved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<Place>,
    /// When a timeout was rejected because the transfer was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_commit_timeout: Option<u64>,
    /// Outcomes of messages about it, the latest last.
    #[serde(default)]
    pub deliveries: Vec<DeliveryDocument>,
    /// The archive that has the whole transfer. This document then has only what repeats and queries need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<String>,
}

impl Transfer {
    /// The transfer of a request that has just arrived.
    #[must_use]
    pub fn received(event: &allocated::Event, now: u64) -> Self {
        Self {
            transfer_id: event.transfer_id.clone(),
            payer_fsp: event.payer_fsp.clone(),
            payee_fsp: event.payee_fsp.clone(),
            amount: event.amount.clone(),
            condition: event.condition.clone(),
            expiration: event.expiration,
            request_hash: event.request_hash.clone(),
            payer_version: event.answer_version.clone(),
            settlement_model: event.settlement_model.clone(),
            settlement: event.settlement.clone().into(),
            agreed: None,
            payer_accounts: event.payer_accounts.clone().map(Accounts::from),
            payee_accounts: event.payee_accounts.clone().map(Accounts::from),
            state: State::Received,
            history: vec![Step {
                state: State::Received,
                at: now,
            }],
            mode: None,
            fulfil_hash: None,
            fulfilment: None,
            completed_timestamp: None,
            rejection: None,
            reason: None,
            ended_by: None,
            counted: Vec::new(),
            post_commit_timeout: None,
            deliveries: Vec::new(),
            archived: None,
        }
    }

    /// Enters another state.
    ///
    /// # Panics
    /// If the state may not follow: a bug of this component; participants cannot cause it.
    pub fn enter(&mut self, state: State, now: u64) {
        assert!(
            self.state.may_become(state),
            "transfer {} cannot go from {:?} to {state:?}",
            self.transfer_id,
            self.state
        );
        let last = self.history.last().map(|step| step.state);
        assert!(
            last == Some(self.state),
            "transfer {} is {:?} and came there by {last:?}",
            self.transfer_id,
            self.state
        );
        self.state = state;
        self.history.push(Step { state, at: now });
    }

    /// Checks the invariants of the document. To be called before each write.
    ///
    /// # Panics
    /// If one is broken: a bug of this component; participants cannot cause it.
    pub fn assert_whole(&self) {
        let (id, state) = (&self.transfer_id, self.state);
        assert!(
            !matches!(state, State::Received | State::Reserved),
            "transfer {id} is to be kept as {state:?}, which lasts no longer than a turn"
        );
        let last = self.history.last().map(|step| step.state);
        assert!(
            last == Some(state),
            "transfer {id} is {state:?} and came there by {last:?}"
        );
        let is_committed = state == State::Committed;
        assert!(
            self.fulfilment.is_some() == is_committed
                && self.completed_timestamp.is_some() == is_committed,
            "transfer {id} is {state:?}, was completed at {:?}, and its fulfilment is there: {}",
            self.completed_timestamp,
            self.fulfilment.is_some()
        );
        assert!(
            self.rejection.is_some() == (state == State::Rejected),
            "transfer {id} is {state:?} with the rejection {:?}",
            self.rejection
        );
        assert!(
            self.reason.is_some() == matches!(state, State::Rejected | State::Failed),
            "transfer {id} is {state:?} with the reason {:?}",
            self.reason
        );
        assert!(
            self.ended_by.is_none() || state == State::Rejected,
            "transfer {id} is {state:?} and was ended by {:?}",
            self.ended_by
        );
        assert!(
            self.mode.is_some() == self.fulfil_hash.is_some(),
            "transfer {id} has the commitment {:?} with the hash {:?}",
            self.mode,
            self.fulfil_hash
        );
        assert!(
            is_committed || self.post_commit_timeout.is_none(),
            "transfer {id} is {state:?} and expired after its commit at {:?}",
            self.post_commit_timeout
        );
        if matches!(state, State::Prepared | State::Committed) {
            self.assert_reserved();
        }
    }

    /// Checks that its amount can have been reserved and can be paid.
    fn assert_reserved(&self) {
        let id = &self.transfer_id;
        assert!(
            self.payer_fsp != self.payee_fsp,
            "transfer {id} is from {} to itself",
            self.payer_fsp
        );
        assert!(
            minor_units(&self.amount) > 0,
            "transfer {id} is of nothing in {}",
            self.amount.currency
        );
        let has_accounts = self.payer_accounts.is_some() && self.payee_accounts.is_some();
        assert!(
            has_accounts != self.archived.is_some(),
            "transfer {id} has the accounts {:?} and {:?}",
            self.payer_accounts,
            self.payee_accounts
        );
    }

    /// Ends it as rejected.
    pub fn reject(&mut self, kind: RejectionKind, reason: &ErrorInformation, now: u64) {
        self.enter(State::Rejected, now);
        self.rejection = Some(kind);
        self.reason = Some(ErrorDocument::from(reason));
    }

    /// Ends it as failed.
    pub fn fail(&mut self, reason: &ErrorInformation, now: u64) {
        self.enter(State::Failed, now);
        self.reason = Some(ErrorDocument::from(reason));
    }

    /// When it ended: as the payee FSP said, or else when it entered its final state. None before its end.
    #[must_use]
    pub fn ended_at(&self) -> Option<u64> {
        let entered = self.history.last().map(|step| step.at);
        let ended = self.completed_timestamp.or(entered);
        ended.filter(|_| self.state.is_final())
    }

    /// Whether it has expired.
    #[must_use]
    pub const fn is_expired(&self, now: u64) -> bool {
        now >= self.expiration
    }

    /// Whether a message of the payee FSP with this destination may be forwarded to the payer FSP.
    #[must_use]
    pub fn may_go_to_payer(&self, destination: Option<&str>) -> bool {
        destination.is_none_or(|destination| destination == self.payer_fsp)
    }

    /// Whether this FSP is one of its two.
    #[must_use]
    pub fn is_party(&self, fsp: &str) -> bool {
        fsp == self.payer_fsp || fsp == self.payee_fsp
    }
}
