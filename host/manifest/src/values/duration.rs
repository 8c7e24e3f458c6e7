//! Durations, written with a unit, in whole milliseconds.

use std::fmt;
use std::str::FromStr;

use super::size::split_number;
use super::{Invalid, text_value};

/// A duration, written `500 ms` or `2 s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

text_value!(
    Duration,
    "duration",
    "a duration",
    "500 ms",
    "^(0|[1-9][0-9]*) ?(ms|s|min|h)$"
);

/// Units in milliseconds, the largest first.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

impl Duration {
    /// That many milliseconds.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds)
    }

    /// In milliseconds.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0
    }
}

impl From<Duration> for std::time::Duration {
    fn from(duration: Duration) -> Self {
        Self::from_millis(duration.0)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = UNITS
            .into_iter()
            .find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor))
            .unwrap_or(("ms", 1));
        write!(f, "{} {unit}", self.0 / factor)
    }
}

impl FromStr for Duration {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (number, unit) = split_number(text)
            .ok_or_else(|| Invalid::new("write a whole number and a unit, as in `500 ms`"))?;
        let (_, factor) = UNITS
            .into_iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| Invalid::new("the units are ms, s, min and h"))?;
        number
            .checked_mul(factor)
            .map(Self)
            .ok_or_else(|| Invalid::new("it is too long"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_whole_numbers_with_a_unit() {
        for (text, ms) in [
            ("0 ms", 0),
            ("500 ms", 500),
            ("2 s", 2_000),
            ("1min", 60_000),
        ] {
            assert_eq!(text.parse(), Ok(Duration(ms)), "{text}");
        }
        for bad in [
            "2",
            "2 sec",
            "0.5 s",
            "-1 s",
            "s",
            "1 d",
            "1 S",
            "9999999999999999 h",
        ] {
            assert!(bad.parse::<Duration>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_duration_is_read_as_it_was_written(ms: u64) {
            let duration = Duration(ms);
            prop_assert_eq!(duration.to_string().parse(), Ok(duration));
        }

        #[test]
        fn units_never_round(number in 0_u64..1_000_000_000, unit in 0_usize..4) {
            let (name, factor) = UNITS[unit];
            prop_assert_eq!(format!("{number} {name}").parse(), Ok(Duration(number * factor)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            let _ = text.parse::<Duration>();
        }
    }
}
