//! A scheme rule: only allowed currencies and corridors may be used.
//!
//! A corridor says which FSPs may pay which FSPs. The rule checks requests for quotes, and transfers again.
//!
//! | Module | Holds |
//! |---|---|
//! | [`settings`] | the operator's settings and their checks |
//! | [`judgement`] | the verdict on one payment |

pub mod judgement;
pub mod settings;

use judgement::{CORRIDOR_NOT_ALLOWED, CURRENCY_NOT_ALLOWED, Payment, judge};
use rialto_sdk::rule::{Verdict, quote_request, transfer_prepare};
use settings::Settings;

/// Checks a request for a quote.
fn judge_quote_request(settings: &Settings, input: &quote_request::Input) -> Verdict {
    let request = &input.request;
    let payment = Payment {
        payer: &request.payer_fsp,
        payee: &request.payee_fsp,
        currency: &request.amount.currency,
    };
    judge(settings, payment)
}

/// Checks a transfer. The transfer alone decides, not its quote.
fn judge_transfer(settings: &Settings, input: &transfer_prepare::Input) -> Verdict {
    let transfer = &input.transfer;
    let payment = Payment {
        payer: &transfer.payer_fsp,
        payee: &transfer.payee_fsp,
        currency: &transfer.amount.currency,
    };
    judge(settings, payment)
}

rialto_sdk::rule! {
    summary: "Refuses payments in currencies and between FSPs that the scheme does not allow.",
    codes: [CORRIDOR_NOT_ALLOWED, CURRENCY_NOT_ALLOWED],
    settings: Settings,
    validate: settings::validate,
    quote_request: judge_quote_request,
    transfer_prepare: judge_transfer,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::bindings::rialto::common::types::PartyId;
    use rialto_sdk::bindings::rialto::rules::types as rules;
    use rialto_sdk::money::money;

    const SETTINGS: &str = r#"{
        "currencies": ["USD"],
        "corridors": [{ "payers": ["payerfsp"], "payees": ["payeefsp"] }]
    }"#;

    fn read(text: &str) -> Settings {
        rialto_sdk::rule::settings(text, settings::validate).unwrap()
    }

    fn quote_request(payer: &str, payee: &str, currency: &str) -> quote_request::Input {
        let party = PartyId {
            id_type: "MSISDN".to_owned(),
            identifier: "1".to_owned(),
            sub_id_or_type: None,
        };
        quote_request::Input {
            now: 0,
            request: rules::QuoteRequest {
                quote_id: "q".to_owned(),
                transaction_id: "x".to_owned(),
                payer_fsp: payer.to_owned(),
                payee_fsp: payee.to_owned(),
                payer: party.clone(),
                payee: party,
                amount_type: rules::AmountType::Send,
                amount: money(currency, 2, 1),
                // The currency of the fees is not judged.
                fees: Some(money("XXX", 2, 1)),
                transaction_type: rules::TransactionType {
                    scenario: rules::Scenario::Transfer,
                    sub_scenario: None,
                    initiator: rules::Initiator::Payer,
                    initiator_type: rules::InitiatorType::Consumer,
                },
                expiration: None,
            },
        }
    }

    fn transfer(payer: &str, payee: &str, currency: &str) -> transfer_prepare::Input {
        transfer_prepare::Input {
            now: 0,
            transfer: rules::Transfer {
                transfer_id: "t".to_owned(),
                payer_fsp: payer.to_owned(),
                payee_fsp: payee.to_owned(),
                amount: money(currency, 2, 1),
                condition: "c".to_owned(),
                expiration: 1,
            },
            agreement: None,
        }
    }

    fn code(verdict: Verdict) -> String {
        match verdict {
            Verdict::Allow => String::new(),
            Verdict::Refuse(violations) => violations[0].code.clone(),
        }
    }

    #[test]
    fn both_steps_judge_payer_payee_and_currency() {
        let settings = read(SETTINGS);
        for (payer, payee, currency, expected) in [
            ("payerfsp", "payeefsp", "USD", ""),
            ("payeefsp", "payerfsp", "USD", CORRIDOR_NOT_ALLOWED),
            ("payerfsp", "payeefsp", "EUR", CURRENCY_NOT_ALLOWED),
        ] {
            let quote = quote_request(payer, payee, currency);
            assert_eq!(code(judge_quote_request(&settings, &quote)), expected);
            let transfer = transfer(payer, payee, currency);
            assert_eq!(code(judge_transfer(&settings, &transfer)), expected);
        }
    }
}
