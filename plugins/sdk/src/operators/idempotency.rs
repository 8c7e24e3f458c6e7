//! `Idempotency-Key`: a repeated request is done once, and gets the first answer again.
//!
//! Only successes are stored, in the turn of their effect: a refusal changed nothing, and is checked again.
//! Each operator has their own keys.

use super::{Answer, Caller, Kind, Problem, header};
use crate::canonical::{request_hash, sha256_hex};
use crate::documents::{Collection, Store};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Answers to requests with a key.
const ANSWERS: Collection<Kept> = Collection::new("idempotency");
/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

/// A document of the collection `idempotency`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kept {
    /// The hash of method, path and body.
    request_hash: String,
    status: u16,
    headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// UTC, milliseconds since 1970.
    at: u64,
}

/// The parts of a request that identify it.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// Who sent it.
    pub caller: &'a Caller,
    /// HTTP's method.
    pub method: &'a str,
    /// The path as received.
    pub path: &'a str,
    /// All headers.
    pub headers: &'a [(String, String)],
    /// The body, if it has one.
    pub body: Option<&'a str>,
    /// The turn's instant: UTC, milliseconds since 1970.
    pub now: u64,
}

/// Runs the request, unless one with its key was answered: then returns that answer.
///
/// # Errors
/// As `run`; or if the key was used with another request.
pub fn once<S: Store + ?Sized>(
    store: &mut S,
    sent: &Sent<'_>,
    run: impl FnOnce(&mut S) -> Result<Answer, Problem>,
) -> Result<Answer, Problem> {
    let Some(key) = header(sent.headers, "idempotency-key") else {
        return run(store);
    };
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        let detail = format!("`Idempotency-Key` must have 1 to {KEY_BYTES_MAX} characters");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    let id = format!("{}/{}", sent.caller.name, sha256_hex(key.as_bytes()));
    let hash = hash(sent);
    if let Some(kept) = ANSWERS.within(store).get_for_update(&id) {
        if kept.request_hash != hash {
            let detail = "this `Idempotency-Key` was used for another request: use a new key for a new request";
            return Err(Problem::new(Kind::IdempotencyKeyReused, detail));
        }
        let again = Answer {
            status: kept.status,
            headers: kept.headers,
            body: kept.body,
        };
        return Ok(again.with("idempotent-replayed", "true"));
    }
    let answer = run(store)?;
    let kept = Kept {
        request_hash: hash,
        status: answer.status,
        headers: answer.headers.clone(),
        body: answer.body.clone(),
        at: sent.now,
    };
    ANSWERS.within(store).put(&id, &kept);
    Ok(answer)
}

/// Independent of the order of members.
fn hash(sent: &Sent<'_>) -> String {
    let body: Value = sent.body.map_or(Value::Null, |body| {
        serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()))
    });
    request_hash(&json!({ "method": sent.method, "path": sent.path, "body": body }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::Memory;

    struct World {
        store: Memory,
        done: u32,
    }

    impl World {
        fn ask(&mut self, who: &str, key: &str, path: &str, body: &str) -> Result<Answer, Kind> {
            let caller = Caller {
                name: who.to_owned(),
                roles: Vec::new(),
            };
            let headers = [("idempotency-key".to_owned(), key.to_owned())];
            let sent = Sent {
                caller: &caller,
                method: "POST",
                path,
                headers: &headers,
                body: Some(body),
                now: 7,
            };
            let done = &mut self.done;
            let run = |_: &mut Memory| {
                if body.contains("bad") {
                    return Err(Problem::new(Kind::AmountZero, "no"));
                }
                *done += 1;
                Ok(Answer::json(201, &*done))
            };
            once(&mut self.store, &sent, run).map_err(|problem| problem.kind)
        }
    }

    #[test]
    fn repeated_request_is_done_once_with_the_same_answer() {
        let mut world = World {
            store: Memory::default(),
            done: 0,
        };
        let first = world.ask("anna", "k", "/a", r#"{"x":1,"y":2}"#).unwrap();
        let again = world.ask("anna", "k", "/a", r#"{"y":2, "x":1}"#).unwrap();
        assert_eq!((world.done, &again.body), (1, &first.body));
        assert_eq!(header(&again.headers, "idempotent-replayed"), Some("true"));
        assert_eq!(header(&first.headers, "idempotent-replayed"), None);
        let reused = Err(Kind::IdempotencyKeyReused);
        assert_eq!(world.ask("anna", "k", "/b", r#"{"x":1,"y":2}"#), reused);
        assert_eq!(world.ask("anna", "k", "/a", r#"{"x":1}"#), reused);
        assert!(world.ask("ben", "k", "/a", r#"{"x":1}"#).is_ok());
        assert_eq!(
            world.done, 2,
            "keys of one operator are not those of another"
        );
    }

    #[test]
    fn a_refusal_is_judged_afresh_and_leaves_nothing() {
        let mut world = World {
            store: Memory::default(),
            done: 0,
        };
        assert_eq!(world.ask("anna", "k", "/a", "bad"), Err(Kind::AmountZero));
        assert_eq!(world.store, Memory::default());
        assert!(world.ask("anna", "k", "/a", "{}").is_ok());
        let long = "k".repeat(256);
        assert_eq!(world.ask("anna", &long, "/a", "{}"), Err(Kind::Malformed));
        assert_eq!(world.ask("anna", "", "/a", "{}"), Err(Kind::Malformed));
    }
}
