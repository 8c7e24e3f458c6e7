//! Operators end a stuck transfer: one operator asks, another one decides.
//!
//! | Request | Event | Next | Who is told |
//! |---|---|---|---|
//! | none, APPROVED, REJECTED | an operator asks | PENDING | nobody: operators list transfers |
//! | PENDING | another operator approves | APPROVED | the FSPs, as [`transfer`](crate::transfer) says |
//! | PENDING | another operator rejects | REJECTED | nobody |
//!
//! The transfer ends as REJECTED. It must be PREPARED, and either expired or never sent to its payee FSP.
//!
//! An end waits for messages that arrived before the transfer's expiry, as its timeout does. While a message
//! that may commit the transfer is not handled, the end is refused. The refusal names that message.

use crate::bindings::rialto::scheduling::get_earlier_work::EarlierWork;
use crate::counters;
use crate::reports::{PREPARE, conclude_never_sent};
use crate::surroundings::Surroundings;
use crate::timeout::conclude_timeout;
use crate::transfer::{EndedBy, State, Transfer};
use crate::views;
use rialto_sdk::documents::{Collection, Store};
use rialto_sdk::errors::error;
use rialto_sdk::operators::{Caller, Kind, Problem};
use serde::{Deserialize, Serialize};

/// The latest request to end each transfer.
pub const ENDINGS: Collection<Ending> = Collection::new("endings");

/// Where a request to end a transfer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Standing {
    /// It waits for another operator.
    Pending,
    /// The transfer was ended.
    Approved,
    /// It was not.
    Rejected,
}

/// A document of the collection `endings`, whose id is the transfer's: the latest request to end it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ending {
    /// The transfer.
    pub transfer_id: String,
    /// Where the request is.
    pub state: Standing,
    /// Who asks.
    pub maker: String,
    /// Why, in the maker's words.
    pub reason: String,
    /// UTC, milliseconds since 1970.
    pub asked_at: u64,
    /// Who has decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checker: Option<String>,
    /// UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u64>,
    /// In the checker's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// What the checker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// End it.
    Approve,
    /// Do not.
    Reject,
}

/// Asks for a transfer to be ended.
///
/// # Errors
/// If there is no such transfer, it may not be ended, or such a request is already waiting.
pub fn ask<W: Surroundings + Store>(
    world: &mut W,
    caller: &Caller,
    transfer_id: &str,
    reason: &str,
) -> Result<Ending, Problem> {
    let transfer = known(world.transfer(transfer_id), transfer_id)?;
    let now = world.now();
    may_end(world, &transfer, now)?;
    let latest = ENDINGS.within(world).get_for_update(transfer_id);
    if latest.is_some_and(|latest| latest.state == Standing::Pending) {
        let detail =
            format!("the request to end transfer {transfer_id} already waits for a decision");
        return Err(
            Problem::new(Kind::DuplicateRequest, detail).with("pendingRequest", transfer_id)
        );
    }
    let ending = Ending {
        transfer_id: transfer_id.to_owned(),
        state: Standing::Pending,
        maker: caller.name.clone(),
        reason: reason.to_owned(),
        asked_at: now,
        checker: None,
        decided_at: None,
        note: None,
    };
    ENDINGS.within(world).put(transfer_id, &ending);
    Ok(ending)
}

/// Decides a request to end a transfer. Everything is checked again, and an approval takes effect in this turn.
///
/// # Errors
/// If no request waits, the checker is the maker, the transfer may not be ended any more, or the ledger refuses
/// the release. Then nothing has changed.
pub fn decide<W: Surroundings + Store>(
    world: &mut W,
    caller: &Caller,
    transfer_id: &str,
    (verdict, note): (Verdict, Option<String>),
) -> Result<Ending, Problem> {
    let mut transfer = known(world.transfer(transfer_id), transfer_id)?;
    let latest = ENDINGS.within(world).get_for_update(transfer_id);
    let mut ending = latest.ok_or_else(|| {
        let detail = format!("there is no request to end transfer {transfer_id}");
        Problem::new(Kind::RequestUnknown, detail)
    })?;
    if ending.state != Standing::Pending {
        let detail = format!("the request to end transfer {transfer_id} is already decided");
        return Err(Problem::new(Kind::AlreadyDecided, detail));
    }
    if ending.maker == caller.name {
        let detail = format!(
            "{} made the request: another operator must decide it",
            caller.name
        );
        return Err(Problem::new(Kind::MakerIsChecker, detail));
    }
    let now = world.now();
    ending.checker = Some(caller.name.clone());
    ending.decided_at = Some(now);
    ending.note = note;
    ending.state = match verdict {
        Verdict::Reject => Standing::Rejected,
        Verdict::Approve => {
            end(world, &mut transfer, &ending, now)?;
            Standing::Approved
        }
    };
    ENDINGS.within(world).put(transfer_id, &ending);
    Ok(ending)
}

