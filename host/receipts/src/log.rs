//! The entries of the audit log about receipts: which receipts a commit of the host has made, by their hashes.

use rialto_audit::{Actor, ActorKind, Entry};
use serde::Deserialize;
use serde_json::json;

use crate::disclosure::ReceiptHash;

/// What such an entry says was done.
pub const ACTION: &str = "receipts.made";
/// How such an entry begins, behind its instant. No other writer's entry has this there.
pub const HEAD: &str =
    r#""actor":{"kind":"host","name":"host"},"writer":"host","action":"receipts.made""#;
/// The most receipts of one entry, so that it is no longer than an entry may be.
pub const RECEIPTS_PER_ENTRY: usize = 1_000;
/// Who writes these entries, and no others by this name.
const HOST: &str = "host";

/// What such an entry says more.
#[derive(Deserialize)]
struct Details {
    receipts: Vec<String>,
}

/// The entry about the receipts of a commit, at most [`RECEIPTS_PER_ENTRY`] of them. `at` is in milliseconds since 1970.
#[must_use]
pub fn entry(at: u64, receipts: &[ReceiptHash]) -> Entry {
    let receipts: Vec<String> = receipts.iter().map(ReceiptHash::text).collect();
    Entry {
        at,
        actor: Actor {
            kind: ActorKind::Host,
            name: HOST.to_owned(),
            operator: String::new(),
            credential: String::new(),
        },
        writer: HOST.to_owned(),
        action: ACTION.to_owned(),
        about: String::new(),
        outcome: "done".to_owned(),
        note: String::new(),
        details: Some(json!({ "receipts": receipts })),
        sealed: String::new(),
        release: None,
        turn: None,
        trace: String::new(),
    }
}

/// Whether an entry is about receipts: the host has written it, and no component.
#[must_use]
pub fn is_about_receipts(entry: &Entry) -> bool {
    entry.writer == HOST && entry.actor.kind == ActorKind::Host && entry.action == ACTION
}

/// The same of an entry's text.
#[must_use]
pub fn text_is_about_receipts(entry: &str) -> bool {
    // Most entries are others, and need not be read for this.
    entry.contains(ACTION) && serde_json::from_str(entry).is_ok_and(|one| is_about_receipts(&one))
}

/// Whether an entry of the audit log is the host's, and has this receipt.
#[must_use]
pub fn has(entry: &str, receipt: &ReceiptHash) -> bool {
    let Ok(entry) = serde_json::from_str::<Entry>(entry) else {
        return false;
    };
    let wanted = receipt.text();
    let details = entry.details.clone().unwrap_or_default();
    let details: Result<Details, _> = serde_json::from_value(details);
    is_about_receipts(&entry) && details.is_ok_and(|details| details.receipts.contains(&wanted))
}
