//! Exact decimal numbers, with the currency if they are amounts.
//!
//! No operation rounds. An operation whose exact result does not fit fails.

use crate::failure::Failure;
use rialto_sdk::rule::{Money, minor_units};
use std::cmp::Ordering;

/// The most decimal places: 10 to the power of 38 fits in 128 bits with a sign.
const SCALE_MAX: u32 = 38;
/// The most digits of a number in an expression, before the point and after it.
const DIGITS_MAX: usize = 18;

/// A decimal number: `units` times 10 to the power of minus `scale`. It has no zeros at the end of its decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal<'a> {
    units: i128,
    /// At most [`SCALE_MAX`].
    scale: u32,
    /// The currency of an amount; none for a plain number.
    currency: Option<&'a str>,
}

impl Decimal<'static> {
    /// Parses a decimal text without sign: up to 18 digits, and up to 18 decimals after a point.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = match text.split_once('.') {
            None => (text, ""),
            Some((_, "")) => return None,
            Some(parts) => parts,
        };
        let fits = (1..=DIGITS_MAX).contains(&whole.len()) && decimals.len() <= DIGITS_MAX;
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !fits || !are_digits(whole) || !are_digits(decimals) {
            return None;
        }
        let units = format!("{whole}{decimals}").parse().ok()?;
        let scale = u32::try_from(decimals.len()).ok()?;
        Self::new(units, scale, None).ok()
    }
}

