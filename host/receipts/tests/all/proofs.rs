//! Proofs: what verifies, what does not when something is changed, and what is left after fields were taken away.

use proptest::prelude::*;
use rialto_receipts::log::{self, HEAD, RECEIPTS_PER_ENTRY};
use rialto_receipts::proof::NoProofs;
use rialto_receipts::verify::verify;
use rialto_receipts::{NotProven, ProofFile, ReceiptHash, ReceiptProof};
use serde_json::{Value, json};

use crate::support::{Log, receipt};

/// A log with a receipt among others, and the proof of it.
fn scene(input: &Value) -> (Log, ReceiptProof) {
    let mut log = Log::new();
    let (body, other) = (receipt(input), receipt(&json!({"other": 1})));
    let index = log.add_receipts(&[&other, &body]);
    log.add("one behind it".to_owned());
    let proof = log.proof(&body, index);
    (log, proof)
}

#[test]
fn receipt_is_proven_with_all_its_fields() {
    let input = json!({"amount": "10.50", "to": {"name": "Zoë"}});
    let (log, proof) = scene(&input);
    let verified = verify(&proof, &[Log::new().key(), log.key()]).unwrap();
    assert_eq!((verified.receipt.redacted, verified.key), (0, 1));
    assert_eq!(verified.receipt.field::<String>("rule").unwrap(), "ceiling");
    assert_eq!(verified.receipt.input, input.to_string());
    assert_eq!(verified.checkpoint.size, 7);
}

#[test]
fn key_of_somebody_else_proves_nothing() {
    let (_, proof) = scene(&json!({}));
    let verified = verify(&proof, &[Log::new().key()]);
    assert!(matches!(verified, Err(NotProven::Checkpoint(_))));
}

#[test]
fn field_of_another_receipt_is_found() {
    let (log, mut proof) = scene(&json!({"amount": "1"}));
    let (_, other) = scene(&json!({"amount": "2"}));
    let amount = proof
        .disclosures
        .iter()
        .position(|one| !other.disclosures.contains(one));
    let amount = amount.unwrap();
    proof.disclosures[amount] = other.disclosures[amount].clone();
    let found = verify(&proof, &[log.key()]).unwrap_err();
    assert_eq!(found, NotProven::Field("input.amount".to_owned()));
    // With its digest, the receipt is another one, which the log does not have.
    proof.digests[amount] = other.digests[amount].clone();
    let found = verify(&proof, &[log.key()]).unwrap_err();
    assert_eq!(found, NotProven::NotInEntry(5));
}

#[test]
fn entry_of_a_component_proves_nothing() {
    let mut log = Log::new();
    let body = receipt(&json!({}));
    let hash = rialto_receipts::hash(&body, crate::support::AT).unwrap();
    let mut entry = log::entry(1, &[hash]);
    entry.writer = "scheduling".to_owned();
    let index = log.add(serde_json::to_string(&entry).unwrap());
    let found = verify(&log.proof(&body, index), &[log.key()]).unwrap_err();
    assert_eq!(found, NotProven::NotInEntry(5));
}

#[test]
fn entry_of_the_host_begins_as_the_filter_expects() {
    let text = serde_json::to_string(&log::entry(1_700_000_000_000, &[])).unwrap();
    assert_eq!(text.find(HEAD), Some(20));
    assert!(log::text_is_about_receipts(&text));
    let other = r#"{"at":1,"actor":{"kind":"component","name":"x"},"writer":"x","action":"receipts.made","outcome":"done"}"#;
    assert!(!log::text_is_about_receipts(other));
}

#[test]
fn longest_entry_is_one_that_the_log_takes() {
    let all = vec![ReceiptHash([255; 32]); RECEIPTS_PER_ENTRY];
    let text = serde_json::to_string(&log::entry(u64::MAX, &all)).unwrap();
    assert!(
        text.len() <= rialto_audit::ENTRY_BYTES_MAX,
        "{}",
        text.len()
    );
}

