//! Tests of the whole rule, and its inputs.

mod against_cel;
mod conditions;
mod mistakes;
mod table;

use rialto_sdk::bindings::rialto::common::types::PartyId;
use rialto_sdk::bindings::rialto::rules::types as rules;
use rialto_sdk::money::money;
use rialto_sdk::rule::{quote_request, quote_response, transfer_fulfil, transfer_prepare};

/// 2026-01-01T09:00:00Z.
const NOW: u64 = 1_767_258_000_000;

fn party(identifier: &str, sub_id_or_type: Option<&str>) -> PartyId {
    PartyId {
        id_type: "MSISDN".to_owned(),
        identifier: identifier.to_owned(),
        sub_id_or_type: sub_id_or_type.map(str::to_owned),
    }
}

fn request() -> rules::QuoteRequest {
    rules::QuoteRequest {
        quote_id: "q-1".to_owned(),
        transaction_id: "x-1".to_owned(),
        payer_fsp: "payerfsp".to_owned(),
        payee_fsp: "payeefsp".to_owned(),
        payer: party("123", None),
        payee: party("987", Some("café")),
        amount_type: rules::AmountType::Send,
        amount: money("USD", 2, 10_050),
        fees: None,
        transaction_type: rules::TransactionType {
            scenario: rules::Scenario::Transfer,
            sub_scenario: None,
            initiator: rules::Initiator::Payer,
            initiator_type: rules::InitiatorType::Agent,
        },
        expiration: Some(NOW + 60_000),
    }
}

fn agreement() -> rules::Agreement {
    rules::Agreement {
        request: request(),
        response: rules::QuoteResponse {
            transfer_amount: money("USD", 2, 10_000),
            payee_receive_amount: Some(money("EUR", 2, 9000)),
            payee_fsp_fee: Some(money("USD", 2, 150)),
            payee_fsp_commission: None,
            condition: "c".to_owned(),
            expiration: NOW + 60_000,
        },
    }
}

fn transfer() -> rules::Transfer {
    rules::Transfer {
        transfer_id: "t-1".to_owned(),
        payer_fsp: "payerfsp".to_owned(),
        payee_fsp: "payeefsp".to_owned(),
        amount: money("USD", 2, 10_050),
        condition: "c".to_owned(),
        expiration: NOW + 30_000,
    }
}

fn to_request() -> quote_request::Input {
    let request = request();
    quote_request::Input { now: NOW, request }
}

fn to_respond() -> quote_response::Input {
    let agreement = agreement();
    quote_response::Input {
        now: NOW,
        agreement,
    }
}

fn to_prepare(has_agreement: bool) -> transfer_prepare::Input {
    transfer_prepare::Input {
        now: NOW,
        transfer: transfer(),
        agreement: has_agreement.then(agreement),
    }
}

fn to_fulfil(completed_timestamp: Option<u64>) -> transfer_fulfil::Input {
    transfer_fulfil::Input {
        now: NOW,
        transfer: transfer(),
        completed_timestamp,
    }
}
