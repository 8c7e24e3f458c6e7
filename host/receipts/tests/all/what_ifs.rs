//! Receipts of what-ifs: what holds, and that none passes for a decision.

use rialto_receipts::verify::{examine, verify};
use rialto_receipts::{NotProven, ProofFile, ReceiptProof, WhatIfReceipt};
use serde_json::Value;

use crate::support::{AT, Log};

const SALT: &str = "AwMDAwMDAwMDAwMDAwMDAw";

fn body(marks: &str) -> String {
    format!(
        r#"{{"rule":"ceiling","input":{{"payer":"4915","counts":[1]}},"inputDigest":"sha256:00",{marks}"verdict":{{"outcome":"allow"}},"salt":"{SALT}"}}"#
    )
}

fn marked() -> String {
    body(r#""decided":false,"whatIf":true,"#)
}

#[test]
fn what_if_is_whole_with_its_marks() {
    let draft = WhatIfReceipt::of(&marked(), AT).unwrap();
    let found = examine(&draft).unwrap();
    assert!(found.is_what_if());
    assert_eq!(found.hash.text(), draft.hash);
    assert_eq!(found.field::<String>("rule").unwrap(), "ceiling");
    assert_eq!(found.input, r#"{"payer":"4915","counts":[1]}"#);
}

#[test]
fn what_if_without_its_marks_is_refused() {
    for marks in [
        "",
        r#""whatIf":true,"#,
        r#""decided":false,"#,
        r#""decided":true,"whatIf":true,"#,
        r#""decided":false,"whatIf":false,"#,
    ] {
        let draft = WhatIfReceipt::of(&body(marks), AT).unwrap();
        assert_eq!(examine(&draft).unwrap_err(), NotProven::Unmarked, "{marks}");
    }
    // A mark that is left out of the file is missing.
    let mut draft = WhatIfReceipt::of(&marked(), AT).unwrap();
    let other = WhatIfReceipt::of(&body(r#""decided":false,"#), AT).unwrap();
    draft
        .disclosures
        .retain(|one| other.disclosures.contains(one));
    assert_eq!(examine(&draft).unwrap_err(), NotProven::Unmarked);
}

#[test]
fn changed_what_if_is_refused() {
    let draft = WhatIfReceipt::of(&marked(), AT).unwrap();
    let later = WhatIfReceipt::of(&marked(), AT + 1).unwrap();
    let mut changed = draft.clone();
    changed.disclosures[0].clone_from(&later.disclosures[0]);
    let found = examine(&changed).unwrap_err();
    assert_eq!(found, NotProven::Field("at".to_owned()));
    changed.digests[0].clone_from(&later.digests[0]);
    assert_eq!(examine(&changed).unwrap_err(), NotProven::Hash);
}

#[test]
fn what_if_is_no_receipt_of_a_decision_even_in_a_log() {
    let mut log = Log::new();
    let index = log.add_receipts(&[&marked()]);
    let proof: ReceiptProof = log.proof(&marked(), index);
    assert_eq!(verify(&proof, &[log.key()]).unwrap_err(), NotProven::WhatIf);
}

#[test]
fn marks_stay_when_fields_are_taken_away() {
    let mut file = ProofFile {
        what_ifs: vec![WhatIfReceipt::of(&marked(), AT).unwrap()],
        ..ProofFile::default()
    };
    let names = ["whatIf", "decided", "input.counts"].map(str::to_owned);
    // The counts, and the digest of the whole input.
    assert_eq!(file.redact(&names), 2);
    let text = serde_json::to_string(&file).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["whatIfs"].as_array().unwrap().len(), 1);
    let file = ProofFile::read(&text).unwrap();
    let found = examine(&file.what_ifs[0]).unwrap();
    assert_eq!((found.redacted, &*found.input), (2, r#"{"payer":"4915"}"#));
}
