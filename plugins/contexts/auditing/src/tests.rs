//! Tests of the context in surroundings of its own.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rialto_sdk::documents::Memory;
use rialto_sdk::operators::{Answer, Caller};
use serde_json::{Value, json};

use crate::api;
use crate::bindings::exports::rialto::auditing::audit_log_write::{Event, Outcome as Ended};
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::auditing::audit_entry_quarantined;
use crate::bindings::rialto::host::audit_log::{Filter, Page, Proof, StoredEntry};
use crate::bindings::rialto::host::auditing::{Entry, Outcome};
use crate::bindings::rialto::security_authz::verify_signature::Signed;
use crate::entries;
use crate::quarantine::MOST;
use crate::world::World;

const NOW: u64 = 1_000_000_000_000;

/// Surroundings in which a signature is right if it is `by` and the key's id.
#[derive(Default)]
struct Fake {
    store: Memory,
    written: Vec<Entry>,
    asked: Vec<(Filter, u64, u32)>,
    warnings: Vec<String>,
    /// How many waited in quarantine, by the events about it.
    told: Vec<u64>,
    stored: Vec<StoredEntry>,
    named: Vec<String>,
}

rialto_sdk::stores_in!(Fake, this => this.store);

impl World for Fake {
    fn now(&mut self) -> u64 {
        NOW
    }
    fn verify(&mut self, signed: &Signed) -> Result<String, String> {
        if signed.algorithm != "ES256" {
            return Err("the key is of another algorithm".to_owned());
        }
        if signed.signature != format!("by {}", signed.key_id).as_bytes() {
            return Err("the signature is not of this key".to_owned());
        }
        Ok(format!("operator/{}", signed.key_id))
    }
    fn write(&mut self, entry: &Entry) {
        self.written.push(entry.clone());
    }
    fn names(&mut self, subject: &str) {
        self.named.push(subject.to_owned());
    }
    fn search(&mut self, filter: &Filter, first: u64, limit: u32) -> Result<Page, String> {
        self.asked.push((filter.clone(), first, limit));
        let from = self.stored.iter().filter(|stored| stored.index >= first);
        let entries: Vec<_> = from.take(limit as usize).cloned().collect();
        let is_full = entries.len() == limit as usize;
        let last = entries.last().filter(|_| is_full);
        Ok(Page {
            // The host looks at the entries before this one at a time.
            next: last.map(|last| last.index + 1).or((first < 7).then_some(7)),
            entries,
            size: 20,
            checkpoint: Some("note".to_owned()),
        })
    }
    fn publish(&mut self, event: &audit_entry_quarantined::Event) {
        self.told.push(event.waiting);
    }
    fn warn(&mut self, about: &str, line: &str) {
        assert!(about.starts_with("audit-quarantine:"), "{about}");
        self.warnings.push(line.to_owned());
    }
}

impl Fake {
    fn asks(&mut self, who: &str, operation: &str, body: &Value) -> (u16, Value) {
        self.sends(who, operation, &body.to_string(), &[], "")
    }

    fn sends(
        &mut self,
        who: &str,
        operation: &str,
        body: &str,
        query: &[(&str, &str)],
        id: &str,
    ) -> (u16, Value) {
        let pairs = query
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        let request = Request {
            operation_id: operation.to_owned(),
            method: String::new(),
            path: String::new(),
            path_parameters: vec![("id".to_owned(), id.to_owned())],
            query_parameters: pairs.collect(),
            headers: Vec::new(),
            body: Some(body.to_owned()),
            caller: None,
        };
        let roles = match who {
            "rita" => "reader",
            "adam" => "admin",
            _ => "context",
        };
        let caller = Caller {
            name: who.to_owned(),
            roles: vec![roles.to_owned()],
        };
        let Answer { status, body, .. } = api::answer(self, &caller, &request);
        (status, serde_json::from_str(&body.unwrap()).unwrap())
    }
}

