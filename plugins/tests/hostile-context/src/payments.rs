//! Questions to rules, about a payment of an amount.

use crate::bindings::rialto::rules::{quote_request_check, transfer_prepare_check};
use rialto_sdk::bindings::rialto::common::types::PartyId;
use rialto_sdk::bindings::rialto::rules::types::{
    AmountType, Initiator, InitiatorType, QuoteRequest, Scenario, TransactionType, Transfer,
    Verdict,
};
use rialto_sdk::money::money;

/// The payment of both questions.
const SUBJECT: &str = "7c23e80c-d078-4077-8263-2c047876fcf6";
/// 2026-01-01T00:00:00Z.
const NOW: u64 = 1_767_225_600_000;

/// Ask the rules for transfers. `allow`, or the first violation's code and message.
pub fn ask_prepare(units: u64) -> String {
    let input = transfer_prepare_check::Input {
        now: NOW,
        transfer: Transfer {
            transfer_id: SUBJECT.to_owned(),
            payer_fsp: "payer".to_owned(),
            payee_fsp: "payee".to_owned(),
            amount: money("USD", 2, u128::from(units)),
            condition: "A".repeat(43),
            expiration: NOW + 30_000,
        },
        agreement: None,
    };
    words(transfer_prepare_check::check(SUBJECT, &input))
}

/// Ask the rules for quotes. `allow`, or the first violation's code and message.
pub fn ask_quote(units: u64) -> String {
    let party = |identifier: &str| PartyId {
        id_type: "MSISDN".to_owned(),
        identifier: identifier.to_owned(),
        sub_id_or_type: None,
    };
    let input = quote_request_check::Input {
        now: NOW,
        request: QuoteRequest {
            quote_id: SUBJECT.to_owned(),
            transaction_id: SUBJECT.to_owned(),
            payer_fsp: "payer".to_owned(),
            payee_fsp: "payee".to_owned(),
            payer: party("250788000001"),
            payee: party("250788000002"),
            amount_type: AmountType::Send,
            amount: money("USD", 2, u128::from(units)),
            fees: None,
            transaction_type: TransactionType {
                scenario: Scenario::Transfer,
                sub_scenario: None,
                initiator: Initiator::Payer,
                initiator_type: InitiatorType::Consumer,
            },
            expiration: None,
        },
    };
    words(quote_request_check::check(SUBJECT, &input))
}

fn words(verdict: Verdict) -> String {
    match verdict {
        Verdict::Allow => "allow".to_owned(),
        Verdict::Refuse(violations) => match violations.into_iter().next() {
            Some(first) => format!("refuse {} {}", first.code, first.message),
            None => "refuse".to_owned(),
        },
    }
}
