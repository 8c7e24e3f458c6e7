//! Responses of FIDO2 authenticators: what is read of one is what stands in its bytes, at the places of the
//! specification, and what is not read is malformed.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rialto_webauthn::authenticator_data::{self, AuthenticatorData};
use rialto_webauthn::public_key::{PublicKey, numbers};
use rialto_webauthn::{Failure, response};
use serde_json::json;

/// A line, `data`, `object`, `signature`, `register` or `authenticate`, and that part of a response.
pub fn judge(bytes: &[u8]) {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let part = &bytes[end + 1..];
    match &bytes[..end] {
        b"data" => {
            if let Ok(read) = authenticator_data::read(part) {
                judge_data(&read, part);
            }
        }
        b"object" => judge_object(part),
        b"signature" => judge_signature(part),
        b"register" => judge_text(part, |text| response::registration(text).map(|_| ())),
        b"authenticate" => judge_text(part, |text| response::assertion(text).map(|_| ())),
        _ => {}
    }
}

/// Authenticator data, by the places of its members.
fn judge_data(read: &AuthenticatorData, bytes: &[u8]) {
    assert_eq!(read.rp_id_hash, bytes[..32]);
    assert_eq!(read.sign_count.to_be_bytes(), bytes[33..37]);
    assert_eq!(read.flags.is_user_present(), bytes[32] & 1 != 0);
    assert_eq!(read.flags.is_user_verified(), bytes[32] & 4 != 0);
    assert_eq!(read.credential.is_some(), bytes[32] & 64 != 0);
    let Some(credential) = &read.credential else {
        assert!(bytes[32] & 128 != 0 || bytes.len() == 37);
        return;
    };
    let length = usize::from(bytes[53]) * 256 + usize::from(bytes[54]);
    assert_eq!(credential.id, bytes[55..55 + length]);
    assert!((1..=1023).contains(&length));
    if let PublicKey::Es256(pem) = &credential.public_key {
        let text: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
        let der = STANDARD.decode(text).expect("what was written is base64");
        let (x, y) = der[27..].split_at(32);
        let key = &bytes[55 + length..];
        let has = |number: &[u8]| key.windows(32).any(|window| window == number);
        assert!(
            der.len() == 91 && has(x) && has(y),
            "the key is not the one that was sent"
        );
    }
}

/// An attestation object in a response that is otherwise good, with the id that the object may have.
fn judge_object(object: &[u8]) {
    let id = object.windows(1).next().unwrap_or(b"a");
    let client = r#"{"type":"webauthn.create","challenge":"AAAA","origin":"https://a"}"#;
    let response = json!({
        "id": URL_SAFE_NO_PAD.encode(id),
        "rawId": URL_SAFE_NO_PAD.encode(id),
        "type": "public-key",
        "response": {
            "clientDataJSON": URL_SAFE_NO_PAD.encode(client),
            "attestationObject": URL_SAFE_NO_PAD.encode(object),
        },
    });
    match response::registration(&response.to_string()) {
        Ok(read) => assert_eq!(read.credential.id, id),
        Err(error) => assert!(matches!(error, Failure::Malformed(_)), "{error:?}"),
    }
}

/// A signature in DER: its two numbers are written as the same bytes. And 64 bytes are two numbers, which are read
/// as they were written.
fn judge_signature(bytes: &[u8]) {
    if let Ok(read) = numbers(bytes) {
        assert_eq!(written(&read), bytes);
    }
    if bytes.len() == 64
        && [&bytes[..32], &bytes[32..]]
            .iter()
            .all(|half| half.iter().any(|byte| *byte != 0))
    {
        assert_eq!(numbers(&written(bytes)).as_deref(), Ok(bytes));
    }
}

/// Two numbers as DER.
fn written(numbers: &[u8]) -> Vec<u8> {
    let number = |bytes: &[u8]| {
        let digits: Vec<u8> = bytes
            .iter()
            .copied()
            .skip_while(|byte| *byte == 0)
            .collect();
        let sign = digits.first().is_some_and(|first| *first >= 0x80);
        let digits = [if sign { &[0][..] } else { &[] }, &digits].concat();
        [
            &[0x02, u8::try_from(digits.len()).expect("at most 33")][..],
            &digits,
        ]
        .concat()
    };
    let both = [number(&numbers[..32]), number(&numbers[32..])].concat();
    [
        &[0x30, u8::try_from(both.len()).expect("at most 70")][..],
        &both,
    ]
    .concat()
}

fn judge_text(bytes: &[u8], read: impl Fn(&str) -> Result<(), Failure>) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Err(error) = read(text) {
        assert!(matches!(error, Failure::Malformed(_)), "{error:?}");
    }
}
