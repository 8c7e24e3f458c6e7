//! The exports, and the host's surroundings.

use crate::bindings::exports::rialto::fsp_interop_api::*;
use crate::bindings::exports::rialto::host::{
    configuration_schema, retention_handler, settings_handler,
};
use crate::bindings::exports::rialto::participant_lifecycle_management::participant_endpoints_updated;
use crate::bindings::exports::rialto::quoting::get_agreement;
use crate::bindings::rialto::account_lookup::get_party_fsp::get_party_fsp;
use crate::bindings::rialto::host::judging;
use crate::bindings::rialto::participant_lifecycle_management::get_participant_quote_data::{
    ParticipantQuoteData, get_participant_quote_data,
};
use crate::bindings::rialto::quoting as events;
use crate::bindings::rialto::rules::{quote_request_check, quote_response_check};
use crate::quote::Quote;
use crate::retention::{AGREEMENTS, QUOTES};
use crate::settings::Settings;
use crate::surroundings::{Publication, Surroundings};
use crate::terms::{Agreement, AgreementDocument};
use crate::{query, reject, reports, request, response, retention};
use rialto_sdk::bindings::rialto::common::types::{CallbackReport, PartyId};
use rialto_sdk::bindings::rialto::host::clock;
use rialto_sdk::bindings::rialto::rules::types::{self as rules, Verdict};
use rialto_sdk::documents::HostStore;
use rialto_sdk::logging::{self, Level, subject};
use rialto_sdk::scheme::settings;

struct Host;

impl Surroundings for Host {
    fn now(&self) -> u64 {
        clock::now()
    }

    fn settings(&self) -> &Settings {
        settings()
    }

    fn quote(&mut self, id: &str) -> Option<Quote> {
        QUOTES.get_for_update(id)
    }

    fn read_quote(&mut self, id: &str) -> Option<Quote> {
        QUOTES.get(id)
    }

    fn put_quote(&mut self, quote: &Quote) {
        QUOTES.put(&quote.quote_id, quote);
    }

    fn agreement(&mut self, condition: &str) -> Option<AgreementDocument> {
        AGREEMENTS.get_for_update(condition)
    }

    fn put_agreement(&mut self, agreement: Agreement) {
        let condition = agreement.response.condition.clone();
        AGREEMENTS.put(&condition, &AgreementDocument::from(agreement));
    }

    fn participants(&mut self, ids: &[String]) -> Vec<Option<ParticipantQuoteData>> {
        get_participant_quote_data(ids)
    }

    fn party_fsp(&mut self, party: &PartyId, currency: &str) -> Option<String> {
        get_party_fsp(party, currency)
    }

    fn release(&mut self) -> u64 {
        judging::current_release()
    }

    fn judge_request(&mut self, id: &str, input: &quote_request_check::Input) -> Verdict {
        logging::parties(&input.request);
        quote_request_check::check(&receipts_of(id), input)
    }

    fn judge_response(&mut self, id: &str, input: &quote_response_check::Input) -> Verdict {
        logging::parties(&input.agreement.request);
        quote_response_check::check(&receipts_of(id), input)
    }

    fn publish(&mut self, publication: Publication) {
        publish(&publication);
    }

    fn log(&mut self, level: Level, line: &str) {
        logging::log(level, line);
    }
}

/// The subject of turns about a quote, under which the receipts of its rules are filed. The id alone is not
/// enough: participants choose ids, and a transfer may have the same.
fn receipts_of(quote_id: &str) -> String {
    format!("quote:{quote_id}")
}

#[rustfmt::skip]
fn publish(publication: &Publication) {
    match publication {
        Publication::RequestAccepted(event) => events::quote_request_accepted::quote_request_accepted(event),
        Publication::ResponseAccepted(event) => events::quote_response_accepted::quote_response_accepted(event),
        Publication::InvalidRequest(event) => events::invalid_quote_request::invalid_quote_request(event),
        Publication::InvalidFspInRequest(event) => events::invalid_fsp_in_quote_request::invalid_fsp_in_quote_request(event),
        Publication::RuleViolatedInRequest(event) => events::rule_violated_in_quote_request::rule_violated_in_quote_request(event),
        Publication::RuleViolatedInResponse(event) => events::rule_violated_in_quote_response::rule_violated_in_quote_response(event),
        Publication::RejectRequestProcessed(event) => events::quote_reject_request_processed::quote_reject_request_processed(event),
        Publication::QueryResponse(event) => events::quote_query_response::quote_query_response(event),
    }
}

