//! Amounts in whole minor units, and their decimal form for people.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Minor units; decimal text in documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Units(pub i128);

impl<'de> Deserialize<'de> for Units {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let wrong = || D::Error::custom(format!("`{text}` is no number of minor units"));
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let units = text.parse().ok().filter(|_| is_number);
        units.map(Self).ok_or_else(wrong)
    }
}

/// Minor units as decimal text with the currency's places: `-1.50`.
pub fn decimal(units: i128, scale: u8) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let places = usize::from(scale);
    let digits = format!("{:0>width$}", units.unsigned_abs(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    match places {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{fraction}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_units_become_decimal_text() {
        assert_eq!(decimal(0, 2), "0.00");
        assert_eq!(decimal(5, 2), "0.05");
        assert_eq!(decimal(-150, 2), "-1.50");
        assert_eq!(decimal(-150, 0), "-150");
        assert_eq!(decimal(123_456, 4), "12.3456");
        assert_eq!(
            decimal(i128::MIN, 0),
            "-170141183460469231731687303715884105728"
        );
    }

    #[test]
    fn only_digits_are_an_amount() {
        let read = |text: &str| serde_json::from_str::<Units>(text).ok().map(|u| u.0);
        assert_eq!(read("\"120\""), Some(120));
        for text in ["\"\"", "\"-1\"", "\"+1\"", "\"1.0\"", "1", "\" 1\""] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
