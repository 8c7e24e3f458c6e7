//! Surroundings in memory, and short words for messages.

use crate::bindings::exports::rialto::fsp_interop_api::{
    quote_query_received as query_received, quote_reject_requested as reject_requested,
    quote_request_received as request_received, quote_response_received as response_received,
};
use crate::bindings::rialto::participant_lifecycle_management::get_participant_quote_data::ParticipantQuoteData;
use crate::bindings::rialto::participant_lifecycle_management::types::ParticipantState;
use crate::bindings::rialto::quoting::quote_query_response::{Event as Answer, QuoteQueryResult};
use crate::bindings::rialto::quoting::types::QuoteTermsRequested;
use crate::bindings::rialto::rules::{quote_request_check, quote_response_check};
use crate::quote::{Quote, State};
use crate::settings::Settings;
use crate::surroundings::{Publication, Surroundings};
use crate::terms::{Agreement, AgreementDocument};
use rialto_sdk::bindings::rialto::common::types::{Message, PartyId};
use rialto_sdk::bindings::rialto::rules::types as rules;
use rialto_sdk::bindings::rialto::rules::types::{Verdict, Violation};
use rialto_sdk::errors::error;
use rialto_sdk::logging::Level;
use rialto_sdk::money::money;
use std::collections::BTreeMap;

pub const CONDITION: &str = "fH9pAYDQbmoZLPbvv3CSW2RfjU4jvM4ApG_fqGnR7Xs";
pub const PAYER: &str = "payerfsp";
pub const PAYEE: &str = "payeefsp";
pub const EXPIRATION: u64 = 1000;
/// The release whose rules judge.
pub const RELEASE: u64 = 3;

/// Surroundings that remember everything.
#[derive(Debug, Default)]
pub struct Fake {
    pub now: u64,
    pub settings: Settings,
    pub quotes: BTreeMap<String, Quote>,
    pub agreements: BTreeMap<String, AgreementDocument>,
    pub published: Vec<Publication>,
    pub log: Vec<String>,
    /// The rules' refusal, if any.
    pub rules_refuse: Option<Violation>,
    /// Participants that exist but may not transact.
    pub barred: Vec<&'static str>,
    /// The FSP that each party is with.
    pub party_fsp: Option<&'static str>,
    /// How often that was asked.
    pub lookups: u32,
}

impl Surroundings for Fake {
    fn now(&self) -> u64 {
        self.now
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn quote(&mut self, id: &str) -> Option<Quote> {
        self.quotes.get(id).cloned()
    }

    fn read_quote(&mut self, id: &str) -> Option<Quote> {
        self.quotes.get(id).cloned()
    }

    fn put_quote(&mut self, quote: &Quote) {
        // A stored document must be read back unchanged.
        let json = serde_json::to_string(quote).unwrap();
        let read: Quote = serde_json::from_str(&json).unwrap();
        assert_eq!(&read, quote);
        self.quotes.insert(quote.quote_id.clone(), read);
    }

    fn agreement(&mut self, condition: &str) -> Option<AgreementDocument> {
        self.agreements.get(condition).cloned()
    }

    fn put_agreement(&mut self, agreement: Agreement) {
        let condition = agreement.response.condition.clone();
        let document = AgreementDocument::from(agreement);
        let json = serde_json::to_string(&document).unwrap();
        let read: AgreementDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(read, document);
        self.agreements.insert(condition, read);
    }

    fn participants(&mut self, ids: &[String]) -> Vec<Option<ParticipantQuoteData>> {
        let data = |id: &String| {
            id.ends_with("fsp").then(|| ParticipantQuoteData {
                participant: id.clone(),
                state: ParticipantState::Approved,
                may_transact: !self.barred.contains(&id.as_str()),
                currencies: match id.as_str() {
                    PAYER => vec!["USD".to_owned(), "TZS".to_owned(), "EUR".to_owned()],
                    _ => vec!["USD".to_owned(), "KES".to_owned(), "EUR".to_owned()],
                },
            })
        };
        ids.iter().map(data).collect()
    }

    fn party_fsp(&mut self, _party: &PartyId, currency: &str) -> Option<String> {
        self.lookups += 1;
        (currency == "USD").then(|| self.party_fsp.map(str::to_owned))?
    }

    fn release(&mut self) -> u64 {
        RELEASE
    }

    fn judge_request(&mut self, id: &str, input: &quote_request_check::Input) -> Verdict {
        assert_eq!((id, input.now), (&*input.request.quote_id, self.now));
        self.verdict()
    }

    fn judge_response(&mut self, id: &str, input: &quote_response_check::Input) -> Verdict {
        let request = &input.agreement.request;
        assert_eq!((id, input.now), (&*request.quote_id, self.now));
        self.verdict()
    }

    fn publish(&mut self, publication: Publication) {
        self.published.push(publication);
    }

    fn log(&mut self, _level: Level, line: &str) {
        self.log.push(line.to_owned());
    }
}

impl Fake {
    fn verdict(&self) -> Verdict {
        let refuse = |violation| Verdict::Refuse(vec![violation]);
        self.rules_refuse.clone().map_or(Verdict::Allow, refuse)
    }