struct Quoting;

rialto_sdk::judges_settings!(settings_handler, Quoting, Settings);
rialto_sdk::describes_settings!(configuration_schema, Quoting, version 1, "../settings.schema.json");

impl quote_request_received::Guest for Quoting {
    fn quote_request_received(event: quote_request_received::Event) {
        subject("quote", &event.request.quote_id);
        request::request(&mut Host, event);
    }
}

impl quote_response_received::Guest for Quoting {
    fn quote_response_received(event: quote_response_received::Event) {
        subject("quote", &event.quote_id);
        response::response(&mut Host, event);
    }
}

impl quote_reject_requested::Guest for Quoting {
    fn quote_reject_requested(event: quote_reject_requested::Event) {
        subject("quote", &event.quote_id);
        reject::reject(&mut Host, event);
    }
}

impl quote_query_received::Guest for Quoting {
    fn quote_query_received(event: quote_query_received::Event) {
        subject("quote", &event.quote_id);
        query::query(&mut Host, event);
    }
}

impl quote_request_undelivered::Guest for Quoting {
    fn quote_request_undelivered(event: quote_request_undelivered::Event) {
        subject("quote", &event.quote_id);
        reports::undelivered(&mut Host, event);
    }
}

impl retention_handler::Guest for Quoting {
    fn kept() -> Vec<retention_handler::KeptDocuments> {
        retention::kept()
    }

    fn judge(_: String, _: String, ids: Vec<String>, before: u64) -> retention_handler::Judged {
        retention::judge(&mut HostStore, &ids, before, settings())
    }

    fn archived(
        _: String,
        archive: retention_handler::Archive,
        bundles: Vec<retention_handler::ArchivedBundle>,
    ) {
        retention::archived(&mut HostStore, &archive, &bundles, settings());
    }
}

/// The agreement with a condition, unless it is archived.
fn agreement(condition: &str) -> Option<Agreement> {
    // A storage id has 1 to 256 bytes without control characters; a condition of another form has no
    // agreement.
    let is_condition = condition.len() == 43 && condition.bytes().all(|b| b.is_ascii_graphic());
    if !is_condition {
        return None;
    }
    AGREEMENTS.get(condition)?.whole()
}

impl get_agreement::Guest for Quoting {
    fn get_agreement(condition: String) -> Option<rules::Agreement> {
        agreement(&condition).map(rules::Agreement::from)
    }

    fn get_agreement_with_rules(condition: String) -> Option<get_agreement::Agreed> {
        agreement(&condition).map(|agreement| get_agreement::Agreed {
            release: agreement.rules.release,
            agreed_at: agreement.rules.at,
            agreement: agreement.into(),
        })
    }
}

impl participant_endpoints_updated::Guest for Quoting {
    fn participant_endpoints_updated(event: participant_endpoints_updated::Event) {
        rialto_sdk::logging::heard("participant-endpoints-updated", &event.participant);
    }
}

/// Keeps each kind of callback report under its own name.
macro_rules! keep_reports {
    ($($interface:ident as $kind:expr,)*) => {$(
        impl $interface::Guest for Quoting {
            fn $interface(report: CallbackReport) {
                subject("quote", &report.subject);
                reports::report(&mut Host, $kind, report);
            }
        }
    )*};
}

keep_reports! {
    quote_received_callback_report as "quote-received",
    quote_accepted_callback_report as "quote-accepted",
    invalid_quote_request_callback_report as "invalid-quote-request",
    invalid_fsp_in_quote_request_callback_report as "invalid-fsp-in-quote-request",
    rule_violated_in_quote_request_callback_report as "rule-violated-in-quote-request",
    rule_violated_in_quote_response_callback_report as "rule-violated-in-quote-response",
}

crate::bindings::export!(Quoting with_types_in crate::bindings);
