//! Exact amounts: FSPIOP's Amount text, minor units, and documents of money.

use crate::bindings::rialto::common::types::{Money, U128};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Most integer digits of an FSPIOP Amount.
const INTEGER_DIGITS_MAX: usize = 18;
/// Most decimal digits of an FSPIOP Amount.
const DECIMAL_DIGITS_MAX: usize = 4;

/// Why a text is not an amount of a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmountError {
    /// Not of FSPIOP's form: up to 18 integer and 4 decimal digits, no sign, no needless zeros.
    Malformed,
    /// More decimal places than the currency has in this scheme.
    OverPrecise {
        /// The currency's decimal places.
        scale: u8,
    },
    /// More minor units than 128 bits hold.
    TooLarge,
}

impl fmt::Display for AmountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("not an amount"),
            Self::OverPrecise { scale } => write!(f, "more than {scale} decimal places"),
            Self::TooLarge => f.write_str("too large an amount"),
        }
    }
}

impl std::error::Error for AmountError {}

/// Money of an amount of minor units.
#[must_use]
pub fn money(currency: &str, scale: u8, minor_units: u128) -> Money {
    Money {
        currency: currency.to_owned(),
        scale,
        minor_units: to_u128(minor_units),
    }
}

/// The amount in minor units (ten to the power of minus `scale` of the currency).
#[must_use]
pub fn minor_units(money: &Money) -> u128 {
    (u128::from(money.minor_units.high) << 64) | u128::from(money.minor_units.low)
}

/// The contract's form of an integer of 128 bits.
#[must_use]
pub fn to_u128(value: u128) -> U128 {
    // Each cast takes exactly its 64 bits.
    U128 {
        high: (value >> 64) as u64,
        low: value as u64,
    }
}

/// Parses FSPIOP's Amount: `^([0]|([1-9][0-9]{0,17}))([.][0-9]{0,3}[1-9])?$`.
///
/// # Errors
/// When the text breaks the pattern, or is finer than the currency's `scale` decimal places.
pub fn parse_amount(text: &str, currency: &str, scale: u8) -> Result<Money, AmountError> {
    let (integer, decimals) = match text.split_once('.') {
        None => (text, ""),
        Some((_, "")) => return Err(AmountError::Malformed),
        Some(parts) => parts,
    };
    let leading_zero = integer.len() > 1 && integer.starts_with('0');
    if integer.len() > INTEGER_DIGITS_MAX
        || decimals.len() > DECIMAL_DIGITS_MAX
        || leading_zero
        || decimals.ends_with('0')
    {
        return Err(AmountError::Malformed);
    }
    from_digits(integer, decimals, currency, scale)
}

/// Parses an operator's amount in a manifest: as [`parse_amount`], but needless zeros at the end of the
/// decimals (`1000.00`) and more integer digits are accepted.
///
/// # Errors
/// When the text is no decimal number without sign, or is finer than `scale` decimal places.
pub fn parse_configured_amount(
    text: &str,
    currency: &str,
    scale: u8,
) -> Result<Money, AmountError> {
    let (integer, decimals) = match text.split_once('.') {
        None => (text, ""),
        Some((_, "")) => return Err(AmountError::Malformed),
        Some(parts) => parts,
    };
    if !decimals.bytes().all(|b| b.is_ascii_digit()) {
        return Err(AmountError::Malformed);
    }
    from_digits(integer, decimals.trim_end_matches('0'), currency, scale)
}

fn from_digits(
    integer: &str,
    decimals: &str,
    currency: &str,
    scale: u8,
) -> Result<Money, AmountError> {
    if integer.is_empty() {
        return Err(AmountError::Malformed);
    }
    let mut units: u128 = 0;
    for byte in integer.bytes().chain(decimals.bytes()) {
        if !byte.is_ascii_digit() {
            return Err(AmountError::Malformed);
        }
        units = shift_in(units, byte - b'0')?;
    }
    let Some(missing) = usize::from(scale).checked_sub(decimals.len()) else {
        return Err(AmountError::OverPrecise { scale });
    };
    for _ in 0..missing {
        units = shift_in(units, 0)?;
    }
    Ok(money(currency, scale, units))
}

fn shift_in(units: u128, digit: u8) -> Result<u128, AmountError> {
    units
        .checked_mul(10)
        .and_then(|units| units.checked_add(u128::from(digit)))
        .ok_or(AmountError::TooLarge)
}

/// FSPIOP's text of an amount: no zeros at the end of the decimals, no empty decimals.
#[must_use]
pub fn format_amount(money: &Money) -> String {
    let mut text = minor_units(money).to_string();
    let scale = usize::from(money.scale);
    if scale == 0 {
        return text;
    }
    if text.len() <= scale {
        text.insert_str(0, &"0".repeat(scale + 1 - text.len()));
    }
    text.insert(text.len() - scale, '.');
    let end = text.trim_end_matches('0').trim_end_matches('.').len();
    text.truncate(end);
    text
}

/// The document of money: `{"currency":"USD","scale":2,"minorUnits":"1050"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MoneyDocument {
    /// ISO 4217.
    pub currency: String,
    /// Decimal places of the currency in this scheme.
    pub scale: u8,
    /// Decimal text, because some readers' JSON numbers are not exact.
    #[serde(with = "units_text")]
    pub minor_units: u128,
}

