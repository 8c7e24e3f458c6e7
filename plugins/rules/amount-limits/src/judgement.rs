//! The verdict on one amount.

use crate::decimal::Decimal;
use crate::settings::{Limit, Otherwise, Settings, scenario_name};
use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::bindings::rialto::rules::types::{Scenario, Verdict, Violation};
use rialto_sdk::money::format_amount;

/// FSPIOP's "Payer limit error": the amount is outside its limits.
const OUTSIDE_LIMITS: &str = "4200";
/// FSPIOP's "Generic validation error": there is no limit, and the settings require one.
const NO_LIMIT: &str = "3100";

/// Every code that this rule may return.
pub const CODES: [&str; 2] = [OUTSIDE_LIMITS, NO_LIMIT];

/// Most characters of a violation's message.
const MESSAGE_MAX: usize = 128;

/// Checks an amount. The limit of its scenario precedes the one for every scenario. An amount without a known
/// scenario only has the latter.
#[must_use]
pub fn judge(settings: &Settings, amount: &Money, scenario: Option<Scenario>) -> Verdict {
    let find = |wanted: Option<Scenario>| {
        let fits = |limit: &&Limit| limit.currency == amount.currency && limit.scenario == wanted;
        settings.limits.iter().find(fits)
    };
    let own = scenario.and_then(|scenario| find(Some(scenario)));
    let Some(limit) = own.or_else(|| find(None)) else {
        return match settings.otherwise {
            Otherwise::Allow => Verdict::Allow,
            Otherwise::Refuse => refuse(
                NO_LIMIT,
                format!(
                    "the scheme has no limits for {} {}",
                    amount.currency,
                    scenario.map_or("without a quote", |known| scenario_name(Some(known)))
                ),
            ),
        };
    };
    let value = Decimal::of(amount);
    let of = || format!("{} {}", format_amount(amount), amount.currency);
    match limit {
        Limit {
            minimum: Some(minimum),
            ..
        } if value < minimum.value => refuse(
            OUTSIDE_LIMITS,
            format!("{} is less than the minimum {}", of(), minimum.text),
        ),
        Limit {
            maximum: Some(maximum),
            ..
        } if value > maximum.value => refuse(
            OUTSIDE_LIMITS,
            format!("{} is more than the maximum {}", of(), maximum.text),
        ),
        _ => Verdict::Allow,
    }
}

fn refuse(code: &str, message: String) -> Verdict {
    Verdict::Refuse(vec![Violation {
        code: code.to_owned(),
        message: message.chars().take(MESSAGE_MAX).collect(),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::money::money;
    use rialto_sdk::testing::Dice;

    const SETTINGS: &str = r#"{
        "limits": [
            {"currency": "USD", "scenario": "*", "minimum": "1", "maximum": "10000"},
            {"currency": "USD", "scenario": "PAYMENT", "maximum": "50.5"}
        ],
        "otherwise": "refuse"
    }"#;

    fn settings(text: &str) -> Settings {
        Settings::read(text).unwrap()
    }

    /// The code and message of a refusal; none if the amount is allowed.
    fn refusal(verdict: Verdict) -> Option<(String, String)> {
        match verdict {
            Verdict::Allow => None,
            Verdict::Refuse(violations) => {
                assert_eq!(violations.len(), 1);
                violations.into_iter().next().map(|v| (v.code, v.message))
            }
        }
    }

    #[test]
    fn amount_at_a_limit_is_allowed_beyond_is_refused() {
        let settings = settings(SETTINGS);
        let judged = |units, scenario| refusal(judge(&settings, &money("USD", 2, units), scenario));
        let transfer = Some(Scenario::Transfer);
        assert_eq!(judged(100, transfer), None);
        assert_eq!(judged(1_000_000, transfer), None);
        assert_eq!(
            judged(99, transfer),
            Some((
                "4200".to_owned(),
                "0.99 USD is less than the minimum 1".to_owned()
            ))
        );
        assert_eq!(
            judged(1_000_001, None),
            Some((
                "4200".to_owned(),
                "10000.01 USD is more than the maximum 10000".to_owned()
            ))
        );
    }

    #[test]
    fn scenario_limit_precedes_the_general_limit() {
        let settings = settings(SETTINGS);
        let payment = Some(Scenario::Payment);
        let judged = |units, scenario| refusal(judge(&settings, &money("USD", 2, units), scenario));
        assert_eq!(judged(5050, payment), None);
        assert!(judged(5051, payment).is_some());
        assert_eq!(
            judged(50, payment),
            None,
            "a payment has no minimum of its own"
        );
        assert_eq!(
            judged(5051, None),
            None,
            "a transfer without quote is no payment"
        );
    }

    #[test]
    fn what_has_no_limit_is_judged_as_the_settings_say() {
        let amount = money("EUR", 2, 1);
        let strict = judge(&settings(SETTINGS), &amount, Some(Scenario::Refund));
        assert_eq!(
            refusal(strict),
            Some((
                "3100".to_owned(),
                "the scheme has no limits for EUR REFUND".to_owned()
            ))
        );
        let strict = judge(&settings(SETTINGS), &amount, None);
        assert_eq!(
            refusal(strict).unwrap().1,
            "the scheme has no limits for EUR without a quote"
        );
        let lenient = judge(&settings("{}"), &amount, None);
        assert_eq!(refusal(lenient), None);
    }

    #[test]
    fn for_any_limits_exactly_the_amounts_between_them_are_allowed() {
        let mut dice = Dice::new(3);
        for _ in 0..20_000 {
            let (least, greatest) = (dice.below(500), dice.below(500));
            let (least, greatest) = (least.min(greatest), least.max(greatest));
            let text = |units: u64| format!("{}.{:02}", units / 100, units % 100);
            let settings = settings(&format!(
                r#"{{"limits":[{{"currency":"USD","scenario":"*","minimum":"{}","maximum":"{}"}}]}}"#,
                text(least),
                text(greatest)
            ));
            let units = match dice.below(3) {
                0 => least.saturating_sub(1) + dice.below(3),
                1 => greatest.saturating_sub(1) + dice.below(3),
                _ => dice.below(600),
            };
            // In the currency's scale, and in a finer one.
            for amount in [
                money("USD", 2, u128::from(units)),
                money("USD", 4, u128::from(units) * 100),
            ] {
                let allowed = refusal(judge(&settings, &amount, None)).is_none();
                assert_eq!(
                    allowed,
                    (least..=greatest).contains(&units),
                    "{settings:?} {units}"
                );
            }
        }
    }

    #[test]
    fn message_length_and_code_are_valid() {
        let settings = settings(SETTINGS);
        for scale in [0, 2, 255] {
            let amount = money("USD", scale, u128::MAX);
            if let Some((code, message)) = refusal(judge(&settings, &amount, None)) {
                assert!(
                    (1..=MESSAGE_MAX).contains(&message.chars().count()),
                    "{message}"
                );
                assert!(CODES.contains(&code.as_str()));
            }
        }
    }
}
