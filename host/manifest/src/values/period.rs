//! Periods for which something is kept: from seconds to years, in whole seconds.

use std::fmt;
use std::str::FromStr;

use super::size::split_number;
use super::{Invalid, text_value};

/// A period, written `90 days` or `7 years`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(u64);

text_value!(
    Period,
    "period",
    "a period",
    "90 days",
    "^[1-9][0-9]* ?(s|min|h|days?|weeks?|years?)$"
);

const DAY: u64 = 86_400;

/// Units in seconds, the largest first. A year is never too short.
const UNITS: [(&str, u64); 9] = [
    ("years", 366 * DAY),
    ("year", 366 * DAY),
    ("weeks", 7 * DAY),
    ("week", 7 * DAY),
    ("days", DAY),
    ("day", DAY),
    ("h", 3_600),
    ("min", 60),
    ("s", 1),
];

impl Period {
    /// That many seconds, at least one.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(if seconds == 0 { 1 } else { seconds })
    }

    /// In milliseconds.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0.saturating_mul(1_000)
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(name, factor): &(&str, u64)| {
            let is_one = self.0 == *factor;
            let is_singular = matches!(*name, "year" | "week" | "day");
            let is_plural = matches!(*name, "years" | "weeks" | "days");
            self.0.is_multiple_of(*factor) && !(is_one && is_plural) && (is_one || !is_singular)
        };
        let (unit, factor) = UNITS.into_iter().find(fits).unwrap_or(("s", 1));
        write!(f, "{} {unit}", self.0 / factor)
    }
}

impl FromStr for Period {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (number, unit) = split_number(text)
            .ok_or_else(|| Invalid::new("write a whole number and a unit, as in `90 days`"))?;
        let (_, factor) = UNITS
            .into_iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| Invalid::new("the units are s, min, h, days, weeks and years"))?;
        let seconds = number.checked_mul(factor);
        match seconds.filter(|seconds| seconds.checked_mul(1_000).is_some()) {
            None => Err(Invalid::new("it is too long")),
            Some(0) => Err(Invalid::new("it must be at least `1 s`")),
            Some(seconds) => Ok(Self(seconds)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn periods_are_whole_numbers_with_a_unit() {
        for (text, seconds) in [
            ("1 s", 1),
            ("90 min", 5_400),
            ("12 h", 43_200),
            ("1 day", 86_400),
            ("90 days", 7_776_000),
            ("2weeks", 1_209_600),
            ("7 years", 221_356_800),
        ] {
            assert_eq!(text.parse(), Ok(Period(seconds)), "{text}");
        }
        for bad in [
            "0 s",
            "7",
            "7 y",
            "1.5 years",
            "-1 day",
            "days",
            "500 ms",
            "1 month",
            "9999999999999999 years",
        ] {
            assert!(bad.parse::<Period>().is_err(), "{bad}");
        }
        for (text, shown) in [
            ("366 days", "1 year"),
            ("14 days", "2 weeks"),
            ("24 h", "1 day"),
        ] {
            assert_eq!(text.parse::<Period>().unwrap().to_string(), shown);
        }
    }

    proptest! {
        #[test]
        fn a_period_is_read_as_it_was_written(seconds in 1_u64..1 << 50) {
            let period = Period::from_seconds(seconds);
            prop_assert_eq!(period.to_string().parse(), Ok(period));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = text.parse::<Period>();
        }
    }
}
