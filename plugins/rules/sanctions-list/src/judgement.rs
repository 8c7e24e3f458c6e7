//! The verdict on a quote or a transfer.

use crate::settings::{Settings, WithoutAgreement};
use rialto_sdk::rule::{Agreement, QuoteRequest, Transfer, Verdict, refuse};

/// FSPIOP's "Generic validation error": a party or a participant is barred. The code names neither the payer nor the
/// payee, and other rules use it too.
pub const NOT_ACCEPTED: &str = "3100";
/// FSPIOP's "Quote ID not found": the parties of the transfer are unknown.
pub const NO_QUOTE: &str = "3205";

/// Checks a request for a quote: its participants, its payer and its payee.
#[must_use]
pub fn judge_quote(settings: &Settings, request: &QuoteRequest) -> Verdict {
    let bars_fsp = bars_fsp(settings, [&request.payer_fsp, &request.payee_fsp]);
    if bars_fsp || bars_party(settings, request) {
        return not_accepted();
    }
    Verdict::Allow
}

/// Checks a transfer: its participants, and the payer and the payee of its agreed quote.
#[must_use]
pub fn judge_transfer(
    settings: &Settings,
    transfer: &Transfer,
    agreement: Option<&Agreement>,
) -> Verdict {
    if bars_fsp(settings, [&transfer.payer_fsp, &transfer.payee_fsp]) {
        return not_accepted();
    }
    match (agreement, settings.without_agreement) {
        (Some(agreement), _) => judge_quote(settings, &agreement.request),
        (None, WithoutAgreement::Allow) => Verdict::Allow,
        (None, WithoutAgreement::Refuse) => {
            refuse(NO_QUOTE, "no agreed quote has the transfer's condition")
        }
    }
}

fn bars_fsp(settings: &Settings, fsps: [&String; 2]) -> bool {
    fsps.into_iter().any(|fsp| settings.fsps.contains(fsp))
}

fn bars_party(settings: &Settings, request: &QuoteRequest) -> bool {
    let parties = [&request.payer, &request.payee];
    let hashes = parties.map(|party| settings.salt.hashes_of(party));
    settings.hashes.has_any(&hashes.concat())
}

/// The same refusal for every entry, so that it does not tell which one there is.
fn not_accepted() -> Verdict {
    refuse(NOT_ACCEPTED, "the request is not accepted")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::bindings::rialto::common::types::PartyId;
    use rialto_sdk::bindings::rialto::rules::types as rules;
    use rialto_sdk::money::money;
    use rialto_sdk::rule::QuoteResponse;
    use serde_json::json;

    const BARRED: &str = "123456789";
    const OTHER: &str = "987654321";

    fn settings(without_agreement: &str) -> Settings {
        let salt = "000102030405060708090a0b0c0d0e0f";
        let value = json!({
            "salt": salt,
            "hashes": [
                "00000000000000000000000000000000000000000000000000000000000000ff",
                // MSISDN/123456789
                "46f9323e2a49f318db8cc2adadd850c90ca6d51ade0c4c99ee8c47aac51c733d",
            ],
            "fsps": ["barredfsp"],
            "withoutAgreement": without_agreement,
        });
        serde_json::from_value(value).unwrap()
    }

    fn party(identifier: &str) -> PartyId {
        PartyId {
            id_type: "MSISDN".to_owned(),
            identifier: identifier.to_owned(),
            sub_id_or_type: None,
        }
    }

    fn request([payer_fsp, payee_fsp]: [&str; 2], [payer, payee]: [&str; 2]) -> QuoteRequest {
        QuoteRequest {
            quote_id: "q".to_owned(),
            transaction_id: "x".to_owned(),
            payer_fsp: payer_fsp.to_owned(),
            payee_fsp: payee_fsp.to_owned(),
            payer: party(payer),
            payee: party(payee),
            amount_type: rules::AmountType::Send,
            amount: money("USD", 2, 10_000),
            fees: None,
            transaction_type: rules::TransactionType {
                scenario: rules::Scenario::Transfer,
                sub_scenario: None,
                initiator: rules::Initiator::Payer,
                initiator_type: rules::InitiatorType::Consumer,
            },
            expiration: None,
        }
    }

    fn agreement(request: QuoteRequest) -> Agreement {
        Agreement {
            request,
            response: QuoteResponse {
                transfer_amount: money("USD", 2, 9900),
                payee_receive_amount: None,
                payee_fsp_fee: None,
                payee_fsp_commission: None,
                condition: "c".to_owned(),
                expiration: 1000,
            },
        }
    }

    fn transfer([payer_fsp, payee_fsp]: [&str; 2]) -> Transfer {
        Transfer {
            transfer_id: "t".to_owned(),
            payer_fsp: payer_fsp.to_owned(),
            payee_fsp: payee_fsp.to_owned(),
            amount: money("USD", 2, 9900),
            condition: "c".to_owned(),
            expiration: 2000,
        }
    }

    /// The code and message of a refusal; empty if the rule allows.
    fn told(verdict: Verdict) -> (String, String) {
        match verdict {
            Verdict::Allow => (String::new(), String::new()),
            Verdict::Refuse(violations) => {
                assert_eq!(violations.len(), 1);
                (violations[0].code.clone(), violations[0].message.clone())
            }
        }
    }

    #[test]
    fn barred_parties_and_participants_get_the_same_words() {
        let (fsps, parties) = (["payerfsp", "payeefsp"], [OTHER, "1"]);
        let allowed = (String::new(), String::new());
        let refused = (
            NOT_ACCEPTED.to_owned(),
            "the request is not accepted".to_owned(),
        );
        for (fsps, parties, expected) in [
            (fsps, parties, &allowed),
            (fsps, [BARRED, OTHER], &refused),
            (fsps, [OTHER, BARRED], &refused),
            (fsps, [BARRED, BARRED], &refused),
            (["barredfsp", "payeefsp"], parties, &refused),
            (["payerfsp", "barredfsp"], parties, &refused),
            (["Barredfsp", "payeefsp"], parties, &allowed),
            (["barredfsp", "payeefsp"], [BARRED, OTHER], &refused),
        ] {
            let settings = settings("refuse");
            let request = request(fsps, parties);
            let quote = told(judge_quote(&settings, &request));
            assert_eq!(quote, *expected, "{fsps:?} {parties:?}");
            let agreement = agreement(request);
            let judged = judge_transfer(&settings, &transfer(fsps), Some(&agreement));
            assert_eq!(told(judged), *expected, "{fsps:?} {parties:?}");
        }
    }

    #[test]
    fn transfer_without_agreement_needs_the_setting() {
        for (setting, fsps, code) in [
            ("allow", ["payerfsp", "payeefsp"], ""),
            ("refuse", ["payerfsp", "payeefsp"], NO_QUOTE),
            ("allow", ["barredfsp", "payeefsp"], NOT_ACCEPTED),
            ("refuse", ["payerfsp", "barredfsp"], NOT_ACCEPTED),
        ] {
            let judged = told(judge_transfer(&settings(setting), &transfer(fsps), None));
            assert_eq!(judged.0, code, "{setting} {fsps:?}");
        }
    }

    #[test]
    fn participants_of_transfer_and_of_its_quote_count() {
        let agreement = agreement(request(["payerfsp", "barredfsp"], [OTHER, "1"]));
        let transfer = transfer(["payerfsp", "payeefsp"]);
        let judged = told(judge_transfer(
            &settings("allow"),
            &transfer,
            Some(&agreement),
        ));
        assert_eq!(judged.0, NOT_ACCEPTED);
    }
}
