//! Amounts: judged by the API definition's pattern, and computed a second time from their digits.

use std::sync::LazyLock;

use regex::Regex;
use rialto_sdk::money::{
    AmountError, MoneyDocument, format_amount, minor_units, parse_amount, parse_configured_amount,
};

/// The API definition's pattern of an Amount.
static AMOUNT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^([0]|([1-9][0-9]{0,17}))([.][0-9]{0,3}[1-9])?$").expect("a pattern")
});
/// What an operator may write: a decimal number without sign.
static CONFIGURED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[0-9]+([.][0-9]+)?$").expect("a pattern"));
/// More decimal places than any currency has, and more than 128 bits hold of an amount.
const SCALE_MAX: u8 = 40;

/// The first byte is the currency's decimal places, the rest the amount.
pub fn judge(bytes: &[u8]) {
    let Some((first, text)) = bytes.split_first() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let scale = match first {
        b'0'..=b'9' => first - b'0',
        _ => first % (SCALE_MAX + 1),
    };
    of_messages(text, scale);
    of_operators(text, scale);
}

/// Minor units from the digits alone; none if there are more decimals than places or 128 bits are not
/// enough.
fn units(text: &str, scale: u8) -> Option<u128> {
    let (integer, decimals) = text.split_once('.').unwrap_or((text, ""));
    let missing = usize::from(scale).checked_sub(decimals.len())?;
    format!("{integer}{decimals}{}", "0".repeat(missing))
        .parse()
        .ok()
}

fn of_messages(text: &str, scale: u8) {
    let is_amount = AMOUNT.is_match(text);
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    match parse_amount(text, "USD", scale) {
        Ok(money) => {
            assert!(is_amount, "{text:?} is taken");
            assert_eq!(format_amount(&money), text);
            assert_eq!(Some(minor_units(&money)), units(text, scale), "{text:?}");
            assert_eq!((money.currency.as_str(), money.scale), ("USD", scale));
            let configured = parse_configured_amount(text, "USD", scale);
            assert_eq!(configured, Ok(money.clone()), "an operator writes {text:?}");
            let document = MoneyDocument::from(&money);
            let written = serde_json::to_string(&document).expect("a document has a text");
            let back: MoneyDocument = serde_json::from_str(&written).expect("and is read again");
            assert_eq!(back, document);
        }
        Err(AmountError::Malformed) => assert!(!is_amount, "{text:?} is refused"),
        Err(AmountError::OverPrecise { scale: of }) => {
            assert!(is_amount && of == scale && decimals > usize::from(scale));
        }
        Err(AmountError::TooLarge) => {
            assert!(is_amount && decimals <= usize::from(scale), "{text:?}");
            assert_eq!(units(text, scale), None, "{text:?} fits");
        }
    }
}

fn of_operators(text: &str, scale: u8) {
    let read = parse_configured_amount(text, "USD", scale);
    let trimmed = match text.split_once('.') {
        Some((integer, decimals)) => format!("{integer}.{}", decimals.trim_end_matches('0')),
        None => text.to_owned(),
    };
    let trimmed = trimmed.trim_end_matches('.');
    let expected = CONFIGURED
        .is_match(text)
        .then(|| units(trimmed, scale))
        .flatten();
    let found = read.as_ref().ok().map(minor_units);
    assert_eq!(found, expected, "an operator writes {text:?}: {read:?}");
    if let Ok(money) = read {
        let again = parse_configured_amount(&format_amount(&money), "USD", scale);
        assert_eq!(again, Ok(money));
    }
}