#[test]
fn what_was_taken_away_is_gone_and_the_rest_is_proven() {
    let (log, proof) = scene(&json!({"amount": "10.50", "payer": "4915778", "payee": "1"}));
    let mut file = ProofFile {
        receipts: vec![proof],
        ..ProofFile::default()
    };
    assert_eq!(file.redact(&["input.payer".to_owned()]), 2);
    let text = serde_json::to_string(&file).unwrap();
    let file = ProofFile::read(&text).unwrap();
    let verified = verify(&file.receipts[0], &[log.key()]).unwrap();
    assert_eq!(verified.receipt.redacted, 2);
    // The digest of the whole input would let somebody try all numbers.
    for name in ["input.payer", "inputDigest"] {
        assert!(!verified.receipt.fields.contains_key(name), "{name}");
    }
    assert!(verified.receipt.fields.contains_key("input.payee"));
}

#[test]
fn whole_input_goes_by_its_name() {
    let (log, proof) = scene(&json!({"amount": "10.50", "payer": "4915778"}));
    let mut file = ProofFile {
        receipts: vec![proof],
        ..ProofFile::default()
    };
    file.redact(&["input".to_owned()]);
    let verified = verify(&file.receipts[0], &[log.key()]).unwrap();
    let names: Vec<_> = verified.receipt.fields.keys().cloned().collect();
    assert_eq!(names, ["at", "rule", "verdict"]);
}

#[test]
fn settings_go_with_their_digest() {
    let mut log = Log::new();
    let body = r#"{"settingsDigest":"sha256:11","salt":"AwMDAwMDAwMDAwMDAwMDAw"}"#;
    let index = log.add_receipts(&[body]);
    let raw = |text: &str| serde_json::value::RawValue::from_string(text.to_owned()).unwrap();
    let mut file = ProofFile {
        receipts: vec![log.proof(body, index)],
        settings: [("sha256:11".to_owned(), raw("{}"))].into(),
        ..ProofFile::default()
    };
    file.redact(&["at".to_owned()]);
    assert_eq!(file.settings.len(), 1);
    file.redact(&["settingsDigest".to_owned()]);
    assert!(file.settings.is_empty());
}

#[test]
fn files_of_other_forms_are_refused() {
    let text = serde_json::to_string(&ProofFile::default()).unwrap();
    let newer = text.replace("\"version\":1", "\"version\":2");
    assert!(matches!(ProofFile::read(&newer), Err(NoProofs::Version(2))));
    let other = text.replace("rialto-receipts", "something");
    assert!(matches!(ProofFile::read(&other), Err(NoProofs::Format(_))));
    assert!(matches!(ProofFile::read("{}"), Err(NoProofs::Malformed(_))));
}

proptest! {
    /// No byte of a proof can be changed unseen, but the number that is for people.
    #[test]
    fn changed_byte_is_found(place in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let (log, proof) = scene(&json!({"amount": "10.50", "payer": "4915778"}));
        let before = verify(&proof, &[log.key()]).unwrap();
        let mut bytes = serde_json::to_vec(&proof).unwrap();
        let at = place.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(changed) = serde_json::from_slice::<ReceiptProof>(&bytes)
            && let Ok(after) = verify(&changed, &[log.key()])
        {
            prop_assert_eq!(before.checkpoint, after.checkpoint);
            for (name, value) in &after.receipt.fields {
                prop_assert_eq!(value.get(), before.receipt.fields[name].get());
            }
        }
    }

    /// Whatever is taken away, the rest is what it was.
    #[test]
    fn any_part_can_be_taken_away(taken in prop::collection::vec(any::<bool>(), 8)) {
        let (log, mut proof) = scene(&json!({"a": 1, "b": [2], "c": "3", "d": null}));
        let before = verify(&proof, &[log.key()]).unwrap();
        let mut taken = taken.into_iter();
        proof.disclosures.retain(|_| !taken.next().unwrap_or_default());
        let after = verify(&proof, &[log.key()]).unwrap();
        prop_assert_eq!(after.receipt.redacted + after.receipt.fields.len(), proof.digests.len());
        for (name, value) in &after.receipt.fields {
            prop_assert_eq!(value.get(), before.receipt.fields[name].get());
        }
    }
}
