//! Instants in UTC, in whole seconds.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;

use super::{Invalid, text_value};

/// An instant from 1970 on, written `2026-12-01T00:00:00Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Timestamp);

text_value!(
    Instant,
    "instant",
    "an instant in UTC",
    "2026-12-01T00:00:00Z",
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
);

/// The length of the one form that is taken.
const LENGTH: usize = "2026-12-01T00:00:00Z".len();

impl Instant {
    /// Milliseconds since 1970.
    #[must_use]
    pub fn millis(self) -> u64 {
        u64::try_from(self.0.as_millisecond()).unwrap_or_default()
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Instant {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = || {
            Invalid::new(
                "write a date and a time in UTC, in whole seconds, as in `2026-12-01T00:00:00Z`",
            )
        };
        // Other forms, such as with an offset, mean the same; a document has one form of each value.
        if text.len() != LENGTH || !text.ends_with('Z') || text.as_bytes().get(10) != Some(&b'T') {
            return Err(invalid());
        }
        let at: Timestamp = text.parse().map_err(|_| invalid())?;
        if at.as_second() < 0 {
            return Err(Invalid::new("it is before 1970"));
        }
        Ok(Self(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_have_one_form() {
        let at: Instant = "2026-12-01T00:00:00Z".parse().unwrap();
        assert_eq!(at.millis(), 1_796_083_200_000);
        assert_eq!(at.to_string(), "2026-12-01T00:00:00Z");
        for wrong in [
            "2026-12-01",
            "2026-12-01T00:00Z",
            "2026-12-01 00:00:00Z",
            "2026-12-01T00:00:00.5Z",
            "2026-12-01T00:00:00+01:00",
            "2026-12-01T24:00:00Z",
            "2026-13-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert!(wrong.parse::<Instant>().is_err(), "{wrong}");
        }
    }
}
