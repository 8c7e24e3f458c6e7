//! The payee FSP names its terms.
//!
//! Only the payee FSP's first answer to a pending quote counts. Any other answer changes nothing, and its
//! sender gets an error. Terms that the scheme refuses end the quote, and both FSPs are told.

use crate::bindings::exports::rialto::fsp_interop_api::quote_response_received as received;
use crate::bindings::rialto::quoting::quote_query_response::QuoteQueryResult;
use crate::bindings::rialto::quoting::{
    quote_response_accepted as accepted, rule_violated_in_quote_response as rule_violated,
};
use crate::bindings::rialto::rules::quote_response_check;
use crate::query::{answer, not_found, of_archived, wrong_destination};
use crate::quote::{Quote, State};
use crate::surroundings::{Publication, Surroundings, check_fsps, violation};
use crate::terms::{AgreedRules, Agreement, AgreementDocument, RequestTerms};
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::bindings::rialto::rules::types::{self as rules, QuoteResponse, Verdict};
use rialto_sdk::canonical::decode_32_bytes;
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;
use rialto_sdk::money::minor_units;

/// Handles the payee FSP's terms.
pub fn response(world: &mut impl Surroundings, event: received::Event) {
    let Some(mut quote) = world.quote(&event.quote_id) else {
        return refuse_sender(world, event, not_found());
    };
    if !quote.is_payee(&event.requester_fsp) {
        let error = error("3100", "the sender is not the payee FSP");
        return refuse_sender(world, event, error);
    }
    if !quote.may_go_to_payer(event.destination_fsp.as_deref()) {
        return refuse_sender(world, event, wrong_destination());
    }
    match quote.request.take() {
        Some(request) if quote.state == State::Pending => conclude(world, quote, request, event),
        _ => repeat(world, quote, event),
    }
}

/// Handles terms for a quote that has ended.
fn repeat(world: &mut impl Surroundings, quote: Quote, event: received::Event) {
    if quote.archived.is_some() {
        let (quote_id, sender) = (event.quote_id, event.requester_fsp);
        return answer(world, quote_id, sender, of_archived(quote), event.message);
    }
    let is_same = quote.response_hash.as_ref() == Some(&event.request_hash);
    let error = match (quote.state, quote.reason) {
        (State::Accepted, _) if is_same => {
            return world.log(
                Level::Debug,
                "repeated terms of an accepted quote are ignored",
            );
        }
        (_, Some(reason)) if is_same || quote.response_hash.is_none() => reason.into(),
        _ => error("3106", "other terms were handled already"),
    };
    refuse_sender(world, event, error);
}

fn refuse_sender(world: &mut impl Surroundings, event: received::Event, error: ErrorInformation) {
    let outcome = QuoteQueryResult::Failed(error);
    answer(
        world,
        event.quote_id,
        event.requester_fsp,
        outcome,
        event.message,
    );
}

/// Handles the payee FSP's answer to a pending quote: ends the quote.
fn conclude(
    world: &mut impl Surroundings,
    mut quote: Quote,
    request: RequestTerms,
    event: received::Event,
) {
    let now = world.now();
    let message = event.message;
    quote.response_hash = Some(event.request_hash);
    let (payer_fsp, payee_fsp) = (request.payer_fsp.clone(), request.payee_fsp.clone());
    let expires_at = quote.expires_at(request.expiration, world.settings());
    let checked = check(world, &request, &event.response, expires_at, now)
        .and_then(|()| judge(world, &event.quote_id, request.clone(), event.response, now));
    quote.request = Some(request);
    match checked {
        Ok(agreement) => {
            quote.state = State::Accepted;
            quote.finished_at = Some(now);
            quote.condition = Some(agreement.response.condition.clone());
            quote.response_body = Some(message.body.clone());
            world.put_agreement(agreement);
            world.put_quote(&quote);
            world.publish(Publication::ResponseAccepted(accepted::Event {
                quote_id: event.quote_id,
                payer_fsp,
                payee_fsp,
                message,
            }));
        }
        Err((error, state)) => {
            quote.end(state, &error, now);
            world.put_quote(&quote);
            world.publish(Publication::RuleViolatedInResponse(rule_violated::Event {
                quote_id: event.quote_id,
                payer_fsp,
                payee_fsp,
                error,
                message,
            }));
        }
    }
}

type Refused = (ErrorInformation, State);

/// Does the checks that every scheme needs. The request expires at this instant.
fn check(
    world: &mut impl Surroundings,
    request: &RequestTerms,
    response: &QuoteResponse,
    expires_at: u64,
    now: u64,
) -> Result<(), Refused> {
    let rejected = |detail: &str| (error("3100", detail), State::Rejected);
    if now >= expires_at {
        return Err((error("3302", "the request has expired"), State::Expired));
    }
    if now >= response.expiration {
        let error = error("3302", "the terms expired before they arrived");
        return Err((error, State::Expired));
    }
    if let Err(detail) = world.settings().lifetime().check(now, response.expiration) {
        return Err(rejected(&detail));
    }
    if decode_32_bytes(&response.condition).is_none() {
        return Err(rejected("the condition is not 32 bytes of base64url"));
    }
    if minor_units(&response.transfer_amount) == 0 {
        return Err(rejected("the transfer amount is 0"));
    }
    let currency = &request.amount.currency;
    let amounts = [
        Some(&response.transfer_amount),
        response.payee_receive_amount.as_ref(),
        response.payee_fsp_fee.as_ref(),
        response.payee_fsp_commission.as_ref(),
    ];
    if amounts
        .into_iter()
        .flatten()
        .any(|amount| amount.currency != *currency)
    {
        return Err(rejected(
            "the terms are in another currency than the request",
        ));
    }
    check_fsps(world, &request.payer_fsp, &request.payee_fsp, currency)
        .map_err(|error| (error, State::Rejected))?;
    // A transfer finds its agreement by its condition. An FSP may use its own condition again with the same
    // FSP, as test platforms do; the latest agreement counts. It cannot use a condition of other FSPs.
    let fsps = Some((&*request.payer_fsp, &*request.payee_fsp));
    let other_fsps = |agreed: AgreementDocument| agreed.fsps() != fsps;
    if world.agreement(&response.condition).is_some_and(other_fsps) {
        return Err(rejected("the condition belongs to another quote"));
    }
    Ok(())
}

/// Asks the scheme's rules.
fn judge(
    world: &mut impl Surroundings,
    quote_id: &str,
    request: RequestTerms,
    response: QuoteResponse,
    now: u64,
) -> Result<Agreement, Refused> {
    let input = quote_response_check::Input {
        now,
        agreement: rules::Agreement {
            request: request.into(),
            response,
        },
    };
    match world.judge_response(quote_id, &input) {
        Verdict::Allow => {
            let rules = AgreedRules {
                release: world.release(),
                at: now,
            };
            Ok(Agreement::new(input.agreement, rules))
        }
        Verdict::Refuse(violations) => Err((violation(&violations), State::Rejected)),
    }
}
