//! Tests of the rules about keys, formats and failures. An oracle that shares no code with the module checks blocks.

use super::key::Cipher;
use super::*;

mod oracle;
mod properties;
mod vectors;

use oracle::{bytes, encode};

const TDES: &str = "0123456789ABCDEFFEDCBA9876543210";
const AES: &str = "00112233445566778899AABBCCDDEEFF";
const PAN: &str = "5555555551234567";

const FORMATS: [Format; 4] = [Format::Iso0, Format::Iso1, Format::Iso3, Format::Iso4];

/// The bytes of a key that fits a format.
fn key_bytes(format: Format) -> Vec<u8> {
    bytes(if format == Format::Iso4 { AES } else { TDES })
}

fn pin_key(format: Format, bytes: &[u8]) -> Result<PinKey, PinKeyError> {
    if format == Format::Iso4 {
        PinKey::aes(bytes)
    } else {
        PinKey::tdes(bytes)
    }
}

/// [`translate`] with the keys of [`key_bytes`].
fn translated(block: &[u8], from: Format, to: Format, pan: &str) -> Result<Vec<u8>, PinError> {
    let (from_key, to_key) = (
        pin_key(from, &key_bytes(from)).unwrap(),
        pin_key(to, &key_bytes(to)).unwrap(),
    );
    let from = Zone::new(&from_key, from).unwrap();
    let to = Zone::new(&to_key, to).unwrap();
    translate(block, &from, &to, pan)
}

#[test]
fn format_1_is_only_reached_from_format_1() {
    for from in FORMATS {
        for to in FORMATS {
            let refused = to == Format::Iso1 && from != Format::Iso1;
            let expected = if refused {
                Err(PinKeyError::Unbound { from })
            } else {
                Ok(())
            };
            assert_eq!(check_pair(from, to), expected, "{from} to {to}");
            let block = encode(from, &key_bytes(from), "1234", PAN, u128::MAX);
            assert_eq!(translated(&block, from, to, PAN).is_err(), refused);
        }
    }
    assert_eq!(
        PinKeyError::Unbound { from: Format::Iso4 }.to_string(),
        "ISO 9564-1 does not allow a translation from ISO-4 to ISO-1: it loses the account number"
    );
}

#[test]
fn zones_join_formats_only_with_their_cipher() {
    let tdes = PinKey::tdes(&bytes(TDES)).unwrap();
    let aes = PinKey::aes(&bytes(AES)).unwrap();
    for format in FORMATS {
        let (right, wrong) = match format {
            Format::Iso4 => (&aes, &tdes),
            _ => (&tdes, &aes),
        };
        assert_eq!(Zone::new(right, format).unwrap().format(), format);
        let error = Zone::new(wrong, format).unwrap_err();
        assert!(matches!(error, PinKeyError::WrongKey { .. }), "{error}");
    }
    assert_eq!(
        Zone::new(&tdes, Format::Iso4).unwrap_err().to_string(),
        "PIN blocks of format ISO-4 need a key for AES"
    );
}

#[test]
fn keys_of_other_lengths_are_refused() {
    for len in 0..=64 {
        let key: Vec<u8> = (0..len).map(|i| (i as u8) << 1).collect();
        let tdes = PinKey::tdes(&key).err();
        let aes = PinKey::aes(&key).err();
        let is_tdes = matches!(len, 16 | 24);
        let is_aes = matches!(len, 16 | 24 | 32);
        assert_eq!(tdes, (!is_tdes).then_some(PinKeyError::TdesLength(len)));
        assert_eq!(aes, (!is_aes).then_some(PinKeyError::AesLength(len)));
    }
}

#[test]
fn single_des_is_refused_whatever_its_parity() {
    const A: &str = "0123456789ABCDEF";
    const B: &str = "FEDCBA9876543210";
    // `A` with every parity bit inverted.
    const A_ODD: &str = "0022446688AACCEE";
    let single = Some(PinKeyError::SingleDes);
    let check = |parts: &[&str]| PinKey::tdes(&bytes(&parts.concat())).err();
    assert_eq!(check(&[A, A]), single);
    assert_eq!(check(&[A, A_ODD]), single);
    assert_eq!(check(&[A, A, A]), single);
    assert_eq!(check(&[A, A_ODD, B]), single);
    assert_eq!(check(&[B, A, A_ODD]), single);
    assert_eq!(check(&[A, B]), None);
    assert_eq!(check(&[A, B, A]), None);
}

#[test]
fn outer_equal_parts_are_a_double_length_key() {
    let double = bytes(TDES);
    let triple = [&double[..], &double[..8]].concat();
    let (double, triple) = (
        PinKey::tdes(&double).unwrap(),
        PinKey::tdes(&triple).unwrap(),
    );
    let block = encode(Format::Iso0, &bytes(TDES), "1234", PAN, 0);
    let from = Zone::new(&double, Format::Iso0).unwrap();
    let to = Zone::new(&triple, Format::Iso0).unwrap();
    assert_eq!(translate(&block, &from, &to, PAN).unwrap(), block);
}