impl<'a> Decimal<'a> {
    /// A number without needless zeros.
    fn new(
        mut units: i128,
        mut scale: u32,
        currency: Option<&'a str>,
    ) -> Result<Self, Failure<'a>> {
        while scale > 0 && units % 10 == 0 {
            if units == 0 {
                scale = 0;
                break;
            }
            units /= 10;
            scale -= 1;
        }
        if scale > SCALE_MAX {
            return Err(Failure::TooLarge);
        }
        Ok(Self {
            units,
            scale,
            currency,
        })
    }

    /// The exact amount.
    ///
    /// # Errors
    /// When it does not fit: from 2 to the power of 127 minor units, or with more than 38 decimals.
    pub fn of_money(money: &'a Money) -> Result<Self, Failure<'a>> {
        let units = i128::try_from(minor_units(money)).map_err(|_| Failure::TooLarge)?;
        Self::new(units, u32::from(money.scale), Some(&money.currency))
    }

    /// A whole number.
    #[must_use]
    pub fn of_int(int: i64) -> Self {
        Self {
            units: int.into(),
            scale: 0,
            currency: None,
        }
    }

    /// The currency of the result of an operation on both.
    fn common_currency(&self, other: &Self) -> Result<Option<&'a str>, Failure<'a>> {
        match (self.currency, other.currency) {
            (Some(left), Some(right)) if left != right => Err(Failure::Currencies(left, right)),
            (left, right) => Ok(left.or(right)),
        }
    }

    /// Compares the exact numbers. A plain number compares with an amount of any currency.
    ///
    /// # Errors
    /// When both are amounts, of different currencies.
    pub fn compare(&self, other: &Self) -> Result<Ordering, Failure<'a>> {
        self.common_currency(other)?;
        let (left, right) = (10_i128.pow(self.scale), 10_i128.pow(other.scale));
        let wholes = (self.units / left).cmp(&(other.units / right));
        // The decimals, both with the larger scale: less than 10 to the power of 38.
        let scale = self.scale.max(other.scale);
        let decimals =
            |number: &Self, one: i128| (number.units % one) * 10_i128.pow(scale - number.scale);
        Ok(wholes.then_with(|| decimals(self, left).cmp(&decimals(other, right))))
    }

    /// The exact sum.
    ///
    /// # Errors
    /// When it does not fit, or both are amounts, of different currencies.
    pub fn add(&self, other: &Self) -> Result<Self, Failure<'a>> {
        let currency = self.common_currency(other)?;
        let scale = self.scale.max(other.scale);
        let aligned = |number: &Self| number.units.checked_mul(10_i128.pow(scale - number.scale));
        let sum = aligned(self).zip(aligned(other));
        let sum = sum.and_then(|(left, right)| left.checked_add(right));
        Self::new(sum.ok_or(Failure::TooLarge)?, scale, currency)
    }

    /// The exact difference.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn subtract(&self, other: &Self) -> Result<Self, Failure<'a>> {
        self.add(&other.negate()?)
    }

    /// The exact product of a number and a number or an amount.
    ///
    /// # Errors
    /// When it does not fit, or both are amounts.
    pub fn multiply(&self, other: &Self) -> Result<Self, Failure<'a>> {
        if self.currency.is_some() && other.currency.is_some() {
            return Err(Failure::ProductOfAmounts);
        }
        let units = self.units.checked_mul(other.units);
        Self::new(
            units.ok_or(Failure::TooLarge)?,
            self.scale + other.scale,
            self.currency.or(other.currency),
        )
    }

    /// The number with the other sign.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn negate(&self) -> Result<Self, Failure<'a>> {
        let units = self.units.checked_neg().ok_or(Failure::TooLarge)?;
        Ok(Self { units, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::money::money;
    use rialto_sdk::testing::Dice;

    fn number(text: &str) -> Decimal<'static> {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn only_decimal_texts_are_numbers() {
        for (text, units, scale) in [
            ("0", 0, 0),
            ("0.00", 0, 0),
            ("100", 100, 0),
            ("100.00", 100, 0),
            ("007.50", 75, 1),
            (
                "999999999999999999.999999999999999999",
                10_i128.pow(36) - 1,
                18,
            ),
        ] {
            let expected = Decimal {
                units,
                scale,
                currency: None,
            };
            assert_eq!(Decimal::parse(text), Some(expected), "{text}");
        }
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1,5",
            "1e3",
            " 1",
            "1 ",
            "1.5.5",
            "٥",
            "1_000",
            "1000000000000000000",
            "0.0000000000000000001",
        ] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_compare_exactly_whatever_their_scale() {
        let mut dice = Dice::new(5);
        for _ in 0..20_000 {
            let (left, right) = (dice.below(3000), dice.below(3000));
            let (a, b) = (dice.below(4), dice.below(4));
            let amount = |units: u64, scale: u64| {
                let scale = u32::try_from(scale).unwrap();
                Decimal::new(units.into(), scale, None).unwrap()
            };
            let expected =
                (left * 10_u64.pow(3 - a as u32)).cmp(&(right * 10_u64.pow(3 - b as u32)));
            let (left, right) = (amount(left, a), amount(right, b));
            assert_eq!(left.compare(&right), Ok(expected), "{left:?} {right:?}");
            assert_eq!(left == right, expected == Ordering::Equal);
            let difference = left.subtract(&right).unwrap();
            assert_eq!(difference.compare(&Decimal::of_int(0)), Ok(expected));
            assert_eq!(difference.add(&right), Ok(left));
        }
    }

    #[test]
    fn largest_numbers_compare_without_overflow() {
        let largest = Decimal::new(i128::MAX, 0, None).unwrap();
        let smallest = Decimal::new(1, SCALE_MAX, None).unwrap();
        let lowest = Decimal::new(i128::MIN, SCALE_MAX, None).unwrap();
        assert_eq!(largest.compare(&smallest), Ok(Ordering::Greater));
        assert_eq!(lowest.compare(&smallest), Ok(Ordering::Less));
        assert_eq!(lowest.compare(&largest), Ok(Ordering::Less));
        assert_eq!(largest.add(&smallest), Err(Failure::TooLarge));
        assert_eq!(smallest.multiply(&smallest), Err(Failure::TooLarge));
        assert_eq!(
            Decimal::new(i128::MIN, 0, None).unwrap().negate(),
            Err(Failure::TooLarge)
        );
    }

    #[test]
    fn shares_of_amounts_are_exact() {
        let amount = money("USD", 2, 333);
        let amount = Decimal::of_money(&amount).unwrap();
        let share = amount.multiply(&number("0.015")).unwrap();
        assert_eq!(share.compare(&number("0.04995")), Ok(Ordering::Equal));
        assert_eq!(share.currency, Some("USD"));
        assert_eq!(amount.multiply(&amount), Err(Failure::ProductOfAmounts));
    }

    #[test]
    fn amounts_of_different_currencies_do_not_compare() {
        let (usd, eur) = (money("USD", 2, 100), money("EUR", 2, 100));
        let (usd, eur) = (
            Decimal::of_money(&usd).unwrap(),
            Decimal::of_money(&eur).unwrap(),
        );
        let failure = Failure::Currencies("USD", "EUR");
        assert_eq!(usd.compare(&eur), Err(failure.clone()));
        assert_eq!(usd.add(&eur), Err(failure.clone()));
        assert_eq!(usd.subtract(&eur), Err(failure));
        assert_eq!(usd.compare(&number("1")), Ok(Ordering::Equal));
    }

    #[test]
    fn money_that_does_not_fit_fails() {
        for (scale, units, fits) in [
            (0, 1 << 126, true),
            (2, u128::MAX >> 1, true),
            (2, 1 << 127, false),
            (38, 1, true),
            (39, 1, false),
            (39, 10, true),
            (255, 0, true),
        ] {
            let money = money("USD", scale, units);
            assert_eq!(Decimal::of_money(&money).is_ok(), fits, "{money:?}");
        }
    }
}
