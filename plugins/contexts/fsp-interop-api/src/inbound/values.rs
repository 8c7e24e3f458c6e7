//! Checks of single values that the OpenAPI document cannot express.

use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Money};
use rialto_sdk::errors::{self, error};
use rialto_sdk::money::{AmountError, parse_amount};
use rialto_sdk::scheme::Scheme;
use rialto_sdk::time::parse_date_time;
use serde::Deserialize;

/// FSPIOP's Money.
#[derive(Debug, Deserialize)]
pub struct MoneyBody<'a> {
    currency: &'a str,
    amount: &'a str,
}

impl MoneyBody<'_> {
    /// The amount, if the scheme has its currency with enough decimal places. `location` is the member's JSON
    /// pointer.
    pub fn read(&self, location: &str, scheme: &Scheme) -> Result<Money, ErrorInformation> {
        let Some(scale) = scheme.scale_of(self.currency) else {
            let detail = format!(
                "body {location}/currency: {} is not a currency of this scheme",
                self.currency
            );
            return Err(error("3100", &detail));
        };
        parse_amount(self.amount, self.currency, scale).map_err(|problem| {
            let code = if problem == AmountError::TooLarge {
                "3100"
            } else {
                "3101"
            };
            error(code, &format!("body {location}/amount: {problem}"))
        })
    }
}

/// The amount of an optional member.
pub fn optional_money(
    body: Option<&MoneyBody<'_>>,
    location: &str,
    scheme: &Scheme,
) -> Result<Option<Money>, ErrorInformation> {
    body.map(|body| body.read(location, scheme)).transpose()
}

/// A DateTime in milliseconds since 1970.
pub fn instant(text: &str, location: &str) -> Result<u64, ErrorInformation> {
    parse_date_time(text).map_err(|problem| error("3101", &format!("body {location}: {problem}")))
}

/// Checks that an identifier has the form of its type, and is one segment of a path. `location` is its place.
pub fn check_identifier(
    location: &str,
    id_type: &str,
    identifier: &str,
) -> Result<(), ErrorInformation> {
    check_segment(location, identifier)?;
    let fits = match id_type {
        "MSISDN" => is_msisdn(identifier),
        "EMAIL" => is_email(identifier),
        "IBAN" => is_iban(identifier),
        _ => true,
    };
    if fits {
        Ok(())
    } else {
        Err(error(
            "3101",
            &format!("{location}: does not have the format of type {id_type}"),
        ))
    }
}

/// Checks that a percent-decoded identifier or sub-id is one segment of a path for every server: FSPIOP allows
/// no `/` and no `?` in one. Blanks at its ends are refused, since people could not see them.
pub fn check_segment(location: &str, text: &str) -> Result<(), ErrorInformation> {
    let refused = |what: &str| Err(error("3101", &format!("{location}: {what}")));
    if text.contains(['/', '?', '\\']) {
        return refused("must not have / ? or \\");
    }
    if matches!(text, "." | "..") {
        return refused("is a step in a path, not an identifier");
    }
    if text.starts_with(char::is_whitespace) || text.ends_with(char::is_whitespace) {
        return refused("begins or ends with white space");
    }
    Ok(())
}

/// `^\+?\d{1,30}$`
fn is_msisdn(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    (1..=30).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

/// `^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$`
fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    let Some((host, top)) = domain.rsplit_once('.') else {
        return false;
    };
    let among = |text: &str, others: &[u8]| {
        !text.is_empty()
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || others.contains(&b))
    };
    among(local, b"._%+-")
        && among(host, b".-")
        && top.len() >= 2
        && top.bytes().all(|b| b.is_ascii_alphabetic())
}

/// `^[A-Z]{2}\d{2}[A-Z0-9]{1,30}$`
fn is_iban(text: &str) -> bool {
    let bytes = text.as_bytes();
    (5..=34).contains(&bytes.len())
        && bytes[..2].iter().all(u8::is_ascii_uppercase)
        && bytes[2..4].iter().all(u8::is_ascii_digit)
        && bytes[4..]
            .iter()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

/// FSPIOP's ErrorInformation as an FSP sends it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorObject<'a> {
    #[serde(borrow)]
    error_information: ErrorMembers<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ErrorMembers<'a> {
    error_code: &'a str,
    error_description: &'a str,
}

impl ErrorObject<'_> {
    /// The error, if an FSP may use its code.
    pub fn read(&self) -> Result<ErrorInformation, ErrorInformation> {
        let ErrorMembers {
            error_code: code,
            error_description: description,
        } = self.error_information;
        if !errors::is_legal_code(code) {
            let detail =
                format!("body /errorInformation/errorCode: {code} is not an error code of the API");
            return Err(error("3100", &detail));
        }
        Ok(ErrorInformation {
            code: code.to_owned(),
            description: description.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_the_form_of_their_type() {
        for (id_type, good, bad) in [
            (
                "MSISDN",
                &["1", "+123456789", "123456789012345678901234567890"][..],
                &[
                    "",
                    "+",
                    "12a",
                    "1 2",
                    "1234567890123456789012345678901",
                    "１２",
                ][..],
            ),
            (
                "EMAIL",
                &["a@b.co", "first.last+tag@mail.example.org"],
                &["a", "@b.co", "a@b", "a@b.c", "a@@b.co", "a@.c1", "a b@c.de"],
            ),
            (
                "IBAN",
                &["SE4550000000058398257466", "NO931"],
                &["SE45", "se4550000000058398257466", "SE4A50000", "SE45 5000"],
            ),
            (
                "ALIAS",
                &["anything at all", "ü", "a..b", "..."],
                &[
                    "a/b",
                    "a?b",
                    "a\\b",
                    ".",
                    "..",
                    " a",
                    "a ",
                    "\u{a0}a",
                    "a\u{2003}",
                ],
            ),
            ("BUSINESS", &["acme"], &["../acme", "acme?x=1"]),
        ] {
            for identifier in good {
                assert!(
                    check_identifier("path ID", id_type, identifier).is_ok(),
                    "{id_type} {identifier}"
                );
            }
            for identifier in bad {
                let refused = check_identifier("path ID", id_type, identifier).unwrap_err();
                assert_eq!(refused.code, "3101", "{id_type} {identifier}");
            }
        }
    }

    #[test]
    fn only_codes_of_the_api_are_passed_on() {
        let read = |code: &str| {
            let error_information = ErrorMembers {
                error_code: code,
                error_description: "no",
            };
            ErrorObject { error_information }.read()
        };
        assert_eq!(read("5104").unwrap().code, "5104");
        assert_eq!(read("5199").unwrap().description, "no");
        assert_eq!(read("6000").unwrap().code, "6000");
        assert_eq!(read("7204").unwrap().code, "7204");
        assert_eq!(read("9999").unwrap_err().code, "3100");
    }
}