impl From<&Money> for MoneyDocument {
    fn from(money: &Money) -> Self {
        Self {
            currency: money.currency.clone(),
            scale: money.scale,
            minor_units: minor_units(money),
        }
    }
}

impl From<&MoneyDocument> for Money {
    fn from(document: &MoneyDocument) -> Self {
        money(&document.currency, document.scale, document.minor_units)
    }
}

/// `#[serde(with = "rialto_sdk::money::units_text")]`: minor units as decimal text.
pub mod units_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;

    /// Write the integer as text.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(units: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(units)
    }

    /// Read the integer from text.
    ///
    /// # Errors
    /// When the text is no integer of 128 bits.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse()
            .map_err(|error| D::Error::custom(format_args!("minor units {text:?}: {error}")))
    }
}

/// `#[serde(with = "rialto_sdk::money::document")]`: a [`Money`] as a [`MoneyDocument`].
pub mod document {
    use super::{Money, MoneyDocument};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Write money as documents hold it.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(money: &Money, serializer: S) -> Result<S::Ok, S::Error> {
        MoneyDocument::from(money).serialize(serializer)
    }

    /// Read money from a document.
    ///
    /// # Errors
    /// When the document has another form.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Money, D::Error> {
        MoneyDocument::deserialize(deserializer).map(|document| Money::from(&document))
    }

    /// The same for money that may be absent.
    pub mod option {
        use super::{Deserialize, Deserializer, Money, MoneyDocument, Serialize, Serializer};

        /// Write money, or null.
        ///
        /// # Errors
        /// Those of the serializer.
        pub fn serialize<S: Serializer>(
            money: &Option<Money>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            money
                .as_ref()
                .map(MoneyDocument::from)
                .serialize(serializer)
        }

        /// Read money, or null.
        ///
        /// # Errors
        /// When the document has another form.
        pub fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Money>, D::Error> {
            let document = Option::<MoneyDocument>::deserialize(deserializer)?;
            Ok(document.map(|document| Money::from(&document)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str, scale: u8) -> Result<u128, AmountError> {
        parse_amount(text, "USD", scale).map(|money| minor_units(&money))
    }

    #[test]
    fn the_examples_of_the_specification_are_judged_as_it_says() {
        for (text, expected) in [
            ("5", 50000),
            ("5.5", 55000),
            ("5.5555", 55555),
            ("0.5", 5000),
            ("0", 0),
        ] {
            assert_eq!(units(text, 4), Ok(expected), "{text}");
        }
        assert_eq!(
            units("999999999999999999", 2),
            Ok(99_999_999_999_999_999_900)
        );
        for text in [
            "",
            ".",
            "5.",
            "5.0",
            "5.50",
            "5.55555",
            ".5",
            "00.5",
            "-5.5",
            "+5",
            "1e3",
            " 5",
            "5 ",
            "1000000000000000000",
            "5.5.5",
            "٥",
            "0x1",
            "01",
            "5,5",
        ] {
            assert_eq!(units(text, 4), Err(AmountError::Malformed), "{text}");
        }
    }

    #[test]
    fn an_amount_finer_than_its_currency_is_refused() {
        assert_eq!(
            units("1.234", 2),
            Err(AmountError::OverPrecise { scale: 2 })
        );
        assert_eq!(units("1.5", 0), Err(AmountError::OverPrecise { scale: 0 }));
        assert_eq!(units("1.5", 40), Err(AmountError::TooLarge));
    }

    #[test]
    fn configured_amounts_may_have_zeros_at_their_end() {
        let configured = |text, scale| {
            parse_configured_amount(text, "USD", scale).map(|money| minor_units(&money))
        };
        assert_eq!(configured("1000.00", 2), Ok(100_000));
        assert_eq!(configured("1000.000", 2), Ok(100_000));
        assert_eq!(
            configured("1000.001", 2),
            Err(AmountError::OverPrecise { scale: 2 })
        );
        assert_eq!(configured("1.x0", 2), Err(AmountError::Malformed));
        assert_eq!(configured("", 2), Err(AmountError::Malformed));
    }

    #[test]
    fn writing_and_reading_an_amount_gives_the_same_amount() {
        let mut seed = 7_u64;
        for _ in 0..20_000 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963);
            let scale = (seed >> 60) as u8 % 5;
            let value = u128::from(seed >> ((seed >> 33) % 50)) % 10_u128.pow(18);
            let before = money("EUR", scale, value);
            let text = format_amount(&before);
            assert_eq!(parse_amount(&text, "EUR", scale), Ok(before), "{text}");
        }
        assert_eq!(format_amount(&money("JPY", 0, 10)), "10");
        assert_eq!(format_amount(&money("USD", 2, 0)), "0");
        assert_eq!(format_amount(&money("USD", 2, 5)), "0.05");
        assert_eq!(format_amount(&money("USD", 2, 1050)), "10.5");
        assert_eq!(format_amount(&money("USD", 2, 100_000)), "1000");
    }

    #[test]
    fn a_document_holds_all_128_bits() {
        let before = money("USD", 2, u128::MAX);
        let json = serde_json::to_string(&MoneyDocument::from(&before)).unwrap();
        assert_eq!(
            json,
            r#"{"currency":"USD","scale":2,"minorUnits":"340282366920938463463374607431768211455"}"#
        );
        let document: MoneyDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(Money::from(&document), before);
        assert!(serde_json::from_str::<MoneyDocument>(&json.replace('3', "-")).is_err());
    }
}
