//! The verdict on one payment.

use crate::settings::{Corridor, Settings, includes_currency};
use rialto_sdk::rule::{Verdict, refuse};

/// FSPIOP's "Payer permission error": the payer FSP may not pay the payee FSP.
pub const CORRIDOR_NOT_ALLOWED: &str = "4300";
/// FSPIOP's "Payee unsupported currency", the only code about currencies for both quotes and transfers.
pub const CURRENCY_NOT_ALLOWED: &str = "5106";

/// Most characters of a violation's message.
const MESSAGE_CHARS_MAX: usize = 128;

/// What this rule knows of a quote or a transfer.
#[derive(Debug, Clone, Copy)]
pub struct Payment<'a> {
    /// The id of the payer FSP.
    pub payer: &'a str,
    /// The id of the payee FSP.
    pub payee: &'a str,
    /// The currency of the amount.
    pub currency: &'a str,
}

/// Checks a payment. The first of these reasons refuses it:
///
/// 1. a denied corridor includes it,
/// 2. its currency is not allowed,
/// 3. no corridor leads from its payer to its payee,
/// 4. no such corridor includes its currency.
#[must_use]
pub fn judge(settings: &Settings, payment: Payment<'_>) -> Verdict {
    let Payment {
        payer,
        payee,
        currency,
    } = payment;
    if settings.denied.iter().any(|one| includes(one, payment)) {
        let message = format!("the scheme denies payments from {payer} to {payee} in {currency}");
        return shortened(CORRIDOR_NOT_ALLOWED, &message);
    }
    if !includes_currency(&settings.currencies, currency) {
        let message = format!("the scheme does not allow payments in {currency}");
        return shortened(CURRENCY_NOT_ALLOWED, &message);
    }
    let Some(corridors) = &settings.corridors else {
        return Verdict::Allow;
    };
    if corridors.iter().any(|one| includes(one, payment)) {
        return Verdict::Allow;
    }
    if corridors.iter().any(|one| one.connects(payer, payee)) {
        let message = format!("the corridor from {payer} to {payee} does not allow {currency}");
        return shortened(CURRENCY_NOT_ALLOWED, &message);
    }
    let message = format!("the scheme has no corridor from {payer} to {payee}");
    shortened(CORRIDOR_NOT_ALLOWED, &message)
}

fn includes(corridor: &Corridor, payment: Payment<'_>) -> bool {
    corridor.connects(payment.payer, payment.payee) && corridor.includes_currency(payment.currency)
}

