//! Amounts of money as exact decimal text; never a float.

use std::fmt;
use std::str::FromStr;

use super::{Invalid, text_value};

/// Digits before the point: as many as FSPIOP's Amount has.
const INTEGER_DIGITS_MAX: usize = 18;
/// The most digits after the point. A currency's scale allows fewer.
const DECIMALS_MAX: usize = 18;

/// An exact amount, written `1000.00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Amount {
    /// All digits as one number: at most 36 digits, so it fits.
    units: u128,
    /// How many of them are after the point.
    decimals: u8,
}

text_value!(
    Amount,
    "amount",
    "an amount",
    "1000.00",
    "^(0|[1-9][0-9]{0,17})([.][0-9]{1,18})?$"
);

/// An amount has more decimals than its currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the currency has {scale} decimals")]
pub struct OverPrecise {
    /// The currency's decimals.
    pub scale: u8,
}

impl Amount {
    /// The amount in minor units of a currency of that scale.
    ///
    /// # Errors
    /// When a digit beyond the scale is not zero, because amounts are never rounded. Also when the number
    /// does not fit in 128 bits, which needs a scale above 18.
    pub fn minor_units(self, scale: u8) -> Result<u128, OverPrecise> {
        if self.decimals <= scale {
            return 10_u128
                .checked_pow(u32::from(scale - self.decimals))
                .and_then(|factor| self.units.checked_mul(factor))
                .ok_or(OverPrecise { scale });
        }
        let factor = 10_u128.pow(u32::from(self.decimals - scale));
        if self.units.is_multiple_of(factor) {
            Ok(self.units / factor)
        } else {
            Err(OverPrecise { scale })
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let factor = 10_u128.pow(u32::from(self.decimals));
        write!(f, "{}", self.units / factor)?;
        if self.decimals > 0 {
            let width = usize::from(self.decimals);
            write!(f, ".{:0width$}", self.units % factor)?;
        }
        Ok(())
    }
}

impl FromStr for Amount {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let malformed = || Invalid::new("amounts are decimal digits, as in `1000.00`");
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let (integer, decimals) = match text.split_once('.') {
            Some((integer, decimals)) if digits(decimals) => (integer, decimals),
            Some(_) => return Err(malformed()),
            None => (text, ""),
        };
        if !digits(integer) || (integer.len() > 1 && integer.starts_with('0')) {
            return Err(malformed());
        }
        if integer.len() > INTEGER_DIGITS_MAX || decimals.len() > DECIMALS_MAX {
            return Err(Invalid::new(
                "amounts have at most 18 digits before the point and 18 after it",
            ));
        }
        let units = integer
            .bytes()
            .chain(decimals.bytes())
            .fold(0, |units: u128, b| units * 10 + u128::from(b - b'0'));
        Ok(Self {
            units,
            decimals: decimals.len() as u8,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    #[test]
    fn amounts_are_exact() {
        assert_eq!(amount("1000.00").minor_units(2), Ok(100_000));
        assert_eq!(amount("1000").minor_units(2), Ok(100_000));
        assert_eq!(amount("0.5").minor_units(4), Ok(5_000));
        assert_eq!(amount("7.000").minor_units(0), Ok(7));
        assert_eq!(
            amount("0.005").minor_units(2),
            Err(OverPrecise { scale: 2 })
        );
        for bad in [
            "", ".", "1.", ".5", "-1", "+1", "01", "1e3", "1,000", "1_000", "١", " 1",
        ] {
            assert!(bad.parse::<Amount>().is_err(), "{bad}");
        }
    }

    #[test]
    fn eighteen_digits_are_taken_and_nineteen_refused() {
        let nines = "9".repeat(18);
        assert_eq!(
            amount(&nines).minor_units(4),
            Ok((10_u128.pow(18) - 1) * 10_000)
        );
        assert!(format!("1{nines}").parse::<Amount>().is_err());
        assert!(format!("{nines}.{nines}").parse::<Amount>().is_ok());
    }

    proptest! {
        #[test]
        fn an_amount_is_written_as_it_was_read(text in "(0|[1-9][0-9]{0,17})([.][0-9]{1,18})?") {
            prop_assert_eq!(amount(&text).to_string(), text);
        }

        #[test]
        fn minor_units_survive_any_number_of_trailing_zeros(
            units in 0_u128..10_u128.pow(18), scale in 0_u8..5, zeros in 0_usize..5
        ) {
            let factor = 10_u128.pow(u32::from(scale));
            let width = usize::from(scale);
            let mut text = format!("{}", units / factor);
            if scale > 0 {
                text += &format!(".{:0width$}", units % factor);
                text += &"0".repeat(zeros);
            }
            prop_assert_eq!(amount(&text).minor_units(scale), Ok(units));
        }

        #[test]
        fn a_digit_beyond_the_scale_is_never_rounded(
            integer in 0_u64..1_000_000, scale in 0_u8..5, digit in 1_u8..10
        ) {
            let text = format!("{integer}.{}{digit}", "0".repeat(usize::from(scale)));
            prop_assert_eq!(amount(&text).minor_units(scale), Err(OverPrecise { scale }));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = text.parse::<Amount>();
        }
    }
}
