//! The verdict on one transfer.

use crate::settings::{Settings, WithoutAgreement, same_payments};
use rialto_sdk::counters::{Counted, value};
use rialto_sdk::rule::{Verdict, branch, refuse};

/// FSPIOP's generic validation error. It has no code for a payment that was made before under another id: 3106 is about
/// an id that was used before.
pub const DUPLICATE: &str = "3100";

/// The branches of a verdict.
pub const BRANCHES: [&str; 4] = [
    "first payment",
    "duplicate",
    "parties unknown: refused",
    "parties unknown: allowed",
];

/// Checks a transfer.
#[must_use]
pub fn judge(settings: &Settings, counts: &[Counted]) -> Verdict {
    match (
        value(counts, &same_payments(settings)),
        settings.without_agreement,
    ) {
        (Some(before), _) if before.transfers == 0 => {
            branch("first payment");
            Verdict::Allow
        }
        (Some(_), _) => {
            branch("duplicate");
            let seconds = settings.window_seconds;
            let message = format!(
                "the same payer has paid the same amount to the same payee within {seconds} s"
            );
            refuse(DUPLICATE, message)
        }
        (None, WithoutAgreement::Refuse) => {
            branch("parties unknown: refused");
            let message = "the transfer has no agreed quote, by which duplicates are found";
            refuse(DUPLICATE, message)
        }
        (None, WithoutAgreement::Allow) => {
            branch("parties unknown: allowed");
            Verdict::Allow
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::counters::Sum;
    use rialto_sdk::money::money;

    fn code(settings: &Settings, transfers: Option<u64>) -> String {
        let counts = [Counted {
            counter: same_payments(settings),
            sum: transfers.map(|transfers| Sum {
                transfers,
                amount: money("USD", 2, u128::from(transfers)),
            }),
        }];
        match judge(settings, &counts) {
            Verdict::Allow => String::new(),
            Verdict::Refuse(violations) => {
                assert!((1..=128).contains(&violations[0].message.chars().count()));
                violations[0].code.clone()
            }
        }
    }

    #[test]
    fn second_payment_is_a_duplicate() {
        let mut settings = Settings {
            window_seconds: 34_300_800,
            by_scenario: false,
            without_agreement: WithoutAgreement::Refuse,
        };
        assert_eq!(code(&settings, Some(0)), "");
        assert_eq!(code(&settings, Some(1)), DUPLICATE);
        assert_eq!(code(&settings, None), DUPLICATE);
        settings.without_agreement = WithoutAgreement::Allow;
        assert_eq!(code(&settings, None), "");
    }
}
