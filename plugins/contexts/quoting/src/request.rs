//! Requests for quotes: repeats, checks, and each refusal's event.

use crate::bindings::exports::rialto::fsp_interop_api::quote_request_received as received;
use crate::bindings::rialto::quoting::types::QuoteTermsRequested;
use crate::bindings::rialto::quoting::{
    invalid_fsp_in_quote_request as invalid_fsp, invalid_quote_request as invalid_request,
    quote_request_accepted as accepted, rule_violated_in_quote_request as rule_violated,
};
use crate::bindings::rialto::rules::quote_request_check;
use crate::query::{answer, outcome};
use crate::quote::{Quote, State};
use crate::settings::PayeeFsp;
use crate::surroundings::{Publication, Surroundings, check_fsps, violation};
use crate::terms::RequestTerms;
use rialto_sdk::bindings::rialto::common::types::ErrorInformation;
use rialto_sdk::bindings::rialto::rules::types::{QuoteRequest, Verdict};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;
use rialto_sdk::messages::PartyDocument;
use rialto_sdk::money::minor_units;

/// Why a request is refused.
enum Refusal {
    /// The request is not valid; the state says whether it is only too late.
    Request(ErrorInformation, State),
    /// One of its FSPs is not valid.
    Fsp(ErrorInformation),
    /// It breaks a rule.
    Rule(ErrorInformation),
}

/// Handles a request for a quote.
pub fn request(world: &mut impl Surroundings, event: received::Event) {
    if let Some(existing) = world.quote(&event.request.quote_id) {
        return repeat(world, existing, event);
    }
    let payer_fsp = event.request.payer_fsp.as_ref();
    if payer_fsp.is_some_and(|named| *named != event.requester_fsp) {
        // Not stored: a stranger could use up the ids of others.
        let error = error("3100", "the payer's fspId is not FSPIOP-Source");
        return refuse_sender(world, event, error);
    }
    let now = world.now();
    let named = event.request.payee_fsp.as_ref();
    let named = named.or(event.destination_fsp.as_ref()).cloned();
    let is_named = named.is_some();
    // Decision 49: a request that names neither has its party looked up.
    let payee_fsp =
        named.or_else(|| world.party_fsp(&event.request.payee, &event.request.amount.currency));
    let mut quote = Quote {
        quote_id: event.request.quote_id.clone(),
        payer_fsp: event.requester_fsp.clone(),
        payee_fsp: payee_fsp.clone(),
        state: State::Pending,
        request_hash: event.request_hash.clone(),
        request: None,
        parties: Vec::new(),
        response_hash: None,
        response_body: None,
        condition: None,
        reason: None,
        requested_at: now,
        finished_at: None,
        deliveries: Vec::new(),
        archived: None,
    };
    match examine(world, &event, payee_fsp, is_named, now) {
        Ok(request) => {
            let (payer_fsp, payee_fsp) = (request.payer_fsp.clone(), request.payee_fsp.clone());
            let expiration = request.expiration;
            quote.request = Some(RequestTerms::from(request));
            world.put_quote(&quote);
            world.publish(Publication::RequestAccepted(accepted::Event {
                quote_id: quote.quote_id,
                payer_fsp,
                payee_fsp,
                expiration,
                message: event.message,
            }));
        }
        Err(refusal) => {
            match &refusal {
                Refusal::Request(error, state) => quote.end(*state, error, now),
                Refusal::Fsp(error) | Refusal::Rule(error) => {
                    quote.end(State::Rejected, error, now);
                }
            }
            // Nothing is stored for senders that are not participants: strangers could fill the store.
            let requester = std::slice::from_ref(&event.requester_fsp);
            if world.participants(requester).iter().any(Option::is_some) {
                quote.parties = [&event.request.payer, &event.request.payee]
                    .map(PartyDocument::from)
                    .into();
                world.put_quote(&quote);
            }
            world.publish(refused(event, refusal));
        }
    }
}

/// Handles a request with a known id: a repeat, or another quote.
fn repeat(world: &mut impl Surroundings, existing: Quote, event: received::Event) {
    let is_same_sender = event.requester_fsp == existing.payer_fsp;
    // Of an archived request no hash stays: a hash of a few known words says whom they name.
    let is_same = existing.archived.is_some() || event.request_hash == existing.request_hash;
    if !is_same_sender || !is_same {
        let error = error("3106", "the quote id is used already");
        refuse_sender(world, event, error);
    } else if let Some(outcome) = outcome(existing) {
        let quote_id = event.request.quote_id;
        answer(world, quote_id, event.requester_fsp, outcome, event.message);
    } else {
        // The sender's callback is on its way.
        world.log(
            Level::Debug,
            "a repeated request for a pending quote is ignored",
        );
    }
}

