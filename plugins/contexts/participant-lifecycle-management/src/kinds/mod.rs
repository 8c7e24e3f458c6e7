//! The kinds of requests: for each its payload, its checks, and its effect.
//!
//! Roles, duplicates, history and notices are the same for all kinds: `submit.rs` and `decide.rs`.

pub mod account;
pub mod certificate;
pub mod cover;
pub mod endpoints;
pub mod funds;
pub mod limit;
pub mod participant;
pub mod sources;
pub mod state;
pub mod status;
pub mod threshold;

use crate::bindings::rialto::accounts_and_balances::types::{AccountPosition, LedgerError};
use crate::participants::{self, Account, Participant};
use crate::requests::Kind;
use crate::warnings;
use crate::world::{Event, World};
use rialto_sdk::money::minor_units;
use rialto_sdk::operators::{Amount, Kind as ProblemKind, Problem};
use rialto_sdk::scheme::Scheme;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The payload of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "payload", rename_all = "kebab-case")]
pub enum Asked {
    /// A new participant.
    Participant(participant::NewParticipant),
    /// A deposit or a withdrawal.
    Funds(funds::Funds),
    /// Liquidity set aside.
    LiquidityCover(cover::Cover),
    /// Whether the participant may transact.
    State(state::StateUpdate),
    /// An account in one more currency.
    Account(account::NewAccount),
    /// Whether an account takes transfers.
    AccountStatus(status::StatusUpdate),
    /// An account's net debit cap.
    AccountLimit(limit::LimitUpdate),
    /// An account's warning threshold.
    AccountThreshold(threshold::ThresholdUpdate),
    /// The participant's endpoints.
    Endpoints(endpoints::EndpointsUpdate),
    /// The addresses from which the participant may send.
    SourceAddresses(sources::SourcesUpdate),
    /// A client certificate.
    Certificate(certificate::CertificateOrder),
}

impl Asked {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Participant(_) => Kind::Participant,
            Self::Funds(_) => Kind::Funds,
            Self::LiquidityCover(_) => Kind::LiquidityCover,
            Self::State(_) => Kind::State,
            Self::Account(_) => Kind::Account,
            Self::AccountStatus(_) => Kind::AccountStatus,
            Self::AccountLimit(_) => Kind::AccountLimit,
            Self::AccountThreshold(_) => Kind::AccountThreshold,
            Self::Endpoints(_) => Kind::Endpoints,
            Self::SourceAddresses(_) => Kind::SourceAddresses,
            Self::Certificate(_) => Kind::Certificate,
        }
    }

    /// The change.
    #[must_use]
    pub const fn change(&self) -> &dyn Change {
        match self {
            Self::Participant(asked) => asked,
            Self::Funds(asked) => asked,
            Self::LiquidityCover(asked) => asked,
            Self::State(asked) => asked,
            Self::Account(asked) => asked,
            Self::AccountStatus(asked) => asked,
            Self::AccountLimit(asked) => asked,
            Self::AccountThreshold(asked) => asked,
            Self::Endpoints(asked) => asked,
            Self::SourceAddresses(asked) => asked,
            Self::Certificate(asked) => asked,
        }
    }
}

/// A requested change of a participant.
pub trait Change {
    /// The part of the participant that it changes. A second request about the same part is refused until the
    /// first is decided.
    fn target(&self, _: &Scheme) -> String {
        String::new()
    }

    /// The account that the path of its approval names.
    fn account(&self) -> Option<&str> {
        None
    }

    /// The current value. If it changes before the approval, the request cannot be approved.
    fn based_on(&self, participant: &Participant) -> Value;

    /// Checks that it may be requested and approved. Writes nothing.
    ///
    /// # Errors
    /// Why not.
    fn judge(&self, world: &mut dyn World, participant: &Participant) -> Result<(), Problem>;

    /// Makes the change. Calls the ledger first, so that its refusal changes nothing.
    ///
    /// # Errors
    /// If the ledger refuses.
    fn make(
        &self,
        world: &mut dyn World,
        participant: &mut Participant,
        request: &str,
    ) -> Result<Vec<Event>, Problem>;

