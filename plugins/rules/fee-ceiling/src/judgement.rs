//! The verdict on one fee.

use crate::settings::{Otherwise, Settings};
use rialto_sdk::money::{format_amount, money};
use rialto_sdk::rule::{Money, Verdict, branch, minor_units, refuse};

/// FSPIOP's "Payee limit error": the payee FSP's fee is above its ceiling.
pub const ABOVE_CEILING: &str = "5200";
/// FSPIOP's "Generic validation error": no ceiling applies to the fee, and it is not allowed without one.
pub const NOT_COMPARABLE: &str = "3100";

/// The branches of a judgement, for the report on which of them decide.
pub const BRANCHES: [&str; 6] = [
    NO_FEE,
    OTHER_CURRENCY,
    OTHER_SCALE,
    ABOVE,
    WITHIN,
    NO_CEILING,
];
const NO_FEE: &str = "no-fee";
const OTHER_CURRENCY: &str = "other-currency";
const OTHER_SCALE: &str = "other-scale";
const ABOVE: &str = "above-ceiling";
const WITHIN: &str = "within-ceiling";
const NO_CEILING: &str = "no-ceiling";

/// Most characters of a violation's message.
const MESSAGE_CHARS_MAX: usize = 128;

/// Checks a fee against the ceiling of the transfer amount's currency.
///
/// - No fee, or a fee of zero, is always allowed.
/// - A fee of another currency or scale than the transfer amount's is always refused.
#[must_use]
pub fn judge(settings: &Settings, fee: Option<&Money>, transfer_amount: &Money) -> Verdict {
    let Some(fee) = fee.filter(|fee| minor_units(fee) > 0) else {
        branch(NO_FEE);
        return Verdict::Allow;
    };
    let currency = &transfer_amount.currency;
    if fee.currency != *currency {
        branch(OTHER_CURRENCY);
        let message = format!(
            "the payee FSP's fee is in {}, but the transfer amount is in {currency}",
            fee.currency
        );
        return shortened(NOT_COMPARABLE, &message);
    }
    // A currency has one scale in a scheme, so this is a fault of the hub.
    if fee.scale != transfer_amount.scale {
        branch(OTHER_SCALE);
        let message = format!(
            "the payee FSP's fee has {} decimal places, but the transfer amount has {}",
            fee.scale, transfer_amount.scale
        );
        return shortened(NOT_COMPARABLE, &message);
    }
    let mut ceilings = settings.ceilings.iter();
    let ceiling = ceilings
        .find(|ceiling| ceiling.currency == *currency)
        .and_then(|ceiling| ceiling.minor_units(minor_units(transfer_amount), fee.scale));
    match (ceiling, settings.otherwise) {
        (Some(ceiling), _) if minor_units(fee) > ceiling => {
            branch(ABOVE);
            let message = format!(
                "the payee FSP's fee of {} {currency} is above the ceiling of {} {currency}",
                format_amount(fee),
                format_amount(&money(currency, fee.scale, ceiling)),
            );
            shortened(ABOVE_CEILING, &message)
        }
        (None, Otherwise::Refuse) => {
            branch(NO_CEILING);
            let message = format!("the scheme has no ceiling for fees in {currency}");
            shortened(NOT_COMPARABLE, &message)
        }
        (Some(_), _) => {
            branch(WITHIN);
            Verdict::Allow
        }
        (None, Otherwise::Allow) => {
            branch(NO_CEILING);
            Verdict::Allow
        }
    }
}

