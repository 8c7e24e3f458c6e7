//! The scheme's short codes: participants, currencies, errors.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use super::{Invalid, text_value};

/// A participant's id, 1 to 32 characters, compared case by case.
///
/// FSPIOP does not restrict the characters. But ids are also sent in headers and are parts of document ids.
/// So only letters, digits, `.`, `_` and `-` are valid.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FspId(Arc<str>);

text_value!(
    FspId,
    "fsp-id",
    "a participant's id",
    "payerfsp",
    r"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$"
);

/// An ISO 4217 code: three capital letters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CurrencyCode(Arc<str>);

text_value!(
    CurrencyCode,
    "currency-code",
    "a currency",
    "USD",
    "^[A-Z]{3}$"
);

/// An FSPIOP error code: four digits, the first not zero.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(Arc<str>);

text_value!(
    ErrorCode,
    "error-code",
    "an error code",
    "2001",
    "^[1-9][0-9]{3}$"
);

macro_rules! as_text {
    ($($type:ty),*) => {$(
        impl $type {
            /// The code as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}
as_text!(FspId, CurrencyCode, ErrorCode);

impl FromStr for FspId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        if !(1..=32).contains(&text.len())
            || !text.bytes().all(allowed)
            || !text.starts_with(|c: char| c.is_ascii_alphanumeric())
        {
            return Err(Invalid::new(
                "ids have 1 to 32 letters, digits, `.`, `_` or `-`, a letter or digit first",
            ));
        }
        Ok(Self(text.into()))
    }
}

impl FromStr for CurrencyCode {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() != 3 || !text.bytes().all(|b| b.is_ascii_uppercase()) {
            return Err(Invalid::new(
                "currencies are ISO 4217 codes: three capital letters",
            ));
        }
        Ok(Self(text.into()))
    }
}

impl FromStr for ErrorCode {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() != 4 || !text.bytes().all(|b| b.is_ascii_digit()) || text.starts_with('0') {
            return Err(Invalid::new(
                "error codes have four digits, the first not zero",
            ));
        }
        Ok(Self(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn participants_ids_are_short_and_safe_in_headers() {
        for good in ["Hub", "payerfsp", "fsp_1.a-b", &"x".repeat(32)] {
            assert!(good.parse::<FspId>().is_ok(), "{good}");
        }
        for bad in ["", "a b", "a:b", "a\r\nb", "ü", ".a", &"x".repeat(33)] {
            assert!(bad.parse::<FspId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn codes_have_their_exact_form() {
        assert!("USD".parse::<CurrencyCode>().is_ok());
        assert!("2001".parse::<ErrorCode>().is_ok());
        for bad in ["usd", "US", "USDX", "U5D", "ÜSD"] {
            assert!(bad.parse::<CurrencyCode>().is_err(), "{bad}");
        }
        for bad in ["0001", "200", "20011", "20a1", "２００１"] {
            assert!(bad.parse::<ErrorCode>().is_err(), "{bad}");
        }
    }
}
