//! The verdict on one transfer and its quote.

use crate::settings::Settings;
use rialto_sdk::bindings::rialto::rules::types::{Agreement, Transfer, Verdict, Violation};

/// FSPIOP's "Quote ID not found": no quote was agreed for the transfer.
const NO_QUOTE: &str = "3205";
/// FSPIOP's "Quote expired".
const QUOTE_EXPIRED: &str = "3302";
/// FSPIOP's "Generic validation error": the transfer is not what was agreed.
const DIFFERS: &str = "3100";

/// Every code that this rule may return.
pub const CODES: [&str; 3] = [NO_QUOTE, QUOTE_EXPIRED, DIFFERS];

/// Checks a transfer against the agreed quote of its condition, at an instant in milliseconds since 1970.
#[must_use]
pub fn judge(
    settings: Settings,
    now: u64,
    transfer: &Transfer,
    agreement: Option<&Agreement>,
) -> Verdict {
    let Some(agreement) = agreement else {
        if settings.require_quote {
            return refuse(NO_QUOTE, "no agreed quote has the transfer's condition");
        }
        return Verdict::Allow;
    };
    let differences = differences(transfer, agreement);
    if !differences.is_empty() {
        let message = format!(
            "the transfer differs from its quote in {}",
            list(&differences)
        );
        return refuse(DIFFERS, &message);
    }
    if !settings.allow_expired_quote && now >= agreement.response.expiration {
        return refuse(
            QUOTE_EXPIRED,
            "the terms of the transfer's quote have expired",
        );
    }
    Verdict::Allow
}

/// The members of a transfer that differ from the agreement.
fn differences(transfer: &Transfer, agreement: &Agreement) -> Vec<&'static str> {
    let (request, response) = (&agreement.request, &agreement.response);
    let agreed = &response.transfer_amount;
    let same_currency = transfer.amount.currency == agreed.currency;
    // Only amounts of one currency can be compared. A currency has one scale in a scheme.
    let same_amount = (transfer.amount.scale, &transfer.amount.minor_units)
        == (agreed.scale, &agreed.minor_units);
    [
        ("currency", same_currency),
        ("amount", same_amount || !same_currency),
        ("payer FSP", transfer.payer_fsp == request.payer_fsp),
        ("payee FSP", transfer.payee_fsp == request.payee_fsp),
        ("condition", transfer.condition == response.condition),
    ]
    .into_iter()
    .filter(|(_, is_same)| !is_same)
    .map(|(name, _)| name)
    .collect()
}

