//! The verdict on one transfer.

use crate::limit::sum;
use crate::settings::{Limit, Settings, WithoutAgreement};
use rialto_sdk::counters::{Counted, value};
use rialto_sdk::rule::{Money, Verdict, branch, refuse};

/// FSPIOP's "Payer limit error": more payments, or more money, than allowed within a time.
pub const PAYER_LIMIT: &str = "4200";
/// FSPIOP's "Payee limit error".
pub const PAYEE_LIMIT: &str = "5200";
/// FSPIOP's generic validation error: the transfer has no agreed quote, so its parties are not known.
pub const PARTIES_UNKNOWN: &str = "3100";

/// The branches of a verdict.
pub const BRANCHES: [&str; 6] = [
    "within all limits",
    "too many transfers",
    "too much money",
    "parties unknown: refused",
    "parties unknown: allowed",
    "another currency",
];

/// Most characters of a violation's message.
const MESSAGE_CHARS_MAX: usize = 128;

/// Checks a transfer. The first limit that it exceeds refuses it.
#[must_use]
pub fn judge(settings: &Settings, amount: &Money, counts: &[Counted]) -> Verdict {
    for limit in &settings.limits {
        if limit
            .currency
            .as_ref()
            .is_some_and(|one| *one != amount.currency)
        {
            branch("another currency");
            continue;
        }
        let Some(counted) = value(counts, &limit.counter()) else {
            match settings.without_agreement {
                WithoutAgreement::Refuse => {
                    branch("parties unknown: refused");
                    let message =
                        "the transfer has no agreed quote, which the scheme's limits need";
                    return refuse(PARTIES_UNKNOWN, message);
                }
                WithoutAgreement::Allow => {
                    branch("parties unknown: allowed");
                    continue;
                }
            }
        };
        if limit
            .transfers
            .is_some_and(|most| counted.transfers >= most)
        {
            branch("too many transfers");
            return exceeded(limit, "transfers");
        }
        if let Some(most) = &limit.amount {
            let sum = sum(&counted.amount, amount);
            if sum.is_none_or(|sum| most.is_below(sum, amount.scale)) {
                branch("too much money");
                return exceeded(limit, "money");
            }
        }
    }
    branch("within all limits");
    Verdict::Allow
}

fn exceeded(limit: &Limit, of: &str) -> Verdict {
    let is_payees = limit.per.iter().all(|per| !per.is_of_payer());
    let code = if is_payees { PAYEE_LIMIT } else { PAYER_LIMIT };
    let most = match (of, &limit.amount, &limit.currency, limit.transfers) {
        ("money", Some(amount), Some(currency), _) => format!("{} {currency}", amount.text),
        (_, _, _, Some(1)) => "1 transfer".to_owned(),
        (_, _, _, transfers) => format!("{} transfers", transfers.unwrap_or_default()),
    };
    let per: Vec<&str> = limit.per.iter().map(|per| per.words()).collect();
    let message = format!(
        "the limit of {most} in {} for {} is exceeded",
        limit.window.words(),
        per.join(" and ")
    );
    refuse(
        code,
        message.chars().take(MESSAGE_CHARS_MAX).collect::<String>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{counters, validate};
    use rialto_sdk::counters::Sum;
    use rialto_sdk::money::money;
    use rialto_sdk::testing::Dice;

    fn read(limits: &str) -> Settings {
        let text = format!(r#"{{ "limits": {limits} }}"#);
        rialto_sdk::rule::settings(&text, validate).unwrap()
    }

    /// The same values of all counters.
    fn counts(settings: &Settings, sum: Option<(u64, u128)>) -> Vec<Counted> {
        let counted = |counter| Counted {
            counter,
            sum: sum.map(|(transfers, units)| Sum {
                transfers,
                amount: money("USD", 2, units),
            }),
        };
        counters(settings).into_iter().map(counted).collect()
    }

    /// The code and message of a refusal; empty if the transfer is allowed.
    fn judged(settings: &Settings, sum: Option<(u64, u128)>, units: u128) -> (String, String) {
        let amount = money("USD", 2, units);
        match judge(settings, &amount, &counts(settings, sum)) {
            Verdict::Allow => (String::new(), String::new()),
            Verdict::Refuse(violations) => {
                let first = violations[0].clone();
                assert!((1..=MESSAGE_CHARS_MAX).contains(&first.message.chars().count()));
                (first.code, first.message)
            }
        }
    }

    #[test]
    fn limits_are_reached_and_not_exceeded() {
        let settings = read(
            r#"[{ "per": ["payer"], "window": { "day": "+00:00" }, "currency": "USD", "transfers": 3, "amount": "10.00" }]"#,
        );
        for (transfers, units, more, code) in [
            (0, 0, 1_000, ""),
            (0, 0, 1_001, PAYER_LIMIT),
            (2, 1, 1, ""),
            (3, 1, 1, PAYER_LIMIT),
            (1, 999, 1, ""),
            (1, 1_000, 1, PAYER_LIMIT),
            (1, u128::MAX, 1, PAYER_LIMIT),
        ] {
            let found = judged(&settings, Some((transfers, units)), more).0;
            assert_eq!(found, code, "{transfers} of {units}, and {more}");
        }
    }

    #[test]
    fn message_names_the_limit() {
        let settings = read(
            r#"[{ "per": ["payeeFsp", "payee"], "window": { "rollingSeconds": 60 }, "transfers": 1 },
                { "per": ["payer"], "window": { "month": "+00:00" }, "currency": "USD", "amount": "5" }]"#,
        );
        assert_eq!(
            judged(&settings, Some((1, 1)), 1),
            (
                PAYEE_LIMIT.to_owned(),
                "the limit of 1 transfer in 60 s for payee FSP and payee is exceeded".to_owned()
            )
        );
        assert_eq!(
            judged(&settings, Some((0, 0)), 501),
            (
                PAYER_LIMIT.to_owned(),
                "the limit of 5 USD in a month for payer is exceeded".to_owned()
            )
        );
    }

    #[test]
    fn unknown_parties_are_refused_or_allowed() {
        let mut settings =
            read(r#"[{ "per": ["payer"], "window": { "day": "+00:00" }, "transfers": 1 }]"#);
        assert_eq!(judged(&settings, None, 1).0, PARTIES_UNKNOWN);
        settings.without_agreement = WithoutAgreement::Allow;
        assert_eq!(judged(&settings, None, 1).0, "");
    }

    #[test]
    fn limit_of_another_currency_does_not_apply() {
        let settings = read(
            r#"[{ "per": ["payer"], "window": { "day": "+00:00" }, "currency": "EUR", "transfers": 1 }]"#,
        );
        assert_eq!(judged(&settings, Some((9, 9)), 1).0, "");
    }

    #[test]
    fn exactly_what_stays_within_the_limit_is_allowed() {
        let mut dice = Dice::new(11);
        for _ in 0..5_000 {
            let (most, cents) = (1 + dice.below(20), dice.below(5_000));
            let settings = read(&format!(
                r#"[{{ "per": ["payerFsp"], "window": {{ "week": "-05:00" }}, "currency": "USD",
                    "transfers": {most}, "amount": "{}.{:02}" }}]"#,
                cents / 100,
                cents % 100
            ));
            let (transfers, before, more) =
                (dice.below(25), dice.below(5_000), 1 + dice.below(500));
            let fits = transfers < most && before + more <= cents;
            let sum = Some((transfers, u128::from(before)));
            let found = judged(&settings, sum, u128::from(more)).0;
            assert_eq!(found.is_empty(), fits);
        }
    }
}
