//! The form of disclosures and digests, computed here by other means than the crate's.

use aws_lc_rs::{digest, hmac};
use data_encoding::BASE64URL_NOPAD;
use rialto_receipts::{Malformed, fields, hash};
use serde_json::{Value, json};

use crate::support::{AT, receipt};

fn sha256(bytes: &[u8]) -> Vec<u8> {
    digest::digest(&digest::SHA256, bytes).as_ref().to_vec()
}

#[test]
fn disclosure_is_the_array_of_salt_name_and_value() {
    let body = receipt(&json!({"amount": "10.50", "to": {"fsp": "b"}}));
    let all = fields::disclosures(&body, AT).unwrap();
    let read = |text: &String| -> (String, String, Value) {
        serde_json::from_slice(&BASE64URL_NOPAD.decode(text.as_bytes()).unwrap()).unwrap()
    };
    let all: Vec<_> = all.iter().map(read).collect();
    let names: Vec<_> = all.iter().map(|(_, name, _)| name.as_str()).collect();
    let wanted = [
        "at",
        "rule",
        "input.amount",
        "input.to",
        "inputDigest",
        "verdict",
    ];
    assert_eq!(names, wanted);
    assert_eq!(all[0].2, json!(AT));
    assert_eq!(all[3].2, json!({"fsp": "b"}));
    let key = hmac::Key::new(hmac::HMAC_SHA256, &[3; 16]);
    for (salt, name, _) in &all {
        let derived = hmac::sign(&key, name.as_bytes());
        assert_eq!(*salt, BASE64URL_NOPAD.encode(&derived.as_ref()[..16]));
    }
}

#[test]
fn hash_is_that_of_all_digests() {
    let body = receipt(&json!({"amount": "10.50"}));
    let all = fields::disclosures(&body, AT).unwrap();
    let digests: Vec<u8> = all.iter().flat_map(|one| sha256(one.as_bytes())).collect();
    assert_eq!(hash(&body, AT).unwrap().0.to_vec(), sha256(&digests));
}

#[test]
fn receipt_without_a_salt_has_no_hash() {
    let unsalted = hash(r#"{"rule":"ceiling"}"#, AT);
    assert!(matches!(unsalted, Err(Malformed::Unsalted)));
    let short = hash(r#"{"salt":"AAAA"}"#, AT);
    assert!(matches!(short, Err(Malformed::Unsalted)));
    assert!(matches!(hash("[]", AT), Err(Malformed::Json(_))));
}

#[test]
fn another_instant_is_another_hash() {
    let body = receipt(&json!({}));
    assert_ne!(hash(&body, AT).unwrap(), hash(&body, AT + 1).unwrap());
}
