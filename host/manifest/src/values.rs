//! Values that a document writes as text: each is parsed once into a type of its own, so that a
//! size cannot be taken for a duration or a participant's id for a currency.

use std::fmt::Display;
use std::str::FromStr;

mod address;
mod amount;
mod database;
mod digest;
mod duration;
mod ids;
mod instant;
mod issuer;
mod name;
mod network;
mod origin;
mod path;
mod pem;
mod period;
mod pointer;
mod share;
mod size;

pub use address::ListenAddress;
pub use amount::{Amount, OverPrecise};
pub use database::DatabaseUrl;
pub use digest::Digest;
pub use duration::Duration;
pub use ids::{CurrencyCode, ErrorCode, FspId};
pub use instant::Instant;
pub use issuer::Issuer;
pub use name::{InterfacePattern, Name};
pub use network::IpRange;
pub use origin::{BaseUrl, Origin, OriginPattern, UrlScheme};
pub use path::{ComponentPath, FilePath};
pub use pem::PublicKeyPem;
pub use period::Period;
pub use pointer::Pointer;
pub use share::Share;
pub use size::Size;

/// Why a text is not a valid value: half a sentence, without the text itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);

impl Invalid {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// A value that documents write as text.
pub trait TextValue: FromStr<Err = Invalid> + Display {
    /// The name under which the JSON schema knows it (its `format`).
    const FORMAT: &'static str;
    /// The kind's name with its article: "a size".
    const WHAT: &'static str;
    /// A valid text.
    const EXAMPLE: &'static str;
    /// A regular expression for editors, which every valid text matches. Parsing decides.
    const PATTERN: &'static str;
}

/// A kind of text value, as [`crate::shape`] needs to know it.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// See [`TextValue::FORMAT`].
    pub name: &'static str,
    /// See [`TextValue::WHAT`].
    pub what: &'static str,
    /// See [`TextValue::EXAMPLE`].
    pub example: &'static str,
    /// See [`TextValue::PATTERN`].
    pub pattern: &'static str,
    /// Whether a text is one.
    pub check: fn(&str) -> Result<(), Invalid>,
}

impl Format {
    const fn of<T: TextValue>() -> Self {
        Self {
            name: T::FORMAT,
            what: T::WHAT,
            example: T::EXAMPLE,
            pattern: T::PATTERN,
            check: |text| text.parse::<T>().map(|_| ()),
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.name == name)
    }

    /// The format whose texts this pattern describes, as the schema of a table says it of the keys; that of names for an
    /// unknown pattern.
    pub fn with_pattern(pattern: &str) -> &'static Self {
        const NAMES: &Format = &Format::of::<Name>();
        let mut formats = FORMATS.iter();
        formats
            .find(|format| format.pattern == pattern)
            .unwrap_or(NAMES)
    }
}

/// Every kind of text value.
pub static FORMATS: &[Format] = &[
    Format::of::<Amount>(),
    Format::of::<BaseUrl>(),
    Format::of::<ComponentPath>(),
    Format::of::<CurrencyCode>(),
    Format::of::<DatabaseUrl>(),
    Format::of::<Digest>(),
    Format::of::<Duration>(),
    Format::of::<ErrorCode>(),
    Format::of::<FilePath>(),
    Format::of::<FspId>(),
    Format::of::<Instant>(),
    Format::of::<InterfacePattern>(),
    Format::of::<IpRange>(),
    Format::of::<Issuer>(),
    Format::of::<ListenAddress>(),
    Format::of::<Name>(),
    Format::of::<OriginPattern>(),
    Format::of::<Period>(),
    Format::of::<Pointer>(),
    Format::of::<Share>(),
    Format::of::<PublicKeyPem>(),
    Format::of::<Size>(),
];

/// Give a [`TextValue`] its traits: serde as text, and a JSON schema.
macro_rules! text_value {
    ($type:ty, $format:literal, $what:literal, $example:literal, $pattern:literal) => {
        impl $crate::values::TextValue for $type {
            const FORMAT: &'static str = $format;
            const WHAT: &'static str = $what;
            const EXAMPLE: &'static str = $example;
            const PATTERN: &'static str = $pattern;
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "format": $format,
                    "pattern": $pattern,
                    "examples": [$example],
                })
            }
        }
    };
}
pub(crate) use text_value;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_accepts_its_example_and_refuses_empty_text() {
        for format in FORMATS {
            assert_eq!((format.check)(format.example), Ok(()), "{}", format.name);
            assert!((format.check)("").is_err(), "{}", format.name);
        }
    }
}
