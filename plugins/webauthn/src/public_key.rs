//! An authenticator's public key: from COSE (RFC 9053) to PEM, and its signatures from DER to two numbers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ciborium::Value;

use crate::cbor::{Map, member};

/// COSE's number of ES256: ECDSA on P-256 with SHA-256. It is the one algorithm that is offered.
pub const ES256: i64 = -7;

/// Bytes of a coordinate and of a number of a signature.
const NUMBER: usize = 32;

/// What stands before an uncompressed point in a SubjectPublicKeyInfo of P-256 (RFC 5480).
const BEFORE_POINT: [u8; 27] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
];

/// A public key that an authenticator has made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// SubjectPublicKeyInfo as PEM. Whether the point is on the curve is not known yet.
    Es256(String),
    /// A key of another algorithm, by its number.
    Other(i64),
}

/// The key in a COSE map.
///
/// # Errors
/// When it is none.
pub fn of_cose(map: &Map) -> Result<PublicKey, &'static str> {
    let integer = |key: i64| -> Result<Option<i64>, &'static str> {
        let value = member(map, &key.into())?.and_then(Value::as_integer);
        Ok(value.and_then(|value| i64::try_from(value).ok()))
    };
    let coordinate = |key: i64| -> Result<&[u8], &'static str> {
        let bytes = member(map, &key.into())?.and_then(Value::as_bytes);
        match bytes {
            Some(bytes) if bytes.len() == NUMBER => Ok(bytes),
            _ => Err("has no coordinate of 32 bytes"),
        }
    };
    let algorithm = integer(3)?.ok_or("names no algorithm")?;
    if algorithm != ES256 {
        return Ok(PublicKey::Other(algorithm));
    }
    // Key type: two coordinates. Curve: P-256.
    if integer(1)? != Some(2) || integer(-1)? != Some(1) {
        return Err("is no key on the curve P-256");
    }
    let (x, y) = (coordinate(-2)?, coordinate(-3)?);
    Ok(PublicKey::Es256(pem(&[&BEFORE_POINT, x, y].concat())))
}

fn pem(key: &[u8]) -> String {
    let text = STANDARD.encode(key);
    let mut pem = String::from("-----BEGIN PUBLIC KEY-----\n");
    for line in text.as_bytes().chunks(64) {
        pem.extend(line.iter().map(|byte| char::from(*byte)));
        pem.push('\n');
    }
    pem.push_str("-----END PUBLIC KEY-----\n");
    pem
}

/// The two numbers of an ECDSA signature in DER (RFC 3279, 2.2.3), one after the other.
///
/// # Errors
/// When it is no such signature.
pub fn numbers(der: &[u8]) -> Result<Vec<u8>, &'static str> {
    let (sequence, rest) = element(der, 0x30)?;
    let (first, then) = element(sequence, 0x02)?;
    let (second, end) = element(then, 0x02)?;
    if !rest.is_empty() || !end.is_empty() {
        return Err("has bytes behind its end");
    }
    Ok([number(first)?, number(second)?].concat())
}

/// The contents of the element of this tag, and the bytes behind it. All lengths here are below 128.
fn element(der: &[u8], tag: u8) -> Result<(&[u8], &[u8]), &'static str> {
    match der {
        [given, length @ 0..=127, rest @ ..] if *given == tag => rest
            .split_at_checked(usize::from(*length))
            .ok_or("is cut off"),
        _ => Err("is no ECDSA signature in DER"),
    }
}

/// A positive integer of DER with as many bytes as a coordinate.
fn number(contents: &[u8]) -> Result<[u8; NUMBER], &'static str> {
    let digits = match contents {
        [0, 0x80..=0xff, ..] => &contents[1..],
        [1..=0x7f, ..] => contents,
        _ => return Err("has a number that is not positive or not in its shortest form"),
    };
    let before = NUMBER
        .checked_sub(digits.len())
        .ok_or("has a number of more than 32 bytes")?;
    let mut number = [0; NUMBER];
    for (place, digit) in number.iter_mut().skip(before).zip(digits) {
        *place = *digit;
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(x: usize) -> Map {
        vec![
            (1.into(), 2.into()),
            (3.into(), (-7).into()),
            ((-1).into(), 1.into()),
            ((-2).into(), Value::Bytes(vec![1; x])),
            ((-3).into(), Value::Bytes(vec![2; 32])),
        ]
    }

    #[test]
    fn key_is_told_as_pem() {
        let PublicKey::Es256(pem) = of_cose(&key(32)).unwrap() else {
            panic!("another algorithm");
        };
        let lines: Vec<&str> = pem.lines().collect();
        assert_eq!(lines[0], "-----BEGIN PUBLIC KEY-----");
        assert!(
            lines[1].starts_with("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAQEB"),
            "{pem}"
        );
        assert_eq!((lines.len(), lines[1].len()), (4, 64));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        assert!(of_cose(&key(31)).is_err());
        for missing in 0..5 {
            let mut map = key(32);
            map.remove(missing);
            assert!(of_cose(&map).is_err(), "{missing}");
        }
        let mut twice = key(32);
        twice.push(((-2).into(), Value::Bytes(vec![3; 32])));
        assert_eq!(of_cose(&twice), Err("has a key twice"));
        let mut curve = key(32);
        curve[2].1 = 2.into();
        assert!(of_cose(&curve).is_err());
        let rsa = vec![(1.into(), 3.into()), (3.into(), (-257).into())];
        assert_eq!(of_cose(&rsa), Ok(PublicKey::Other(-257)));
    }

    #[test]
    fn signature_in_der_becomes_two_numbers() {
        let read = numbers(&[0x30, 0x07, 0x02, 0x01, 0x05, 0x02, 0x02, 0x00, 0x80]).unwrap();
        assert_eq!((read.len(), read[31], read[63]), (64, 5, 0x80));
        assert_eq!(read.iter().filter(|byte| **byte != 0).count(), 2);
        for bad in [
            &[][..],
            &[0x30],
            &[0x30, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01],
            // Zero, a negative number, a needless zero, and bytes behind.
            &[0x30, 0x06, 0x02, 0x01, 0x00, 0x02, 0x01, 0x01],
            &[0x30, 0x06, 0x02, 0x01, 0x80, 0x02, 0x01, 0x01],
            &[0x30, 0x07, 0x02, 0x02, 0x00, 0x05, 0x02, 0x01, 0x01],
            &[0x30, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x01, 0x00],
            &[0x30, 0x81, 0x06, 0x02, 0x01, 0x05, 0x02, 0x01, 0x01],
        ] {
            assert!(numbers(bad).is_err(), "{bad:?}");
        }
        // Another reader of DER says the same of each change of one byte.
        let good = [
            &[0x30, 0x45, 0x02, 0x21, 0x00][..],
            &[0x91; 32],
            &[0x02, 0x20],
            &[0x11; 32],
        ]
        .concat();
        for index in 0..good.len() {
            for value in [0x00, 0x01, 0x20, 0x7f, 0x80, 0xff] {
                let mut der = good.clone();
                der[index] = value;
                let other = p256::ecdsa::Signature::from_der(&der);
                let other = other.map(|signature| signature.to_bytes().to_vec());
                assert_eq!(numbers(&der).ok(), other.ok(), "{index} {value}");
            }
        }
        let long = [&[0x30, 38, 0x02, 33][..], &[1; 33], &[0x02, 0x01, 0x01]].concat();
        assert!(numbers(&long).is_err());
    }
}
