//! JSON: what is taken is read as another reader reads it, and its canonical form is another writer's.

use rialto_openapi::json::parse;
use rialto_sdk::canonical::{canonical_json, request_hash};
use serde_json::Value;

/// The bytes are JSON, perhaps.
pub fn judge(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let plainly = serde_json::from_str::<Value>(text);
    match parse(text) {
        Ok(value) => {
            assert_eq!(plainly.ok().as_ref(), Some(&value));
            let canonical = canonical_json(&value);
            let theirs = serde_json_canonicalizer::to_string(&value);
            assert_eq!(theirs.ok().as_ref(), Some(&canonical));
            let again: Value = serde_json::from_str(&canonical).expect("canonical JSON is JSON");
            assert_eq!(canonical_json(&again), canonical);
            assert_eq!(request_hash(&again), request_hash(&value));
        }
        Err(why) if why.starts_with("is not JSON: ") => assert!(plainly.is_err(), "{why}"),
        // The whole need not be JSON: the first thing that is wrong is told.
        Err(why) => assert!(
            [
                "has two members named",
                "has a member whose name",
                "is nested deeper"
            ]
            .iter()
            .any(|known| why.starts_with(known)),
            "{why}"
        ),
    }
}
