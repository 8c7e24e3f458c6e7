//! The payee FSP commits.
//!
//! The checks have this order: the transfer exists; the sender is its payee FSP; repeats and state; expiry;
//! destination; fulfilment; rules. If one of the first three fails, nothing changes. If another one fails, the
//! transfer ends, because only the genuine payee FSP gets that far. So a commitment with a missing or wrong
//! fulfilment, or for another FSP than the payer FSP, ends the transfer, and the payer FSP waits no longer.
//!
//! The event has the instant at which the commitment arrived from the payee FSP. That instant counts, even if
//! the event is handled later.

use crate::bindings::exports::rialto::fsp_interop_api::transfer_fulfil_committed_requested as requested;
use crate::bindings::rialto::accounts_and_balances::process_transfer_fulfil as ledger_fulfil;
use crate::bindings::rialto::transfers::transfer_query_response::{
    self as query_response, Answer, TransferQueryResult,
};
use crate::bindings::rialto::transfers::types::FulfilMode;
use crate::bindings::rialto::transfers::{
    transfer_committed_fulfiled as committed, transfer_reject_request_processed as rejected,
};
use crate::bindings::transfer_fulfil_check;
use crate::prepare::violation;
use crate::query::{not_found, refuse, status, wrong_destination};
use crate::surroundings::{Publication, Surroundings, keep, release};
use crate::timeout::{tell_late_payee, time_out};
use crate::transfer::{Mode, RejectionKind, State, Transfer};
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::bindings::rialto::rules::types::{self as rules, Verdict};
use rialto_sdk::canonical::fulfilment_matches;
use rialto_sdk::errors::error;

/// Handles a commitment.
pub fn fulfil(world: &mut impl Surroundings, event: requested::Event) {
    let Some(transfer) = world.transfer(&event.transfer_id) else {
        return refuse_sender(world, event, not_found());
    };
    if event.requester_fsp != transfer.payee_fsp {
        let error = error("3100", "the sender is not the payee FSP");
        return refuse_sender(world, event, error);
    }
    match (transfer.state, transfer.rejection) {
        (State::Prepared, _) => conclude(world, transfer, event),
        (State::Rejected, Some(RejectionKind::TimedOut)) => {
            tell_late_payee(world, &transfer, Some(event.mode), event.answer_version);
        }
        _ => repeat(world, &transfer, event),
    }
}

/// The hash of the accepted commitment of a transfer with this payee FSP, if any. Changes nothing.
pub fn taken(world: &mut impl Surroundings, transfer_id: &str, payee_fsp: &str) -> Option<String> {
    let transfer = world.read_transfer(transfer_id);
    let own = transfer.filter(|transfer| transfer.payee_fsp == payee_fsp);
    own.and_then(|transfer| transfer.fulfil_hash)
}

/// Handles a commitment to a transfer that has ended, but not by its expiry.
fn repeat(world: &mut impl Surroundings, transfer: &Transfer, event: requested::Event) {
    match &transfer.fulfil_hash {
        Some(hash) if *hash == event.request_hash => answer_again(world, transfer, event),
        Some(_) => {
            let error = error("3106", "another commitment was handled already");
            refuse_sender(world, event, error);
        }
        None => {
            let error = error("3100", "the transfer does not wait for a fulfilment");
            refuse_sender(world, event, error);
        }
    }
}

/// Answers the same commitment again, since the payee FSP missed the answer. In reserved mode it waits for a
/// PATCH, whether the transfer was committed or not.
fn answer_again(world: &mut impl Surroundings, transfer: &Transfer, event: requested::Event) {
    let outcome = match (event.mode, &transfer.reason) {
        (FulfilMode::Committed, Some(reason)) => TransferQueryResult::Failed(reason.clone().into()),
        _ => TransferQueryResult::Found(status(transfer)),
    };
    let answer = match event.mode {
        FulfilMode::Committed => Answer::Put,
        FulfilMode::Reserved => Answer::Patch,
    };
    world.publish(Publication::QueryResponse(query_response::Event {
        transfer_id: event.transfer_id,
        requester_fsp: event.requester_fsp,
        outcome,
        answer,
        message: event.message,
        answer_version: event.answer_version,
    }));
}

fn refuse_sender(world: &mut impl Surroundings, event: requested::Event, error: ErrorInformation) {
    let requested::Event {
        transfer_id,
        requester_fsp,
        message,
        ..
    } = event;
    refuse(world, transfer_id, requester_fsp, error, message);
}

/// Handles the payee FSP's commitment to a prepared transfer: ends the transfer.
fn conclude(world: &mut impl Surroundings, mut transfer: Transfer, event: requested::Event) {
    let now = world.now();
    assert!(
        transfer.mode.is_none() && transfer.fulfil_hash.is_none(),
        "transfer {} is {:?} and its payee FSP has committed it as {:?} before",
        transfer.transfer_id,
        transfer.state,
        transfer.mode
    );
    world.delete_reminder(&transfer.transfer_id);
    transfer.mode = Some(Mode::from(event.mode));
    transfer.fulfil_hash = Some(event.request_hash.clone());
    if transfer.is_expired(arrival(&event, now)) {
        let late = (Some(event.mode), event.answer_version);
        return time_out(world, &mut transfer, late, now);
    }
    match check(world, &transfer, &event, now) {
        Ok(fulfilment) => commit(world, transfer, event, fulfilment, now),
        Err(error) => refuse_fulfilment(world, transfer, event, error, now),
    }
}

