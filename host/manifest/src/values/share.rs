//! Shares of a whole, in millionths: more than nothing, at most all.

use std::fmt;
use std::str::FromStr;

use super::{Invalid, text_value};

/// A share, written `5 %` or `0.5 %`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

text_value!(
    Share,
    "share",
    "a share",
    "5 %",
    "^[0-9]{1,3}([.][0-9]{1,4})? ?%$"
);

/// The whole, in millionths.
const ALL: u32 = 1_000_000;
/// The most decimal places of a percentage.
const PLACES: usize = 4;

impl Share {
    /// That many percent, at least 1 and at most 100.
    #[must_use]
    pub const fn from_percent(percent: u8) -> Self {
        let percent = if percent == 0 { 1 } else { percent };
        let percent = if percent > 100 { 100 } else { percent };
        Self(percent as u32 * (ALL / 100))
    }

    /// In millionths of the whole: 1 to 1,000,000.
    #[must_use]
    pub const fn millionths(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 10_000, self.0 % 10_000);
        if rest == 0 {
            return write!(f, "{whole} %");
        }
        let places = format!("{rest:04}");
        write!(f, "{whole}.{} %", places.trim_end_matches('0'))
    }
}

impl FromStr for Share {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid =
            || Invalid::new("write a percentage above 0 and up to 100, as in `5 %` or `0.5 %`");
        let number = text.strip_suffix('%').ok_or_else(invalid)?.trim_end();
        let (whole, places) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str, most: usize| {
            (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(whole, 3) || !digits(places, PLACES) {
            return Err(invalid());
        }
        let whole: u32 = whole.parse().map_err(|_| invalid())?;
        let places: u32 = format!("{places:0<PLACES$}")
            .parse()
            .map_err(|_| invalid())?;
        match whole * (ALL / 100) + places {
            millionths @ 1..=ALL => Ok(Self(millionths)),
            _ => Err(invalid()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_and_written() {
        for (text, millionths, written) in [
            ("100 %", 1_000_000, "100 %"),
            ("5%", 50_000, "5 %"),
            ("0.5 %", 5_000, "0.5 %"),
            ("12.3400 %", 123_400, "12.34 %"),
            ("0.0001 %", 1, "0.0001 %"),
        ] {
            let share: Share = text.parse().unwrap();
            assert_eq!(share.millionths(), millionths, "{text}");
            assert_eq!(share.to_string(), written);
        }
        for bad in [
            "",
            "5",
            "0 %",
            "100.1 %",
            "-1 %",
            ".5 %",
            "1. %",
            "1e1 %",
            "0.00001 %",
            "1000 %",
        ] {
            assert!(bad.parse::<Share>().is_err(), "{bad}");
        }
    }
}
