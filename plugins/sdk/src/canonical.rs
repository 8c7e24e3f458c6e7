//! Canonical JSON (RFC 8785), its SHA-256, and FSPIOP's conditions and fulfilments.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The canonical form of a JSON value: members in the order of their UTF-16 names, no white
/// space, ECMAScript's numbers and escapes.
#[must_use]
pub fn canonical_json(value: &Value) -> String {
    let mut text = String::with_capacity(1024);
    write_value(&mut text, value);
    text
}

/// SHA-256 of a value's canonical form, in lower-case hexadecimal. The order of members does not change it.
#[must_use]
pub fn request_hash(value: &Value) -> String {
    sha256_hex(canonical_json(value).as_bytes())
}

/// SHA-256 in lower-case hexadecimal.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn write_value(text: &mut String, value: &Value) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => write_number(text, number),
        Value::String(string) => write_string(text, string),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_value(text, item);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(a, _), (b, _)| compare_names(a, b));
            text.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(text, name);
                text.push(':');
                write_value(text, member);
            }
            text.push('}');
        }
    }
}

fn compare_names(a: &str, b: &str) -> std::cmp::Ordering {
    if a.is_ascii() && b.is_ascii() {
        return a.cmp(b);
    }
    a.encode_utf16().cmp(b.encode_utf16())
}

fn write_string(text: &mut String, string: &str) {
    text.push('"');
    let mut plain_from = 0;
    for (at, byte) in string.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            0x08 => "\\b",
            b'\t' => "\\t",
            b'\n' => "\\n",
            0x0c => "\\f",
            b'\r' => "\\r",
            0x00..0x20 => "",
            _ => continue,
        };
        text.push_str(&string[plain_from..at]);
        plain_from = at + 1;
        if escape.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\u{byte:04x}");
        } else {
            text.push_str(escape);
        }
    }
    text.push_str(&string[plain_from..]);
    text.push('"');
}

/// Integers up to this one are exact in a double.
const EXACT_INTEGER_MAX: u64 = 1 << 53;

fn write_number(text: &mut String, number: &Number) {
    let written = match (number.as_i64(), number.as_u64()) {
        (Some(integer), _) if integer.unsigned_abs() <= EXACT_INTEGER_MAX => {
            write!(text, "{integer}")
        }
        _ => {
            // Without arbitrary precision every number of serde_json has a finite double.
            let double = number.as_f64().unwrap_or(0.0);
            write_double(text, double)
        }
    };
    // Writing to a String cannot fail.
    let _ = written;
}

/// More digits than any double's exact value.
const DIGITS_MAX: usize = 780;

/// The digits before the exponent, without the point: `15` for `1.5e3`.
fn digits_of(scientific: &str) -> String {
    let mantissa = scientific.split('e').next().unwrap_or(scientific);
    mantissa.chars().filter(|c| *c != '.').collect()
}

/// If two shortest texts of a double are equally near, ECMAScript takes the even one, and Rust the upper one.
/// So Rust's digits may have to be one less.
fn even_of_two(double: f64, digits: String) -> String {
    let Some(last) = digits.bytes().last().filter(|last| last % 2 == 1) else {
        return digits;
    };
    let even = format!("{}{}", &digits[..digits.len() - 1], char::from(last - 1));
    // Half-way between the two: the digits of the even one, and a 5. One more digit mostly decides it.
    let half = format!("{even}5");
    let exact = |count: usize| digits_of(&format!("{double:.count$e}"));
    if exact(digits.len()) == half && exact(DIGITS_MAX).trim_end_matches('0') == half {
        even
    } else {
        digits
    }
}