/// An entry that `key` has signed.
fn signed(key: &str, payload: &Value) -> String {
    let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let header = json!({ "alg": "ES256", "kid": key });
    format!(
        "{}.{}.{}",
        part(header.to_string().as_bytes()),
        part(payload.to_string().as_bytes()),
        part(format!("by {key}").as_bytes())
    )
}

fn login() -> Value {
    json!({ "at": 5, "action": "login", "about": "user:1", "outcome": "refused", "note": "n", "details": { "a": 1 } })
}

#[test]
fn signed_entry_is_written_with_its_signature() {
    let mut fake = Fake::default();
    let text = signed("switch", &login());
    let answer = fake.asks("switch", "writeAuditEntry", &json!({ "entry": text }));
    assert_eq!(answer, (201, json!({ "result": "WRITTEN" })));
    let entry = fake.written.pop().unwrap();
    assert_eq!(
        (&*entry.action, &*entry.about, &*entry.note),
        ("login", "user:1", "n")
    );
    assert_eq!(entry.outcome, Outcome::Refused);
    let details: Value = serde_json::from_str(&entry.details.unwrap()).unwrap();
    let expected = json!({
        "writtenBy": "operator/switch", "keyId": "switch", "saidAt": 5, "signed": text, "details": { "a": 1 },
    });
    assert_eq!(details, expected);
    assert!(fake.written.is_empty());
    assert!(fake.warnings.is_empty());
    let refused = fake.asks("rita", "writeAuditEntry", &json!({ "entry": text }));
    assert_eq!(refused.0, 403);
    assert!(fake.written.is_empty());
}

#[test]
fn bad_entries_are_in_quarantine_and_never_dropped() {
    let mut fake = Fake::default();
    let good = signed("switch", &login());
    let mut crit = login();
    crit["action"] = "Log in".into();
    let (head, _) = good.rsplit_once('.').unwrap();
    let cases = [
        ("no-signature".to_owned(), "no JSON Web Signature"),
        (
            format!("{head}.{}", URL_SAFE_NO_PAD.encode("by other")),
            "not of this key",
        ),
        (signed("other", &login()), "signed by operator/other"),
        (signed("switch", &crit), "`action` is"),
        (signed("switch", &json!({ "at": 5 })), "is no entry"),
        (
            signed(
                "switch",
                &json!({ "at": 5, "action": "a", "outcome": "done", "more": 1 }),
            ),
            "is no entry",
        ),
        (
            signed(
                "switch",
                &json!({ "at": 5, "action": "a", "outcome": "done", "note": "a\nb" }),
            ),
            "`note` has",
        ),
        (
            signed(
                "switch",
                &json!({ "at": 5, "action": "a", "outcome": "done", "about": "x".repeat(257) }),
            ),
            "`about` has",
        ),
    ];
    for (n, (text, reason)) in cases.iter().enumerate() {
        let (status, body) = fake.asks("switch", "writeAuditEntry", &json!({ "entry": text }));
        assert_eq!(status, 422, "{body}");
        assert!(body["detail"].as_str().unwrap().contains(reason), "{body}");
        assert_eq!(body["quarantine"], format!("{NOW:013}-{}", n + 1), "{body}");
        let entry = fake.written.pop().unwrap();
        assert_eq!(entry.action, "audit.quarantined");
        assert!(fake.written.is_empty());
        assert_eq!(fake.warnings.len(), n + 1);
    }
    let (_, kept) = fake.asks("rita", "listAuditQuarantine", &Value::Null);
    let kept = kept["items"].as_array().unwrap();
    assert_eq!(kept.len(), cases.len());
    assert_eq!(fake.told, [1, 2, 4, 8][..=cases.len().ilog2() as usize]);
    assert_eq!(kept[1]["entry"], cases[1].0);
    // Good and bad ones in one batch.
    let batch = json!({ "entries": [good, "bad"] });
    let (status, body) = fake.asks("switch", "writeAuditEntries", &batch);
    assert_eq!(
        (
            status,
            &body["items"][0]["result"],
            &body["items"][1]["result"]
        ),
        (200, &"WRITTEN".into(), &"QUARANTINED".into())
    );
    // Who dismisses one is told in the log.
    fake.written.clear();
    let id = kept[0]["id"].as_str().unwrap();
    assert_eq!(fake.sends("rita", "dismissAuditEntry", "", &[], id).0, 403);
    assert_eq!(fake.sends("adam", "dismissAuditEntry", "", &[], id).0, 200);
    assert_eq!(fake.sends("adam", "dismissAuditEntry", "", &[], id).0, 404);
    let entry = fake.written.pop().unwrap();
    assert_eq!(
        (&*entry.action, entry.outcome),
        ("audit.dismissed", Outcome::Done)
    );
    assert!(entry.details.unwrap().contains("no-signature"));
}

