//! Values of a limit: an exact amount, and an offset from UTC, as settings write them.

use rialto_sdk::counters::OFFSET_MINUTES_MAX;
use rialto_sdk::money::minor_units;
use rialto_sdk::rule::Money;
use schemars::JsonSchema;
use serde::Deserialize;

/// The most decimal places of an amount.
const DECIMALS_MAX: usize = 18;
/// The most digits before the point.
const DIGITS_MAX: usize = 18;

/// An amount of a currency, with as many decimal places as its text has: `1000.00`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = "^[0-9]{1,18}([.][0-9]{1,18})?$"))]
pub struct Amount {
    units: u128,
    scale: u32,
    /// For people.
    pub text: String,
}

impl Amount {
    /// Whether minor units of money are more than this amount.
    #[must_use]
    pub fn is_below(&self, units: u128, scale: u8) -> bool {
        let scale = u32::from(scale);
        let factor = 10_u128.checked_pow(self.scale.abs_diff(scale));
        if scale <= self.scale {
            // Beyond 128 bits it is more than any amount of settings.
            let units = factor.and_then(|factor| units.checked_mul(factor));
            units.is_none_or(|units| units > self.units)
        } else {
            let limit = factor.and_then(|factor| self.units.checked_mul(factor));
            limit.is_some_and(|limit| units > limit)
        }
    }
}

impl TryFrom<String> for Amount {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong =
            "must be an amount such as \"1000.00\": 1 to 18 digits, and at most 18 decimals";
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, "0"));
        let fits = |part: &str, most| {
            (1..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !fits(whole, DIGITS_MAX) || !fits(decimals, DECIMALS_MAX) {
            return Err(wrong);
        }
        let units = format!("{whole}{decimals}").parse().map_err(|_| wrong)?;
        let scale = u32::try_from(decimals.len()).map_err(|_| wrong)?;
        Ok(Self { units, scale, text })
    }
}

/// The sum of money that was counted and of one transfer; none beyond 128 bits. Both have the same scale.
#[must_use]
pub fn sum(counted: &Money, transfer: &Money) -> Option<u128> {
    debug_assert_eq!(counted.scale, transfer.scale);
    minor_units(counted).checked_add(minor_units(transfer))
}

/// An offset from UTC, such as `+02:00`, of at most 14 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = "^[+-](0[0-9]|1[0-4]):[0-5][0-9]$"))]
pub struct Offset(i16);

impl Offset {
    /// Minutes; east is positive.
    #[must_use]
    pub const fn minutes(self) -> i16 {
        self.0
    }
}

impl TryFrom<String> for Offset {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = "must be an offset from UTC such as \"+02:00\", at most 14 hours";
        let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = text.as_bytes() else {
            return Err(wrong);
        };
        let digits = [*h1, *h2, *m1, *m2];
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(wrong);
        }
        let [h1, h2, m1, m2] = digits.map(|digit| i16::from(digit - b'0'));
        let (hours, minutes) = (h1 * 10 + h2, m1 * 10 + m2);
        let all = hours * 60 + minutes;
        if minutes > 59 || all > OFFSET_MINUTES_MAX {
            return Err(wrong);
        }
        Ok(Self(if *sign == b'-' { -all } else { all }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        Amount::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn amounts_are_compared_exactly() {
        for (text, units, scale, is_below) in [
            ("10.00", 1_000, 2, false),
            ("10.00", 1_001, 2, true),
            ("10", 1_001, 2, true),
            ("10", 1_000, 2, false),
            // Finer than the currency.
            ("10.005", 1_000, 2, false),
            ("10.005", 1_001, 2, true),
            ("0", 1, 0, true),
            ("0", 0, 0, false),
            ("999999999999999999.999999999999999999", u128::MAX, 0, true),
            ("999999999999999999", u128::MAX, 38, false),
            ("999999999999999999", u128::MAX, 255, false),
        ] {
            assert_eq!(
                amount(text).is_below(units, scale),
                is_below,
                "{text} {units}"
            );
        }
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "1e3",
            "1,5",
            "1234567890123456789",
        ] {
            assert!(Amount::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn offsets_have_sign_hours_and_minutes() {
        let minutes = |text: &str| Offset::try_from(text.to_owned()).map(Offset::minutes).ok();
        assert_eq!(minutes("+02:00"), Some(120));
        assert_eq!(minutes("-05:30"), Some(-330));
        assert_eq!(minutes("+14:00"), Some(840));
        for text in ["", "Z", "2", "+2:00", "+14:01", "+02:60", "02:00", "+aa:bb"] {
            assert_eq!(minutes(text), None, "{text}");
        }
    }
}