/// A refusal. Amounts and currencies of valid length always fit; longer ones are cut off.
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

    const SETTINGS: &str = r#"{
        "ceilings": [
            { "currency": "USD", "share": "0.01", "maximum": "25" },
            { "currency": "RWF", "share": "0.015" },
            { "currency": "EUR", "maximum": "2.505" },
            { "currency": "XAF", "maximum": "0" }
        ],
        "otherwise": "refuse"
    }"#;

    fn read(text: &str) -> Settings {
        rialto_sdk::rule::settings(text, crate::settings::validate).unwrap()
    }

    /// The code and message of a refusal; empty if the fee is allowed.
    fn judged(settings: &Settings, fee: Option<&Money>, amount: &Money) -> (String, String) {
        match judge(settings, fee, amount) {
            Verdict::Allow => (String::new(), String::new()),
            Verdict::Refuse(violations) => {
                assert_eq!(violations.len(), 1);
                let first = violations[0].clone();
                assert!([ABOVE_CEILING, NOT_COMPARABLE].contains(&&*first.code));
                assert!((1..=MESSAGE_CHARS_MAX).contains(&first.message.chars().count()));
                (first.code, first.message)
            }
        }
    }

    #[test]
    fn fee_at_the_ceiling_is_allowed_above_is_refused() {
        let settings = read(SETTINGS);
        for (currency, scale, amount, largest, message) in [
            (
                "USD",
                2,
                10_000,
                100,
                "the payee FSP's fee of 1.01 USD is above the ceiling of 1 USD",
            ),
            (
                "USD",
                2,
                249_999,
                2499,
                "the payee FSP's fee of 25 USD is above the ceiling of 24.99 USD",
            ),
            (
                "USD",
                2,
                250_000,
                2500,
                "the payee FSP's fee of 25.01 USD is above the ceiling of 25 USD",
            ),
            (
                "USD",
                2,
                99_999_999,
                2500,
                "the payee FSP's fee of 25.01 USD is above the ceiling of 25 USD",
            ),
            (
                "USD",
                2,
                99,
                0,
                "the payee FSP's fee of 0.01 USD is above the ceiling of 0 USD",
            ),
            (
                "RWF",
                0,
                133,
                1,
                "the payee FSP's fee of 2 RWF is above the ceiling of 1 RWF",
            ),
            (
                "RWF",
                0,
                134,
                2,
                "the payee FSP's fee of 3 RWF is above the ceiling of 2 RWF",
            ),
            // The maximum is finer than the currency.
            (
                "EUR",
                2,
                1,
                250,
                "the payee FSP's fee of 2.51 EUR is above the ceiling of 2.5 EUR",
            ),
            (
                "XAF",
                0,
                1_000_000,
                0,
                "the payee FSP's fee of 1 XAF is above the ceiling of 0 XAF",
            ),
        ] {
            let amount = money(currency, scale, amount);
            let fee = |units| money(currency, scale, units);
            assert_eq!(judged(&settings, Some(&fee(largest)), &amount).0, "");
            let expected = (ABOVE_CEILING.to_owned(), message.to_owned());
            assert_eq!(
                judged(&settings, Some(&fee(largest + 1)), &amount),
                expected
            );
        }
    }

    #[test]
    fn fee_without_a_ceiling_is_judged_by_otherwise() {
        let amount = money("JPY", 0, 100);
        let strict = read(SETTINGS);
        assert_eq!(
            judged(&strict, Some(&money("JPY", 0, 1)), &amount),
            (
                NOT_COMPARABLE.to_owned(),
                "the scheme has no ceiling for fees in JPY".to_owned()
            )
        );
        let lenient = Settings {
            otherwise: Otherwise::Allow,
            ..strict
        };
        assert_eq!(judged(&lenient, Some(&money("JPY", 0, 100)), &amount).0, "");
    }

    #[test]
    fn no_fee_is_allowed_in_every_currency() {
        let settings = read(SETTINGS);
        let amount = money("JPY", 0, 100);
        assert_eq!(judged(&settings, None, &amount).0, "");
        assert_eq!(judged(&settings, Some(&money("JPY", 0, 0)), &amount).0, "");
        assert_eq!(judged(&settings, Some(&money("USD", 2, 0)), &amount).0, "");
        let nothing = money("USD", 2, 0);
        assert_eq!(judged(&settings, None, &nothing).0, "");
        assert_eq!(judged(&settings, Some(&nothing), &nothing).0, "");
        assert_eq!(
            judged(&settings, Some(&money("USD", 2, 1)), &nothing).0,
            ABOVE_CEILING
        );
    }

    #[test]
    fn fee_of_another_currency_or_scale_is_refused() {
        let strict = read(SETTINGS);
        let lenient = read(r#"{ "ceilings": [] }"#);
        let amount = money("USD", 2, 10_000);
        for settings in [&strict, &lenient] {
            for (fee, message) in [
                (
                    money("EUR", 2, 1),
                    "the payee FSP's fee is in EUR, but the transfer amount is in USD",
                ),
                (
                    money("USD", 3, 1),
                    "the payee FSP's fee has 3 decimal places, but the transfer amount has 2",
                ),
            ] {
                let expected = (NOT_COMPARABLE.to_owned(), message.to_owned());
                assert_eq!(judged(settings, Some(&fee), &amount), expected);
            }
        }
    }

    #[test]
    fn exactly_the_fees_up_to_share_and_maximum_are_allowed() {
        let mut dice = Dice::new(31);
        for _ in 0..20_000 {
            let (parts, maximum) = (dice.below(10_001), dice.below(2000));
            let share = format!("{}.{:04}", parts / 10_000, parts % 10_000);
            let text = format!("{}.{:02}", maximum / 100, maximum % 100);
            let (has_share, has_maximum) =
                *dice.pick(&[(true, true), (true, false), (false, true)]);
            let mut members = vec![r#""currency": "USD""#.to_owned()];
            members.extend(has_share.then(|| format!(r#""share": "{share}""#)));
            members.extend(has_maximum.then(|| format!(r#""maximum": "{text}""#)));
            let settings = read(&format!(
                r#"{{ "ceilings": [{{ {} }}], "otherwise": "refuse" }}"#,
                members.join(", ")
            ));
            let amount = dice.below(10_000);
            // Often one of the two limits, or a neighbour of it.
            let fee = match dice.below(3) {
                0 => (maximum + dice.below(3)).saturating_sub(1),
                1 => (amount * parts / 10_000 + dice.below(3)).saturating_sub(1),
                _ => dice.below(4000),
            };
            let fits_share = !has_share || fee * 10_000 <= amount * parts;
            let fits_maximum = !has_maximum || fee <= maximum;
            let (code, _) = judged(
                &settings,
                Some(&money("USD", 2, fee.into())),
                &money("USD", 2, amount.into()),
            );
            let expected = if fits_share && fits_maximum {
                ""
            } else {
                ABOVE_CEILING
            };
            assert_eq!(code, expected, "{settings:?} {fee} of {amount}");
        }
    }

    #[test]
    fn any_money_has_a_verdict() {
        let settings = read(SETTINGS);
        let mut dice = Dice::new(37);
        let any = |dice: &mut Dice| {
            let units = (u128::from(dice.any()) << 64) | u128::from(dice.any());
            let scale = *dice.pick(&[0, 2, 38, 39, 255]);
            let currency = *dice.pick(&["USD", "RWF", "EUR", "XAF", "JPY", "", "a long currency"]);
            money(currency, scale, units >> dice.below(128))
        };
        for _ in 0..20_000 {
            let (mut fee, amount) = (any(&mut dice), any(&mut dice));
            if dice.chance(80) {
                fee.currency.clone_from(&amount.currency);
                fee.scale = amount.scale;
            }
            let (code, _) = judged(&settings, Some(&fee), &amount);
            let is_twice_allowed = code.is_empty() && minor_units(&fee) > minor_units(&amount);
            let is_share = ["USD", "RWF"].contains(&&*amount.currency);
            assert!(!is_share || !is_twice_allowed, "{fee:?} {amount:?}");
        }
        let largest = money("USD", 255, u128::MAX);
        assert_eq!(judged(&settings, Some(&largest), &largest).0, ABOVE_CEILING);
    }

    #[test]
    fn message_of_largest_fspiop_amounts_is_whole() {
        // 18 digits before the point and 4 after it.
        let largest = money("USD", 4, 10_u128.pow(22) - 1);
        let settings = read(r#"{ "ceilings": [{ "currency": "USD", "share": "0.99999" }] }"#);
        let (_, message) = judged(&settings, Some(&largest), &largest);
        assert!(message.ends_with(" USD"), "{message}");
    }
}