#[test]
fn every_failure_is_the_same_error() {
    let good = |format| encode(format, &key_bytes(format), "1234", PAN, u128::MAX);
    let mut failures = Vec::new();
    for from in FORMATS {
        let to = if from == Format::Iso1 {
            Format::Iso0
        } else {
            from
        };
        let block = good(from);
        for len in (0..=32).filter(|len| *len != from.block_len()) {
            failures.push(translated(&vec![0; len], from, to, PAN));
        }
        for pan in [
            "",
            "1234567",
            "12345678901234567890",
            "555555555123456A",
            "55555555 1234567",
            "5555555551234٣٤",
            "-555555551234567",
        ] {
            failures.push(translated(&block, from, to, pan));
        }
        // Fields that are wrong in one way each: control, length, PIN digit, and fill digit where it is checked.
        for (place, digit) in [(0, 7), (1, 3), (1, 13), (2, 10), (5, 15), (6, 9), (15, 0)] {
            if from == Format::Iso1 && place > 5 {
                continue;
            }
            let bad = oracle::encode_spoilt(from, &key_bytes(from), "1234", PAN, (place, digit));
            failures.push(translated(&bad, from, to, PAN));
        }
    }
    failures.push(translated(
        &good(Format::Iso0),
        Format::Iso0,
        Format::Iso1,
        PAN,
    ));
    failures.push(translated(
        &good(Format::Iso0),
        Format::Iso3,
        Format::Iso0,
        PAN,
    ));
    for failure in failures {
        let error = failure.unwrap_err();
        assert_eq!(error, PinError);
        assert_eq!(error.to_string(), "the PIN block cannot be translated");
        assert_eq!(format!("{error:?}"), "PinError");
    }
}

#[test]
fn pins_have_4_to_12_digits() {
    for from in FORMATS {
        let to = if from == Format::Iso1 {
            Format::Iso1
        } else {
            Format::Iso0
        };
        let fill = if from == Format::Iso4 { "A" } else { "F" };
        for len in 0..=14 {
            // The digits and the fill are right for this length, so that only the length can be wrong.
            let control = &from.name()[4..];
            let digits = format!("{}{}", "7".repeat(len), fill.repeat(14 - len));
            let tail = if from == Format::Iso4 {
                "0123456789ABCDEF"
            } else {
                ""
            };
            let field = format!("{control}{len:X}{digits}{tail}");
            let block = oracle::seal(from, &key_bytes(from), &field, PAN);
            let is_ok = translated(&block, from, to, PAN).is_ok();
            assert_eq!(is_ok, (4..=12).contains(&len), "{field}");
        }
    }
}

#[test]
fn format_1_to_format_1_needs_no_account_number() {
    let block = encode(Format::Iso1, &bytes(TDES), "1234", "", 7);
    assert!(translated(&block, Format::Iso1, Format::Iso1, "").is_ok());
    assert_eq!(
        translated(&block, Format::Iso1, Format::Iso3, ""),
        Err(PinError)
    );
}

#[test]
fn account_numbers_have_8_to_19_digits() {
    let block = encode(Format::Iso1, &bytes(TDES), "1234", "", 7);
    for len in 0..=40 {
        let pan = "4".repeat(len);
        let is_ok = translated(&block, Format::Iso1, Format::Iso4, &pan).is_ok();
        assert_eq!(is_ok, (8..=19).contains(&len), "{len}");
    }
}

#[test]
fn debug_shows_no_bytes_of_keys() {
    let tdes = PinKey::tdes(&bytes(TDES)).unwrap();
    let aes = PinKey::aes(&bytes(AES)).unwrap();
    assert_eq!(format!("{tdes:?} {aes:?}"), "PinKey(TDES) PinKey(AES)");
    let zone = Zone::new(&tdes, Format::Iso3).unwrap();
    assert_eq!(format!("{zone:?}"), "Zone(ISO-3)");
}

#[test]
fn formats_have_the_names_of_the_standard() {
    for (format, name) in FORMATS
        .into_iter()
        .zip(["ISO-0", "ISO-1", "ISO-3", "ISO-4"])
    {
        let json = serde_json::to_string(&format).unwrap();
        assert_eq!(json, format!("{name:?}"));
        assert_eq!(serde_json::from_str::<Format>(&json).unwrap(), format);
        assert_eq!(format.to_string(), name);
    }
    assert!(serde_json::from_str::<Format>("\"ISO-2\"").is_err());
}

#[test]
fn blocks_of_random_formats_are_never_repeated() {
    for to in [Format::Iso1, Format::Iso3, Format::Iso4] {
        let from = if to == Format::Iso1 { to } else { Format::Iso0 };
        let block = encode(from, &key_bytes(from), "1234", PAN, 0);
        // 8 equal blocks by chance: less likely than 2^-180 for format 3, which has the fewest random digits.
        let blocks: std::collections::HashSet<_> = (0..8)
            .map(|_| translated(&block, from, to, PAN).unwrap())
            .collect();
        assert!(blocks.len() > 1, "{to}");
    }
}