fn refuse_sender(world: &mut impl Surroundings, event: received::Event, error: ErrorInformation) {
    world.publish(Publication::InvalidRequest(invalid_request::Event {
        quote_id: event.request.quote_id,
        requester_fsp: event.requester_fsp,
        error,
        message: event.message,
    }));
}

/// Does all checks. Returns the request with both FSPs. If the payer FSP named no payee FSP, it is the one from
/// account lookup.
fn examine(
    world: &mut impl Surroundings,
    event: &received::Event,
    payee_fsp: Option<String>,
    is_named: bool,
    now: u64,
) -> Result<QuoteRequest, Refusal> {
    let terms = &event.request;
    let Some(payee_fsp) = payee_fsp else {
        return Err(Refusal::Fsp(error(
            "3201",
            "the payee FSP is not given, and no FSP is associated with the payee",
        )));
    };
    check_fsps(
        world,
        &event.requester_fsp,
        &payee_fsp,
        &terms.amount.currency,
    )
    .map_err(Refusal::Fsp)?;
    if is_named {
        check_payee(world, terms, &payee_fsp).map_err(Refusal::Fsp)?;
    }
    if terms.expiration.is_some_and(|expiration| now >= expiration) {
        let error = error("3302", "the request had expired when it arrived");
        return Err(Refusal::Request(error, State::Expired));
    }
    if let Some(expiration) = terms.expiration
        && let Err(detail) = world.settings().lifetime().check(now, expiration)
    {
        return Err(Refusal::Rule(error("3100", &detail)));
    }
    if minor_units(&terms.amount) == 0 {
        let error = error("3100", "the amount is 0");
        return Err(Refusal::Request(error, State::Rejected));
    }
    let input = quote_request_check::Input {
        now,
        request: QuoteRequest {
            quote_id: terms.quote_id.clone(),
            transaction_id: terms.transaction_id.clone(),
            payer_fsp: event.requester_fsp.clone(),
            payee_fsp,
            payer: terms.payer.clone(),
            payee: terms.payee.clone(),
            amount_type: terms.amount_type,
            amount: terms.amount.clone(),
            fees: terms.fees.clone(),
            transaction_type: terms.transaction_type.clone(),
            expiration: terms.expiration,
        },
    };
    match world.judge_request(&terms.quote_id, &input) {
        Verdict::Allow => Ok(input.request),
        Verdict::Refuse(violations) => Err(Refusal::Rule(violation(&violations))),
    }
}

/// Checks, as the settings say, that the named payee FSP has the payee: the payer FSP may have its name from a
/// forged answer.
fn check_payee(
    world: &mut impl Surroundings,
    terms: &QuoteTermsRequested,
    payee_fsp: &str,
) -> Result<(), ErrorInformation> {
    let demand = world.settings().payee_fsp;
    if demand == PayeeFsp::AsNamed {
        return Ok(());
    }
    match world.party_fsp(&terms.payee, &terms.amount.currency) {
        Some(known) if known == payee_fsp => Ok(()),
        None if demand == PayeeFsp::WhereKnown => Ok(()),
        // The answer does not disclose which FSP has it.
        _ => Err(error(
            "3204",
            "the payee is not associated with the payee FSP",
        )),
    }
}

fn refused(event: received::Event, refusal: Refusal) -> Publication {
    let received::Event {
        requester_fsp,
        request,
        message,
        ..
    } = event;
    let quote_id = request.quote_id;
    match refusal {
        Refusal::Request(error, _) => Publication::InvalidRequest(invalid_request::Event {
            quote_id,
            requester_fsp,
            error,
            message,
        }),
        Refusal::Fsp(error) => Publication::InvalidFspInRequest(invalid_fsp::Event {
            quote_id,
            requester_fsp,
            error,
            message,
        }),
        Refusal::Rule(error) => Publication::RuleViolatedInRequest(rule_violated::Event {
            quote_id,
            requester_fsp,
            error,
            message,
        }),
    }
}
