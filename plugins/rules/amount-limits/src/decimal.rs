//! Exact decimal numbers, compared with money of any scale. No float comes near them.

use rialto_sdk::bindings::rialto::common::types::Money;
use rialto_sdk::money::minor_units;
use std::cmp::Ordering;

/// The most digits before the point, and after it: 36 digits fit in 128 bits.
const DIGITS_MAX: usize = 18;

/// A number without sign: `units` times ten to the power of minus `scale`.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    units: u128,
    scale: u8,
}

impl Decimal {
    /// Parses a number like `1`, `0.5` or `1000.00`. None for any other text.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (integer, decimals) = match text.split_once('.') {
            None => (text, ""),
            Some((_, "")) => return None,
            Some(parts) => parts,
        };
        let has_needless_zero = integer.len() > 1 && integer.starts_with('0');
        let lengths_fit = (1..=DIGITS_MAX).contains(&integer.len()) && decimals.len() <= DIGITS_MAX;
        if has_needless_zero || !lengths_fit {
            return None;
        }
        let mut units: u128 = 0;
        for digit in integer.bytes().chain(decimals.bytes()) {
            if !digit.is_ascii_digit() {
                return None;
            }
            units = units * 10 + u128::from(digit - b'0');
        }
        let scale = u8::try_from(decimals.len()).ok()?;
        Some(Self { units, scale })
    }

    /// The amount of money, without its currency.
    #[must_use]
    pub fn of(money: &Money) -> Self {
        Self {
            units: minor_units(money),
            scale: money.scale,
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale > other.scale {
            return other.cmp(self).reverse();
        }
        // Bring self to the finer scale of other. A number that then does not fit in 128 bits is larger than
        // any that does, unless it is zero.
        let factor = 10_u128.checked_pow(u32::from(other.scale - self.scale));
        let scaled = factor.and_then(|factor| self.units.checked_mul(factor));
        match scaled {
            _ if self.units == 0 => 0.cmp(&other.units),
            Some(units) => units.cmp(&other.units),
            None => Ordering::Greater,
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::money::{format_amount, money};
    use rialto_sdk::testing::Dice;

    fn read(text: &str) -> Decimal {
        Decimal::read(text).unwrap_or_else(|| panic!("{text} is no number"))
    }

    #[test]
    fn only_plain_decimal_numbers_are_read() {
        for text in [
            "0",
            "1",
            "0.5",
            "1000.00",
            "999999999999999999.999999999999999999",
        ] {
            assert!(Decimal::read(text).is_some(), "{text}");
        }
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "01",
            " 1",
            "1 ",
            "1,000",
            "1.2.3",
            "٣",
            "1000000000000000000",
            "0.1000000000000000000",
        ] {
            assert!(Decimal::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn numbers_of_different_scales_are_compared_exactly() {
        assert_eq!(read("1000.00"), read("1000"));
        assert!(read("0.1") > read("0.099999999999999999"));
        assert!(read("0.01") > Decimal::of(&money("X", 255, u128::MAX)));
        assert!(Decimal::of(&money("X", 0, u128::MAX)) > read("0.000000000000000001"));
        assert_eq!(
            Decimal::of(&money("X", 0, 0)),
            Decimal::of(&money("X", 255, 0))
        );
        assert!(Decimal::of(&money("X", 0, 0)) < Decimal::of(&money("X", 255, 1)));
    }

    #[test]
    fn number_compares_alike_in_every_scale() {
        let mut dice = Dice::new(11);
        for _ in 0..20_000 {
            let (one, other) = (dice.below(100_000), dice.below(100_000));
            // The same two numbers, in random scales.
            let mut dressed = |value: u64| {
                let extra = u32::try_from(dice.below(8)).unwrap_or(0);
                let scale = 2 + u8::try_from(extra).unwrap_or(0);
                money("X", scale, u128::from(value) * 10_u128.pow(extra))
            };
            let (left, right) = (dressed(one), dressed(other));
            let expected = one.cmp(&other);
            assert_eq!(Decimal::of(&left).cmp(&Decimal::of(&right)), expected);
            let text = format_amount(&left);
            assert_eq!(read(&text).cmp(&Decimal::of(&right)), expected, "{text}");
        }
    }
}