/// `a, b and c`.
fn list(names: &[&str]) -> String {
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

fn refuse(code: &str, message: &str) -> Verdict {
    Verdict::Refuse(vec![Violation {
        code: code.to_owned(),
        message: message.to_owned(),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::bindings::rialto::common::types::PartyId;
    use rialto_sdk::bindings::rialto::rules::types as rules;
    use rialto_sdk::money::money;
    use rialto_sdk::testing::Dice;

    const EXPIRATION: u64 = 1000;

    fn agreement() -> Agreement {
        let party = PartyId {
            id_type: "MSISDN".to_owned(),
            identifier: "1".to_owned(),
            sub_id_or_type: None,
        };
        Agreement {
            request: rules::QuoteRequest {
                quote_id: "q".to_owned(),
                transaction_id: "x".to_owned(),
                payer_fsp: "payerfsp".to_owned(),
                payee_fsp: "payeefsp".to_owned(),
                payer: party.clone(),
                payee: party,
                amount_type: rules::AmountType::Send,
                // The requested amount differs from the transferred one by the fees.
                amount: money("USD", 2, 10_000),
                fees: None,
                transaction_type: rules::TransactionType {
                    scenario: rules::Scenario::Transfer,
                    sub_scenario: None,
                    initiator: rules::Initiator::Payer,
                    initiator_type: rules::InitiatorType::Consumer,
                },
                expiration: None,
            },
            response: rules::QuoteResponse {
                transfer_amount: money("USD", 2, 9900),
                payee_receive_amount: None,
                payee_fsp_fee: None,
                payee_fsp_commission: None,
                condition: "c".to_owned(),
                expiration: EXPIRATION,
            },
        }
    }

    fn transfer() -> Transfer {
        Transfer {
            transfer_id: "t".to_owned(),
            payer_fsp: "payerfsp".to_owned(),
            payee_fsp: "payeefsp".to_owned(),
            amount: money("USD", 2, 9900),
            condition: "c".to_owned(),
            expiration: 2 * EXPIRATION,
        }
    }

    /// The code and message of a refusal; empty if the transfer is allowed.
    fn judged(now: u64, transfer: &Transfer, agreement: Option<&Agreement>) -> (String, String) {
        match judge(Settings::default(), now, transfer, agreement) {
            Verdict::Allow => (String::new(), String::new()),
            Verdict::Refuse(violations) => {
                assert_eq!(violations.len(), 1);
                let first = violations[0].clone();
                assert!(CODES.contains(&first.code.as_str()));
                assert!((1..=128).contains(&first.message.chars().count()));
                (first.code, first.message)
            }
        }
    }

    #[test]
    fn agreed_transfer_is_allowed_until_the_quote_expires() {
        let agreement = agreement();
        assert_eq!(judged(EXPIRATION - 1, &transfer(), Some(&agreement)).0, "");
        let (code, message) = judged(EXPIRATION, &transfer(), Some(&agreement));
        assert_eq!(code, "3302");
        assert_eq!(message, "the terms of the transfer's quote have expired");
        let lenient = Settings {
            allow_expired_quote: true,
            ..Settings::default()
        };
        let verdict = judge(lenient, u64::MAX, &transfer(), Some(&agreement));
        assert!(matches!(verdict, Verdict::Allow));
    }

    #[test]
    fn transfer_without_quote_needs_the_setting() {
        assert_eq!(judged(0, &transfer(), None).0, "3205");
        let lenient = Settings {
            require_quote: false,
            ..Settings::default()
        };
        assert!(matches!(
            judge(lenient, 0, &transfer(), None),
            Verdict::Allow
        ));
        let mut changed = transfer();
        changed.payee_fsp = "otherfsp".to_owned();
        let verdict = judge(lenient, 0, &changed, Some(&agreement()));
        assert!(
            matches!(verdict, Verdict::Refuse(_)),
            "a quote that exists still counts"
        );
    }

    #[test]
    fn what_differs_is_named() {
        let mut changed = transfer();
        changed.amount = money("USD", 2, 9901);
        assert_eq!(
            judged(0, &changed, Some(&agreement())),
            (
                "3100".to_owned(),
                "the transfer differs from its quote in amount".to_owned()
            )
        );
        let mut changed = transfer();
        changed.amount = money("EUR", 2, 9901);
        changed.payer_fsp = "a".to_owned();
        changed.payee_fsp = "b".to_owned();
        changed.condition = "d".to_owned();
        assert_eq!(
            judged(EXPIRATION, &changed, Some(&agreement())).1,
            "the transfer differs from its quote in currency, payer FSP, payee FSP and condition"
        );
    }

    #[test]
    fn only_the_agreed_amount_is_allowed() {
        let mut dice = Dice::new(5);
        for _ in 0..20_000 {
            let agreed = u128::from(dice.below(1000));
            let asked = agreed.saturating_sub(1) + u128::from(dice.below(3));
            let mut agreement = agreement();
            agreement.response.transfer_amount = money("USD", 2, agreed);
            let mut transfer = transfer();
            transfer.amount = money("USD", 2, asked);
            let code = judged(0, &transfer, Some(&agreement)).0;
            assert_eq!(code.is_empty(), agreed == asked, "{agreed} {asked}");
        }
    }
}