fn end(
    world: &mut impl Surroundings,
    transfer: &mut Transfer,
    ending: &Ending,
    now: u64,
) -> Result<(), Problem> {
    may_end(world, transfer, now)?;
    if let Err(error) = world.ledger_release(&transfer.transfer_id) {
        let detail = format!(
            "the ledger did not release the funds of transfer {}: {error:?}",
            transfer.transfer_id
        );
        return Err(Problem::new(Kind::TransferState, detail));
    }
    counters::take_out(world, transfer);
    transfer.ended_by = Some(EndedBy {
        maker: ending.maker.clone(),
        checker: ending.checker.clone().unwrap_or_default(),
        reason: ending.reason.clone(),
    });
    world.delete_reminder(&transfer.transfer_id);
    if transfer.is_expired(now) {
        conclude_timeout(world, transfer, (None, None), now);
    } else {
        let error = error(
            "1001",
            &format!("the transfer was never sent to {}", transfer.payee_fsp),
        );
        conclude_never_sent(world, transfer, error);
    }
    Ok(())
}

/// Checks that a transfer may be ended. This turn holds the transfer, so it has all that was handled.
fn may_end(world: &mut impl Surroundings, transfer: &Transfer, now: u64) -> Result<(), Problem> {
    let refused = |detail: String| Err(Problem::new(Kind::TransferState, detail));
    let id = &transfer.transfer_id;
    if transfer.state != State::Prepared {
        return refused(format!(
            "transfer {id} is {}: only a PREPARED transfer can be ended",
            transfer.state.name()
        ));
    }
    let was_sent = !transfer.deliveries.iter().any(|delivery| {
        delivery.kind == PREPARE
            && delivery.never_sent
            && delivery.destination == transfer.payee_fsp
    });
    if was_sent && !transfer.is_expired(now) {
        return refused(format!(
            "transfer {id} expires at {}: until then its payee FSP may commit it",
            transfer.expiration
        ));
    }
    match earlier(world, transfer, now) {
        None => Ok(()),
        // A running turn may be about anything, and an FSP that was never asked has sent nothing.
        Some(EarlierWork::Running) if !transfer.is_expired(now) => Ok(()),
        Some(earlier) => {
            let detail = format!("transfer {id} waits for {}", in_words(&earlier));
            let problem = Problem::new(Kind::TransferState, detail);
            Err(problem.with("waitsFor", views::waits_for(&earlier)))
        }
    }
}

/// Work about a transfer that arrived before its expiry (or before now) and is not handled.
pub(crate) fn earlier(
    world: &mut impl Surroundings,
    transfer: &Transfer,
    now: u64,
) -> Option<EarlierWork> {
    world.earlier(&transfer.transfer_id, transfer.expiration.min(now))
}

/// Describes what an end waits for, and what an operator can do.
pub(crate) fn in_words(earlier: &EarlierWork) -> String {
    match earlier {
        EarlierWork::Running => {
            "work that arrived before its expiry and still runs: try again in a moment".to_owned()
        }
        EarlierWork::Delivery(delivery) => format!(
            "delivery {} to {}, which arrived before its expiry: try again when it is handled; \
             `rialto dead-letters paused` says if {} is paused",
            delivery.id, delivery.context, delivery.context
        ),
        EarlierWork::DeadLetter(delivery) => format!(
            "dead letter {} of {}, which arrived before its expiry: retry or drop it (`rialto dead-letters`) first",
            delivery.id, delivery.context
        ),
    }
}

/// The transfer, if there is one.
///
/// # Errors
/// When there is none.
pub fn known(transfer: Option<Transfer>, id: &str) -> Result<Transfer, Problem> {
    transfer.ok_or_else(|| {
        Problem::new(
            Kind::TransferUnknown,
            format!("there is no transfer {id:?}"),
        )
    })
}