/// ECMAScript's `Number::toString`, from the shortest digits that Rust finds.
fn write_double(text: &mut String, double: f64) -> std::fmt::Result {
    if double == 0.0 {
        return text.write_str("0");
    }
    if double < 0.0 {
        text.push('-');
    }
    let scientific = format!("{:e}", double.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = even_of_two(double.abs(), digits_of(mantissa));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // The value is 0.digits times ten to the power of point.
    let point = exponent + 1;
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if count <= point && point <= 21 {
        write!(text, "{digits}{}", zeros(point - count))
    } else if 0 < point && point <= 21 {
        let (integer, decimals) = digits.split_at(usize::try_from(point).unwrap_or(0));
        write!(text, "{integer}.{decimals}")
    } else if -6 < point && point <= 0 {
        write!(text, "0.{}{digits}", zeros(-point))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        write!(text, "{first}{dot}{rest}e{sign}{}", exponent.unsigned_abs())
    }
}

/// Base64url without padding. The last bits, which belong to no byte, may have any value.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// The 32 bytes of a condition or fulfilment: 43 characters of base64url without padding.
///
/// 43 characters are 258 bits. The last two do not count: deployed clients set them, and the API definition
/// allows it. So the same bytes have four texts. Fulfilments are checked against the condition's bytes; an
/// agreement is found by the condition's text.
#[must_use]
pub fn decode_32_bytes(text: &str) -> Option<[u8; 32]> {
    if text.len() != 43 {
        return None;
    }
    LENIENT.decode(text).ok()?.try_into().ok()
}

/// The bytes of base64url without padding. None for any other text, and for one whose last bits belong to no
/// byte and are not zero.
#[must_use]
pub fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Base64url without padding.
#[must_use]
pub fn encode_base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The condition that a fulfilment fulfils, or none when it is not 32 bytes of base64url.
#[must_use]
pub fn condition_of(fulfilment: &str) -> Option<String> {
    let preimage = decode_32_bytes(fulfilment)?;
    Some(encode_base64url(&Sha256::digest(preimage)))
}

/// Whether SHA-256 of the fulfilment is the condition. Compared in constant time.
#[must_use]
pub fn fulfilment_matches(fulfilment: &str, condition: &str) -> bool {
    let (Some(preimage), Some(expected)) =
        (decode_32_bytes(fulfilment), decode_32_bytes(condition))
    else {
        return false;
    };
    let digest = Sha256::digest(preimage);
    let difference = digest
        .iter()
        .zip(expected)
        .fold(0, |all, (a, b)| all | (a ^ b));
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        canonical_json(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn the_example_of_the_rfc_has_its_canonical_form() {
        let input = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        assert_eq!(
            canonical(input),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
    }

    #[test]
    fn members_are_sorted_by_utf_16_units() {
        let input = r#"{"\u20ac":"Euro","\r":"CR","\ufb33":"Dalet","1":"One","\ud83d\ude00":"Smile","\u0080":"Control","\u00f6":"o"}"#;
        let order: Vec<String> = canonical(input)
            .split("\":\"")
            .map(|part| part.chars().take(3).collect::<String>())
            .skip(1)
            .map(|value| value.trim_end_matches('"').to_owned())
            .collect();
        assert_eq!(order, ["CR", "One", "Con", "o\",", "Eur", "Smi", "Dal"]);
    }

    #[test]
    fn numbers_are_written_as_ecmascript_does() {
        for (text, expected) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("1", "1"),
            ("-1.50", "-1.5"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("123456789012345680000", "123456789012345680000"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("1.5e300", "1.5e+300"),
            ("5e-324", "5e-324"),
            ("9007199254740993", "9007199254740992"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            ("100", "100"),
            ("1e2", "100"),
            // Half-way between two shortest texts: the even one.
            ("1845672407370951.25", "1845672407370951.2"),
            ("1845672407370951.75", "1845672407370951.8"),
            ("-1845672407370950.25", "-1845672407370950.2"),
            // Not half-way: the nearer one, odd as it is.
            ("9007199254740991.5", "9007199254740992"),
            ("0.3", "0.3"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn hash_ignores_member_order_and_white_space() {
        let one = serde_json::from_str(r#"{"a":{"x":1,"y":[1,2]},"b":"ü"}"#).unwrap();
        let two =
            serde_json::from_str("{\"b\" : \"\\u00fc\",\n\"a\":{\"y\":[1, 2],\"x\":1}}").unwrap();
        let three = serde_json::from_str(r#"{"a":{"x":1,"y":[2,1]},"b":"ü"}"#).unwrap();
        assert_eq!(request_hash(&one), request_hash(&two));
        assert_ne!(request_hash(&one), request_hash(&three));
    }

    #[test]
    fn sha_256_of_nothing_is_the_known_digest() {
        assert_eq!(
            sha256_hex(b""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    const FULFILMENT: &str = "mhPUT9ZAwd-BXLfeSd7-YPh46rBWRNBiTCSWjpku90s";
    const CONDITION: &str = "fH9pAYDQbmoZLPbvv3CSW2RfjU4jvM4ApG_fqGnR7Xs";

    #[test]
    fn the_vector_of_the_specification_matches() {
        assert!(fulfilment_matches(FULFILMENT, CONDITION));
        assert_eq!(condition_of(FULFILMENT).as_deref(), Some(CONDITION));
        assert!(!fulfilment_matches(CONDITION, FULFILMENT));
    }

    #[test]
    fn bits_that_belong_to_no_byte_do_not_count() {
        for condition in ["7Xs", "7Xt", "7Xu", "7Xv"].map(|end| CONDITION.replace("7Xs", end)) {
            assert_eq!(decode_32_bytes(&condition), decode_32_bytes(CONDITION));
            for end in ["90s", "90t", "90u", "90v"] {
                let fulfilment = FULFILMENT.replace("90s", end);
                assert!(fulfilment_matches(&fulfilment, &condition), "{end}");
                assert_eq!(condition_of(&fulfilment).as_deref(), Some(CONDITION));
            }
            for end in ["90o", "90w"] {
                let other = FULFILMENT.replace("90s", end);
                assert!(!fulfilment_matches(&other, &condition), "{end}");
            }
        }
    }

    #[test]
    fn every_changed_bit_of_a_fulfilment_is_seen() {
        let preimage = decode_32_bytes(FULFILMENT).unwrap();
        for bit in 0..256 {
            let mut changed = preimage;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!fulfilment_matches(&encode_base64url(&changed), CONDITION));
        }
    }

    #[test]
    fn what_is_not_32_bytes_matches_nothing() {
        for text in [
            "",
            "a",
            &FULFILMENT[1..],
            &format!("{FULFILMENT}A"),
            &format!("{FULFILMENT}="),
        ] {
            assert!(decode_32_bytes(text).is_none());
            assert!(!fulfilment_matches(text, CONDITION));
        }
        assert!(decode_32_bytes(&FULFILMENT.replace('-', "+")).is_none());
        assert!(decode_32_bytes(&"é".repeat(21)).is_none());
    }

    #[test]
    fn encoding_is_base64url_without_padding() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg"),
            (b"fo", "Zm8"),
            (b"foo", "Zm9v"),
            (&[0xff, 0xfe], "__4"),
        ] {
            assert_eq!(encode_base64url(bytes), text);
        }
    }
}