/// A refusal. Ids and currencies of valid length always fit; longer ones are cut off.
fn shortened(code: &str, message: &str) -> Verdict {
    refuse(
        code,
        message.chars().take(MESSAGE_CHARS_MAX).collect::<String>(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::testing::Dice;
    use std::collections::BTreeSet;

    const SETTINGS: &str = r#"{
        "currencies": ["USD", "RWF"],
        "corridors": [
            { "payers": ["green"], "payees": ["*"] },
            { "payers": ["*"], "payees": ["blue"], "currencies": ["RWF"] }
        ],
        "denied": [
            { "payers": ["*"], "payees": ["closed"] },
            { "payers": ["green"], "payees": ["red"], "currencies": ["RWF"] }
        ]
    }"#;

    fn read(text: &str) -> Settings {
        rialto_sdk::rule::settings(text, crate::settings::validate).unwrap()
    }

    /// The code and message of a refusal; empty if the payment is allowed.
    fn judged(settings: &Settings, payer: &str, payee: &str, currency: &str) -> (String, String) {
        let payment = Payment {
            payer,
            payee,
            currency,
        };
        match judge(settings, payment) {
            Verdict::Allow => (String::new(), String::new()),
            Verdict::Refuse(violations) => {
                assert_eq!(violations.len(), 1);
                let first = violations[0].clone();
                assert!([CORRIDOR_NOT_ALLOWED, CURRENCY_NOT_ALLOWED].contains(&&*first.code));
                assert!((1..=MESSAGE_CHARS_MAX).contains(&first.message.chars().count()));
                (first.code, first.message)
            }
        }
    }

    #[test]
    fn first_reason_refuses_the_payment() {
        let settings = read(SETTINGS);
        for (payer, payee, currency, code, message) in [
            ("green", "red", "USD", "", ""),
            ("green", "blue", "RWF", "", ""),
            ("red", "blue", "RWF", "", ""),
            (
                "green",
                "red",
                "RWF",
                "4300",
                "the scheme denies payments from green to red in RWF",
            ),
            (
                "green",
                "closed",
                "EUR",
                "4300",
                "the scheme denies payments from green to closed in EUR",
            ),
            (
                "red",
                "green",
                "EUR",
                "5106",
                "the scheme does not allow payments in EUR",
            ),
            (
                "red",
                "blue",
                "USD",
                "5106",
                "the corridor from red to blue does not allow USD",
            ),
            (
                "red",
                "green",
                "RWF",
                "4300",
                "the scheme has no corridor from red to green",
            ),
            // Ids and currencies are case-sensitive.
            (
                "Green",
                "red",
                "USD",
                "4300",
                "the scheme has no corridor from Green to red",
            ),
            (
                "green",
                "red",
                "usd",
                "5106",
                "the scheme does not allow payments in usd",
            ),
            // `*` is not a wildcard in the payment itself.
            (
                "*",
                "green",
                "USD",
                "4300",
                "the scheme has no corridor from * to green",
            ),
        ] {
            let expected = (code.to_owned(), message.to_owned());
            assert_eq!(judged(&settings, payer, payee, currency), expected);
        }
    }

    #[test]
    fn absent_settings_allow_everything() {
        let settings = Settings::default();
        assert_eq!(judged(&settings, "a", "b", "USD").0, "");
        assert_eq!(judged(&settings, "", "", "").0, "");
        let settings = Settings {
            corridors: Some(Vec::new()),
            ..Settings::default()
        };
        let (code, _) = judged(&settings, "a", "b", "USD");
        assert_eq!(code, "4300", "an empty list allows no corridor");
    }

    #[test]
    fn message_of_longest_ids_is_whole() {
        let (payer, payee) = ("p".repeat(32), "q".repeat(32));
        let settings = read(SETTINGS);
        let denied = format!(r#"{{ "denied": [{{ "payers": ["{payer}"], "payees": ["*"] }}] }}"#);
        let narrow = format!(
            r#"{{ "corridors": [{{ "payers": ["{payer}"], "payees": ["*"], "currencies": ["EUR"] }}] }}"#
        );
        for (settings, end) in [
            (settings, payee.as_str()),
            (read(&denied), "USD"),
            (read(&narrow), "USD"),
        ] {
            let (_, message) = judged(&settings, &payer, &payee, "USD");
            assert!(message.ends_with(end), "{message}");
        }
        let endless = "ü".repeat(1000);
        let (_, message) = judged(&read(SETTINGS), &endless, "b", "USD");
        assert_eq!(message.chars().count(), MESSAGE_CHARS_MAX);
    }

    const FSPS: [&str; 3] = ["a", "b", "c"];
    const CURRENCIES: [&str; 3] = ["USD", "EUR", "RWF"];

    fn some(dice: &mut Dice, of: &[&str]) -> Vec<String> {
        let some = of.iter().filter(|_| dice.chance(50));
        some.map(|one| (*one).to_owned()).collect()
    }

    fn some_fsps(dice: &mut Dice) -> Vec<String> {
        let mut fsps = some(dice, &FSPS);
        if fsps.is_empty() {
            fsps.push("*".to_owned());
        }
        fsps
    }

    fn some_corridors(dice: &mut Dice) -> Vec<Corridor> {
        let count = dice.below(4);
        let corridor = |_| Corridor {
            payers: some_fsps(dice),
            payees: some_fsps(dice),
            currencies: some(dice, &CURRENCIES),
        };
        (0..count).map(corridor).collect()
    }

    /// Every payment of corridors, one by one.
    fn payments(corridors: &[Corridor]) -> BTreeSet<(&str, &str, &str)> {
        fn all<'a>(list: &'a [String], every: &[&'a str]) -> Vec<&'a str> {
            if list.is_empty() || list == ["*"] {
                every.to_vec()
            } else {
                list.iter().map(String::as_str).collect()
            }
        }
        let mut payments = BTreeSet::new();
        for corridor in corridors {
            for payer in all(&corridor.payers, &FSPS) {
                for payee in all(&corridor.payees, &FSPS) {
                    for currency in all(&corridor.currencies, &CURRENCIES) {
                        payments.insert((payer, payee, currency));
                    }
                }
            }
        }
        payments
    }

    #[test]
    fn exactly_the_payments_of_the_settings_are_allowed() {
        let mut dice = Dice::new(17);
        for _ in 0..2000 {
            let mut settings = Settings {
                currencies: some(&mut dice, &CURRENCIES),
                corridors: dice.chance(80).then(|| some_corridors(&mut dice)),
                denied: some_corridors(&mut dice),
            };
            let listed = settings.corridors.clone();
            let allowed = listed.as_deref().map(payments);
            let denied = settings.denied.clone();
            let denied = payments(&denied);
            for payer in FSPS {
                for payee in FSPS {
                    for currency in CURRENCIES {
                        let payment = (payer, payee, currency);
                        let in_corridor = allowed.as_ref().is_none_or(|all| all.contains(&payment));
                        let in_list = settings.currencies.is_empty()
                            || settings.currencies.iter().any(|one| one == currency);
                        let expected = in_corridor && in_list && !denied.contains(&payment);
                        let verdict = judged(&settings, payer, payee, currency);
                        assert_eq!(verdict.0.is_empty(), expected, "{settings:?} {payment:?}");
                        // The order of corridors does not matter.
                        settings.denied.reverse();
                        if let Some(corridors) = &mut settings.corridors {
                            corridors.reverse();
                        }
                        assert_eq!(judged(&settings, payer, payee, currency), verdict);
                    }
                }
            }
        }
    }
}
