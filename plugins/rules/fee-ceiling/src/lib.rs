//! A scheme rule: the payee FSP's fee must not exceed a ceiling.
//!
//! The rule checks the fee that the payee FSP declares in its terms of a quote.
//!
//! | Module | Holds |
//! |---|---|
//! | [`decimal`] | shares and amounts of the settings, in whole minor units |
//! | [`settings`] | the operator's settings and their checks |
//! | [`judgement`] | the verdict on one fee |

pub mod decimal;
pub mod judgement;
pub mod settings;

use judgement::{ABOVE_CEILING, BRANCHES, NOT_COMPARABLE, judge};
use rialto_sdk::rule::{Verdict, quote_response};
use settings::Settings;

/// Checks the payee FSP's terms. The commission does not count: the payee FSP gives it, and nobody pays it.
fn judge_quote_response(settings: &Settings, input: &quote_response::Input) -> Verdict {
    let response = &input.agreement.response;
    let fee = response.payee_fsp_fee.as_ref();
    judge(settings, fee, &response.transfer_amount)
}

rialto_sdk::rule! {
    summary: "Refuses terms in which the payee FSP's fee is above the ceiling of its currency.",
    codes: [ABOVE_CEILING, NOT_COMPARABLE],
    branches: BRANCHES,
    fuel: 1_000_000,
    settings: Settings,
    validate: settings::validate,
    quote_response: judge_quote_response,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::bindings::rialto::common::types::PartyId;
    use rialto_sdk::bindings::rialto::rules::types as rules;
    use rialto_sdk::money::money;

    fn input(response: rules::QuoteResponse) -> quote_response::Input {
        let party = PartyId {
            id_type: "MSISDN".to_owned(),
            identifier: "1".to_owned(),
            sub_id_or_type: None,
        };
        let request = rules::QuoteRequest {
            quote_id: "q".to_owned(),
            transaction_id: "x".to_owned(),
            payer_fsp: "payerfsp".to_owned(),
            payee_fsp: "payeefsp".to_owned(),
            payer: party.clone(),
            payee: party,
            amount_type: rules::AmountType::Send,
            // The ceiling is a share of the transfer amount, not of the requested amount.
            amount: money("USD", 2, 1_000_000),
            // The payer FSP's fees do not count.
            fees: Some(money("USD", 2, 500_000)),
            transaction_type: rules::TransactionType {
                scenario: rules::Scenario::Transfer,
                sub_scenario: None,
                initiator: rules::Initiator::Payer,
                initiator_type: rules::InitiatorType::Consumer,
            },
            expiration: None,
        };
        quote_response::Input {
            now: 0,
            agreement: rules::Agreement { request, response },
        }
    }

    #[test]
    fn only_fee_and_transfer_amount_are_judged() {
        let text = r#"{ "ceilings": [{ "currency": "USD", "share": "0.01" }] }"#;
        let settings = rialto_sdk::rule::settings(text, settings::validate).unwrap();
        for (fee, is_allowed) in [(None, true), (Some(100), true), (Some(101), false)] {
            let verdict = judge_quote_response(
                &settings,
                &input(rules::QuoteResponse {
                    transfer_amount: money("USD", 2, 10_000),
                    payee_receive_amount: Some(money("EUR", 2, 1)),
                    payee_fsp_fee: fee.map(|fee| money("USD", 2, fee)),
                    payee_fsp_commission: Some(money("EUR", 2, 9999)),
                    condition: "c".to_owned(),
                    expiration: 1,
                }),
            );
            assert_eq!(matches!(verdict, Verdict::Allow), is_allowed, "{fee:?}");
        }
    }
}