/// The instant at which a commitment arrived, at most now: the clock may have been set back since.
fn arrival(event: &requested::Event, now: u64) -> u64 {
    event.arrived_at.map_or(now, |at| at.min(now))
}

/// Checks the fulfilment. Returns it.
fn check(
    world: &mut impl Surroundings,
    transfer: &Transfer,
    event: &requested::Event,
    now: u64,
) -> Result<String, ErrorInformation> {
    if !transfer.may_go_to_payer(event.destination_fsp.as_deref()) {
        return Err(wrong_destination());
    }
    let Some(fulfilment) = event.fulfilment.as_deref() else {
        return Err(error("3100", "the fulfilment is missing"));
    };
    if !fulfilment_matches(fulfilment, &transfer.condition) {
        let detail = "the fulfilment does not match the condition";
        return Err(error("3100", detail));
    }
    let input = transfer_fulfil_check::Input {
        // Rules get the arrival time, too.
        now: arrival(event, now),
        completed_timestamp: event.completed_timestamp,
        transfer: rules::Transfer {
            transfer_id: transfer.transfer_id.clone(),
            payer_fsp: transfer.payer_fsp.clone(),
            payee_fsp: transfer.payee_fsp.clone(),
            amount: transfer.amount.clone(),
            condition: transfer.condition.clone(),
            expiration: transfer.expiration,
        },
    };
    world.judge_as_agreed(transfer.agreed);
    match world.judge_fulfil(&transfer.transfer_id, &input) {
        Verdict::Allow => Ok(fulfilment.to_owned()),
        Verdict::Refuse(violations) => Err(violation(&violations)),
    }
}

fn commit(
    world: &mut impl Surroundings,
    mut transfer: Transfer,
    event: requested::Event,
    fulfilment: String,
    now: u64,
) {
    let arrived_at = arrival(&event, now);
    assert!(
        !transfer.is_expired(arrived_at),
        "transfer {} is committed by what arrived at {arrived_at} and expires at {}",
        transfer.transfer_id,
        transfer.expiration
    );
    let Some(payee_accounts) = &transfer.payee_accounts else {
        panic!(
            "transfer {} was prepared without accounts of its payee FSP",
            transfer.transfer_id
        );
    };
    let request = ledger_fulfil::Request {
        transfer_id: transfer.transfer_id.clone(),
        credit_account: payee_accounts.credit.clone(),
    };
    let positions = world.ledger_fulfil(&request).unwrap_or_else(|error| {
        panic!(
            "the ledger does not fulfil transfer {}: {error:?}",
            request.transfer_id
        )
    });
    assert!(
        positions.payee_liquidity.account_id == request.credit_account,
        "the ledger was to credit {}, and answers {}",
        request.credit_account,
        positions.payee_liquidity.account_id
    );
    if event.mode == FulfilMode::Reserved {
        transfer.enter(State::Reserved, now);
    }
    transfer.enter(State::Committed, now);
    let completed_timestamp = event.completed_timestamp.unwrap_or(now);
    transfer.completed_timestamp = Some(completed_timestamp);
    transfer.fulfilment = Some(fulfilment.clone());
    // It stays counted.
    transfer.counted.clear();
    keep(world, &transfer);
    world.publish(Publication::CommittedFulfiled(committed::Event {
        transfer_id: transfer.transfer_id,
        payer_fsp: transfer.payer_fsp,
        payee_fsp: transfer.payee_fsp,
        amount: transfer.amount,
        settlement_model: transfer.settlement_model,
        settlement: transfer.settlement.into(),
        mode: event.mode,
        fulfilment,
        completed_timestamp,
        payer_position: positions.payer_position,
        payee_position: positions.payee_liquidity,
        message: event.message,
        payer_version: transfer.payer_version,
    }));
}

fn refuse_fulfilment(
    world: &mut impl Surroundings,
    mut transfer: Transfer,
    event: requested::Event,
    error: ErrorInformation,
    now: u64,
) {
    transfer.reject(RejectionKind::FulfilmentRefused, &error, now);
    release(world, &mut transfer);
    keep(world, &transfer);
    world.publish(Publication::RejectRequestProcessed(rejected::Event {
        transfer_id: transfer.transfer_id,
        payer_fsp: transfer.payer_fsp,
        payee_fsp: transfer.payee_fsp,
        rejection: rejected::Rejection::FulfilmentRefused(event.mode),
        error,
        message: event.message,
        completed_timestamp: Some(now),
        payer_version: transfer.payer_version,
    }));
}