    /// The only event published since the last call.
    pub fn only(&mut self) -> Publication {
        assert_eq!(self.published.len(), 1, "{:?}", self.published);
        self.published.remove(0)
    }

    /// The one answer that was published since the last call.
    pub fn answer(&mut self) -> Answer {
        match self.only() {
            Publication::QueryResponse(event) => event,
            other => panic!("no answer: {other:?}"),
        }
    }

    /// Whom an error was answered to, and its code.
    pub fn refused(&mut self) -> (String, String) {
        let event = self.answer();
        match event.outcome {
            QuoteQueryResult::Failed(error) => (event.requester_fsp, error.code),
            QuoteQueryResult::Found(body) => panic!("found: {body}"),
        }
    }

    pub fn state(&self, id: &str) -> Option<State> {
        self.quotes.get(id).map(|quote| quote.state)
    }
}

pub fn message(method: &str, body: &str) -> Message {
    Message {
        method: method.to_owned(),
        path: "/quotes".to_owned(),
        headers: "fspiop-source: x\n".to_owned(),
        body: body.to_owned(),
    }
}

fn party(identifier: &str) -> PartyId {
    PartyId {
        id_type: "MSISDN".to_owned(),
        identifier: identifier.to_owned(),
        sub_id_or_type: None,
    }
}

pub fn asked(id: &str) -> request_received::Event {
    request_received::Event {
        requester_fsp: PAYER.to_owned(),
        destination_fsp: Some(PAYEE.to_owned()),
        request: QuoteTermsRequested {
            quote_id: id.to_owned(),
            transaction_id: "tx1".to_owned(),
            payer: party("1"),
            payer_fsp: Some(PAYER.to_owned()),
            payee: party("2"),
            payee_fsp: None,
            amount_type: rules::AmountType::Send,
            amount: money("USD", 2, 10_000),
            fees: Some(money("USD", 2, 0)),
            transaction_type: rules::TransactionType {
                scenario: rules::Scenario::Transfer,
                sub_scenario: None,
                initiator: rules::Initiator::Payer,
                initiator_type: rules::InitiatorType::Consumer,
            },
            expiration: Some(EXPIRATION),
        },
        request_hash: "hash-1".to_owned(),
        message: message("POST", "{}"),
    }
}

pub fn terms(id: &str) -> response_received::Event {
    response_received::Event {
        quote_id: id.to_owned(),
        requester_fsp: PAYEE.to_owned(),
        destination_fsp: Some(PAYER.to_owned()),
        response: rules::QuoteResponse {
            transfer_amount: money("USD", 2, 9900),
            payee_receive_amount: Some(money("USD", 2, 9800)),
            payee_fsp_fee: Some(money("USD", 2, 100)),
            payee_fsp_commission: None,
            condition: CONDITION.to_owned(),
            expiration: 2 * EXPIRATION,
        },
        request_hash: "terms-1".to_owned(),
        message: message("PUT", r#"{"transferAmount": "as received"}"#),
    }
}

pub fn refusal(id: &str) -> reject_requested::Event {
    reject_requested::Event {
        quote_id: id.to_owned(),
        requester_fsp: PAYEE.to_owned(),
        destination_fsp: None,
        error: error("5103", "no"),
        message: message("PUT", "{}"),
    }
}

pub fn question(id: &str, requester: &str) -> query_received::Event {
    query_received::Event {
        quote_id: id.to_owned(),
        requester_fsp: requester.to_owned(),
        message: message("GET", ""),
    }
}