#[test]
fn text_that_would_outgrow_an_entry_is_refused() {
    let mut fake = Fake::default();
    for text in [
        "\"".repeat(4_096),
        "\u{1f600}".repeat(1_000),
        "a".repeat(4_097),
    ] {
        let (status, body) = fake.asks("switch", "writeAuditEntry", &json!({ "entry": text }));
        assert_eq!(status, 400, "{body}");
    }
    assert!(fake.written.is_empty());
    // The longest one that is taken fits the details that the host takes.
    let text = "a".repeat(4_096);
    assert_eq!(
        fake.asks("switch", "writeAuditEntry", &json!({ "entry": text }))
            .0,
        422
    );
    assert!(fake.written[0].details.as_ref().unwrap().len() <= 8 << 10);
    let long = json!({ "about": "\u{1f600}".repeat(256) });
    assert_eq!(fake.asks("rita", "searchAuditLog", &long).0, 400);
    assert!(fake.asked.is_empty());
}

#[test]
fn full_quarantine_takes_nothing_more() {
    let mut fake = Fake::default();
    let count = format!(r#"{{"kept":{},"ever":{0}}}"#, MOST - 1);
    let key = ("quarantine-count".to_owned(), "count".to_owned());
    fake.store.0.insert(key, count);
    let bad = json!({ "entry": "bad" });
    assert_eq!(
        fake.asks("switch", "writeAuditEntry", &bad).1["type"],
        "urn:rialto:problem:audit-entry"
    );
    assert_eq!(fake.told, [MOST], "it is full");
    let (status, body) = fake.asks("switch", "writeAuditEntry", &bad);
    assert_eq!((status, &body["most"]), (422, &MOST.into()), "{body}");
    // Good ones are still taken.
    let good = json!({ "entry": signed("switch", &login()) });
    assert_eq!(fake.asks("switch", "writeAuditEntry", &good).0, 201);
}

#[test]
fn searches_have_bounds_and_an_entry() {
    let mut fake = Fake::default();
    let stored = |index, entry: &str, proof| StoredEntry {
        index,
        entry: entry.to_owned(),
        opened: None,
        proof,
        path: Vec::new(),
    };
    fake.stored = vec![
        stored(3, r#"{"b":1,"a":2}"#, Proof::Verified),
        stored(4, "{", Proof::Changed),
    ];
    for query in [json!({}), json!({ "until": 5, "limit": 1 })] {
        let (status, body) = fake.asks("rita", "searchAuditLog", &query);
        assert_eq!(
            (status, &body["type"]),
            (422, &"urn:rialto:problem:query-unbounded".into())
        );
    }
    assert!(fake.asked.is_empty());
    let query = [
        ("about", "transfer:\"1\""),
        ("actor", "anna"),
        ("since", "10"),
        ("limit", "5"),
        ("cursor", "2"),
    ];
    let (status, body) = fake.sends("rita", "readAuditLog", "", &query, "");
    assert_eq!(status, 200, "{body}");
    let expected = json!({
        "items": [
            { "index": 3, "proof": "VERIFIED", "entry": { "a": 2, "b": 1 } },
            { "index": 4, "proof": "CHANGED", "text": "{" },
        ],
        "size": 20, "checkpoint": "note",
    });
    assert_eq!(body, expected);
    // It goes on until the page is full or all is looked at.
    let (_, first, limit) = fake.asked.pop().unwrap();
    assert_eq!((first, limit), (7, 3));
    let (filter, first, limit) = fake.asked.pop().unwrap();
    assert_eq!(
        (filter.since, filter.until, first, limit),
        (Some(10), None, 2, 5)
    );
    assert_eq!(
        filter.texts,
        [r#""about":"transfer:\"1\"""#, r#""name":"anna""#]
    );
    assert_eq!(fake.named, ["transfer:\"1\""]);
    let entry = fake.written.pop().unwrap();
    assert_eq!(
        (&*entry.action, entry.outcome),
        ("audit.read", Outcome::Done)
    );
    assert!(entry.details.unwrap().contains(r#""actor":"anna""#));
    // A text that stands in another member is none of what is searched for.
    let of = |about: &str, note: &str| {
        let entry = json!({
            "actor": { "kind": "operator", "name": "anna" }, "writer": "host", "action": "a",
            "outcome": "done", "about": about, "details": { "about": note },
        });
        entry.to_string()
    };
    let (one, other) = (of("x", "y"), of("y", "x"));
    fake.stored = vec![
        stored(3, &one, Proof::Verified),
        stored(4, &other, Proof::Verified),
    ];
    let (_, body) = fake.asks(
        "rita",
        "searchAuditLog",
        &json!({ "about": "x", "actor": "anna" }),
    );
    let items = body["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["index"]), (1, &3.into()));
    // Such texts fill no page.
    let query = json!({ "about": "y", "limit": 1 });
    let (_, body) = fake.asks("rita", "searchAuditLog", &query);
    assert_eq!(body["items"][0]["index"], 4, "{body}");
    assert_eq!(body["nextCursor"], "5", "{body}");
    // An entry with encrypted parts is found by what it was and by what it is.
    fake.stored = vec![StoredEntry {
        opened: Some(of("x", "")),
        ..stored(3, &of("p", ""), Proof::Verified)
    }];
    for about in ["x", "p"] {
        let (_, body) = fake.asks("rita", "searchAuditLog", &json!({ "about": about }));
        let item = &body["items"][0];
        let found = (&item["entry"]["about"], &item["opened"]["about"]);
        assert_eq!(found, (&"p".into(), &"x".into()), "{body}");
    }
    fake.written.clear();
    // Who may not read leaves an entry too.
    assert_eq!(
        fake.asks("switch", "searchAuditLog", &json!({ "since": 1 }))
            .0,
        403
    );
    let entry = fake.written.pop().unwrap();
    assert_eq!(
        (&*entry.action, entry.outcome),
        ("audit.read", Outcome::Refused)
    );
}

#[test]
fn event_is_written_whatever_it_says() {
    let mut fake = Fake::default();
    let event = |action: &str| Event {
        context: "security-authn".to_owned(),
        action: action.to_owned(),
        about: "x".repeat(300),
        outcome: Ended::Failed,
        note: "\u{fc}".repeat(600),
        at: 5,
    };
    for (said, written) in [
        ("login.refused", "login.refused"),
        ("Log in", "log-in"),
        ("", "unnamed"),
    ] {
        entries::of_event(&mut fake, event(said));
        let entry = fake.written.pop().unwrap();
        assert_eq!(entry.action, written);
        assert_eq!((entry.about.len(), entry.note.len()), (256, 1_024));
        assert!(entry.details.unwrap().contains("context/security-authn"));
    }
}
