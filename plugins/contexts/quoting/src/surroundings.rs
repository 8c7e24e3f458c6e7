//! The surroundings of a quote as a trait: the host in a component, a fake in tests.

use crate::bindings::rialto::participant_lifecycle_management::get_participant_quote_data::ParticipantQuoteData;
use crate::bindings::rialto::quoting::{
    invalid_fsp_in_quote_request, invalid_quote_request, quote_query_response,
    quote_reject_request_processed, quote_request_accepted, quote_response_accepted,
    rule_violated_in_quote_request, rule_violated_in_quote_response,
};
use crate::bindings::rialto::rules::{quote_request_check, quote_response_check};
use crate::quote::Quote;
use crate::settings::{OnUs, Settings};
use crate::terms::{Agreement, AgreementDocument};
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, PartyId};
use rialto_sdk::bindings::rialto::rules::types::{Verdict, Violation};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;

/// An event of this context.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each is named after its event")]
pub enum Publication {
    RequestAccepted(quote_request_accepted::Event),
    ResponseAccepted(quote_response_accepted::Event),
    InvalidRequest(invalid_quote_request::Event),
    InvalidFspInRequest(invalid_fsp_in_quote_request::Event),
    RuleViolatedInRequest(rule_violated_in_quote_request::Event),
    RuleViolatedInResponse(rule_violated_in_quote_response::Event),
    RejectRequestProcessed(quote_reject_request_processed::Event),
    QueryResponse(quote_query_response::Event),
}

/// Everything outside one quote. What is done through it belongs to one turn.
pub trait Surroundings {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&self) -> u64;
    /// The scheme's settings for this component.
    fn settings(&self) -> &Settings;

    /// The quote, held for this turn.
    fn quote(&mut self, id: &str) -> Option<Quote>;
    /// The quote, to be read only.
    fn read_quote(&mut self, id: &str) -> Option<Quote>;
    /// Write a quote.
    fn put_quote(&mut self, quote: &Quote);
    /// The document of this condition's agreement, held for this turn.
    fn agreement(&mut self, condition: &str) -> Option<AgreementDocument>;
    /// Write the agreement of its condition.
    fn put_agreement(&mut self, agreement: Agreement);

    /// Participants, in the order asked for.
    fn participants(&mut self, ids: &[String]) -> Vec<Option<ParticipantQuoteData>>;
    /// The FSP that a party is with, in this currency or without currency.
    fn party_fsp(&mut self, party: &PartyId, currency: &str) -> Option<String>;
    /// The release whose rules judge in this turn.
    fn release(&mut self) -> u64;
    /// Asks the rules about a request for a quote.
    fn judge_request(&mut self, id: &str, input: &quote_request_check::Input) -> Verdict;
    /// Asks the rules about the payee FSP's terms.
    fn judge_response(&mut self, id: &str, input: &quote_response_check::Input) -> Verdict;

    /// Publish an event.
    fn publish(&mut self, publication: Publication);
    /// Logs a line for the operator.
    fn log(&mut self, level: Level, line: &str);
}

/// Checks that two FSPs may transact with each other now, in this currency.
///
/// # Errors
/// The reason, for the FSP that asked.
pub(crate) fn check_fsps(
    world: &mut impl Surroundings,
    payer_fsp: &str,
    payee_fsp: &str,
    currency: &str,
) -> Result<(), ErrorInformation> {
    let ids = [payer_fsp.to_owned(), payee_fsp.to_owned()];
    let mut participants = world.participants(&ids).into_iter();
    let mut next = || participants.next().flatten();
    let (payer, payee) = (next(), next());
    let Some(payer) = payer.filter(|payer| payer.may_transact) else {
        return Err(error("3202", "the payer FSP may not ask for quotes"));
    };
    let Some(payee) = payee.filter(|payee| payee.may_transact) else {
        return Err(error("3201", "the payee FSP may not give quotes"));
    };
    if payer_fsp == payee_fsp && world.settings().on_us == OnUs::Refuse {
        return Err(error("3100", "payer FSP and payee FSP are the same"));
    }
    let uses = |fsp: &ParticipantQuoteData| fsp.currencies.iter().any(|used| used == currency);
    if !uses(&payer) {
        let detail = format!("the payer FSP has no account in {currency}");
        return Err(error("4103", &detail));
    }
    if !uses(&payee) {
        let detail = format!("the payee FSP has no account in {currency}");
        return Err(error("5106", &detail));
    }
    Ok(())
}

/// The first violation of a refusal, as the FSP gets it.
pub(crate) fn violation(violations: &[Violation]) -> ErrorInformation {
    violations.first().map_or_else(
        || error("3100", "a rule refuses the quote"),
        |first| error(&first.code, &first.message),
    )
}