    /// Changes the participant at a rejection.
    fn reject(&self, _participant: &mut Participant) {}
}

/// The participant's account in a currency.
///
/// # Errors
/// When it has none.
pub fn account_of<'a>(
    participant: &'a Participant,
    currency: &str,
) -> Result<&'a Account, Problem> {
    let found = participant.account(currency);
    found.ok_or_else(|| unknown_account(&participant.participant, currency))
}

fn unknown_account(participant: &str, currency: &str) -> Problem {
    let detail = format!("{participant} has no account {currency}");
    Problem::new(ProblemKind::AccountUnknown, detail)
}

/// Checks that the participant is approved or disabled.
///
/// # Errors
/// If it waits for approval, or was rejected.
pub fn is_in(participant: &Participant) -> Result<(), Problem> {
    if participant.is_in() {
        return Ok(());
    }
    Err(in_state(participant))
}

/// Checks that the participant may transact.
///
/// # Errors
/// If it may not.
pub fn is_approved(participant: &Participant) -> Result<(), Problem> {
    match participant.state {
        participants::State::Approved => Ok(()),
        _ => Err(in_state(participant)),
    }
}

fn in_state(participant: &Participant) -> Problem {
    let state = participant.state.name();
    let detail = format!(
        "{} is {state}, which does not allow this",
        participant.participant
    );
    Problem::new(ProblemKind::ParticipantState, detail).with("state", state)
}

/// The error of a request without a change.
#[must_use]
pub fn nothing_changes() -> Problem {
    let detail = "all values are already as requested: there is nothing to change";
    Problem::new(ProblemKind::NothingChanges, detail)
}

/// The ledger's refusal as a problem; `short` is the kind for too little liquidity.
///
/// # Panics
/// If the ledger's error does not fit the call: a contradiction between contexts.
#[must_use]
pub fn refused(error: LedgerError, short: ProblemKind) -> Problem {
    let left = |position: &AccountPosition| {
        let left = Amount::from(&position.available);
        let detail = format!("only {} {} are left", left.amount, left.currency);
        (detail, serde_json::json!(left))
    };
    match error {
        LedgerError::UnknownAccount(id) => Problem::new(
            ProblemKind::AccountUnknown,
            format!("the ledger has no account {id}"),
        ),
        LedgerError::AccountDisabled(id) => {
            let detail = format!("the account {id} is disabled");
            Problem::new(ProblemKind::AccountDisabled, detail)
        }
        LedgerError::AccountClosed(id) => {
            let detail = format!("the account {id} is closed");
            Problem::new(ProblemKind::AccountClosed, detail)
        }
        LedgerError::ExceedsLimits(position) | LedgerError::ExceedsNetDebitCap(position) => {
            let (detail, available) = left(&position);
            Problem::new(short, detail).with("available", available)
        }
        LedgerError::ExceedsSettledFunds(position) => {
            let (detail, available) = left(&position);
            let detail = format!("of settled funds {detail}");
            Problem::new(ProblemKind::InsufficientSettledFunds, detail).with("available", available)
        }
        LedgerError::LimitBelowUse(in_use) => below_use(&Amount::from(&in_use)),
        other => panic!("the ledger refused a change that was checked before: {other:?}"),
    }
}

/// The error of a limit below the amount in use.
#[must_use]
pub fn below_use(in_use: &Amount) -> Problem {
    let detail = format!("{} {} are in use already", in_use.amount, in_use.currency);
    Problem::new(ProblemKind::LimitBelowUse, detail).with("inUse", serde_json::json!(in_use))
}

/// Handles an approved change of a liquidity account or its bounds: gives a warning, or clears earlier ones
/// (choreography 6.9 to 6.11).
pub fn compare(world: &mut dyn World, participant: &str, position: &AccountPosition) {
    use crate::bindings::rialto::participant_lifecycle_management::participant_liquidity_threshold_exceeded::Warning;
    let threshold = position.threshold.as_ref().map(minor_units);
    if threshold.is_some_and(|threshold| minor_units(&position.available) < threshold) {
        let position = position.clone();
        warnings::warn(world, participant.to_owned(), Warning::Threshold, position);
    } else {
        warnings::recovered(world, participant, position);
    }
}
