//! What is encrypted of a turn's records, what is left, and what is read again.
#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;

use rialto_engine::history::{Ended, Kind, Step};
use rialto_engine::messages::{Message, Part};
use rialto_engine::store::AuditEntry;
use rialto_engine::{Timestamp, TurnId};
use rialto_store_sqlite::SqliteStore;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

const ANNA: &str = "party:MSISDN/4915778";
const BERT: &str = "party:EMAIL/b.ert@x.example";

struct Scene {
    _folder: TempDir,
    people: HostPeople,
}

impl Scene {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = SqliteStore::open(&folder.path().join("store")).unwrap();
        let kinds = BTreeSet::from(["party".to_owned()]);
        let keys = folder.path().join("people.keys");
        let people = HostPeople {
            people: People::create(&keys, kinds).unwrap(),
            store: Arc::new(store),
        };
        Self {
            _folder: folder,
            people,
        }
    }

    /// Seal a turn's records. Returns what goes to the store.
    fn seal(
        &self,
        record: &Record,
        people: &[&str],
        (receipt, entry): (&str, &Value),
    ) -> (Record, Receipt, String) {
        let mut record = record.clone();
        let mut receipts = vec![Receipt {
            id: 1,
            subject: "quote:1".into(),
            at: Timestamp(1),
            body: receipt.into(),
        }];
        let mut audit = vec![AuditEntry {
            at: Timestamp(1),
            body: entry.to_string().into(),
        }];
        self.people.seal(Left {
            record: &mut record,
            people: people.iter().map(|name| Name::from(*name)).collect(),
            receipts: &mut receipts,
            audit: &mut audit,
            publications: &mut Vec::new(),
        });
        let entry = audit.remove(0).body.to_string();
        (record, receipts.remove(0), entry)
    }
}

fn record(subjects: &[&str], steps: Vec<Step>, ended: Ended) -> Record {
    Record {
        turn: TurnId(7),
        cause: None,
        at: Timestamp(1),
        took_us: 2,
        release: 3,
        kind: Kind::Request,
        component: "api".into(),
        function: "GET /parties/MSISDN/4915778".into(),
        trace: 4,
        subjects: subjects.iter().map(|name| Name::from(*name)).collect(),
        steps,
        ended,
    }
}

fn steps() -> Vec<Step> {
    let written = |id: &str| Step::Wrote {
        document: format!("lookup/associations/{id}"),
    };
    vec![
        written("MSISDN/4915778"),
        Step::Judged {
            step: "quote-request".into(),
            rule: "limits".into(),
            verdict: "allow".into(),
            took_us: 5,
        },
        Step::Sent {
            id: 8,
            request: "PUT http://x/parties/MSISDN/4915778".into(),
        },
        Step::Answered { status: 202 },
        Step::Reminded {
            id: "MSISDN/4915778".into(),
            due: Timestamp(9),
        },
    ]
}

fn message(part: Part) -> Step {
    Step::Message(Box::new(Message {
        part,
        request: None,
        line: "GET /parties/MSISDN/4915778".into(),
        headers: vec![
            ("fspiop-source".into(), "bank".into()),
            ("fspiop-uri".into(), "/parties/MSISDN/4915778".into()),
        ],
        headers_left_out: 1,
        body: Some("{\"party\":\"4915778\"}".into()),
        body_bytes: 19,
    }))
}

#[test]
fn message_of_a_turn_that_names_nobody_has_no_body_no_header_and_no_path() {
    let scene = Scene::new();
    let mut before = record(
        &[],
        vec![message(Part::Came), message(Part::Sent)],
        Ended::Executed,
    );
    before.kind = Kind::Request;
    before.function = "GET /parties/MSISDN/4915778".into();
    let (sealed, ..) = scene.seal(&before, &[], ("{}", &entry()));
    let kept: Vec<&Message> = sealed
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Message(message) => Some(&**message),
            _ => None,
        })
        .collect();
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|one| one.body.is_none()), "{kept:?}");
    assert_eq!(kept[0].line, "GET /parties");
    let left_out = |one: &&Message| one.headers.is_empty() && one.headers_left_out == 3;
    assert!(kept.iter().all(left_out), "{kept:?}");
}

fn entry() -> Value {
    json!({
        "at": 1, "actor": { "kind": "client", "name": "bank" }, "writer": "api", "action": "a.b",
        "about": "transfer:1", "outcome": "done", "details": { "amount": "5" }, "turn": 7,
    })
}

fn text(value: &impl fmt::Debug) -> String {
    format!("{value:?}")
}

#[test]
fn records_are_read_until_the_key_is_destroyed_and_say_little_afterwards() {
    let scene = Scene::new();
    let with_message = [steps(), vec![message(Part::Came)]].concat();
    let before = record(
        &["transfer:1", ANNA, BERT],
        with_message,
        Ended::Failed("no party 4915778".into()),
    );
    let (sealed, receipt, entry) = scene.seal(&before, &[], ("{\"input\":\"4915778\"}", &entry()));
    for told in [text(&sealed), text(&receipt), entry] {
        assert!(!told.contains("4915778"), "{told}");
        assert!(!told.contains("b.ert"), "{told}");
    }
    assert_eq!(&*sealed.function, "GET");
    assert_eq!(&*sealed.subjects[0], "transfer:1");
    let stays = [&before.steps[1], &before.steps[3]];
    assert_eq!(sealed.steps.iter().take(2).collect::<Vec<_>>(), stays);
    let bytes = postcard::to_stdvec(&sealed).unwrap();
    assert_eq!(postcard::from_bytes::<Record>(&bytes).unwrap(), sealed);

    let people = Some(Arc::new(scene.people));
    assert_eq!(people.readable(sealed.clone()), before);
    let opened = people.readable_receipt(receipt.clone());
    assert_eq!(&*opened.receipt.body, "{\"input\":\"4915778\"}");
    let none: Option<Arc<HostPeople>> = None;
    assert_eq!(none.readable(sealed.clone()), sealed);
    assert!(!none.readable_receipt(receipt.clone()).is_readable);

    let host = people.as_ref().unwrap();
    let pseudonym = host.pseudonym(ANNA).unwrap();
    assert_eq!(*sealed.subjects[1], *pseudonym);
    let kept = [(ANNA.to_owned(), pseudonym.clone())];
    assert_eq!(host.people_of("MSISDN/4915778"), kept);
    assert_eq!(host.people_of(ANNA), kept);
    assert_eq!(host.shred(&[ANNA]).unwrap(), [pseudonym]);
    assert_eq!(people.readable(sealed.clone()), sealed);
    assert!(!people.readable_receipt(receipt).is_readable);
    let known = host.store.people_keys().unwrap().unwrap();
    assert_eq!((known.shreddings, known.id), (1, host.file().0.0));
}

#[test]
fn records_without_people_stay_as_they_are() {
    let scene = Scene::new();
    let before = record(&["transfer:1"], steps(), Ended::Executed);
    let (after, receipt, entry_after) = scene.seal(&before, &["transfer:2"], ("{}", &entry()));
    assert_eq!(after, before);
    assert_eq!(&*receipt.body, "{}");
    assert_eq!(entry_after, entry().to_string());
}

#[test]
fn a_failed_request_that_has_not_said_its_subject_has_no_path() {
    let scene = Scene::new();
    let cut = |before: Record| {
        let (after, ..) = scene.seal(&before, &[], ("{}", &entry()));
        after.function.to_string()
    };
    let failed = || Ended::Failed("trap".into());
    assert_eq!(cut(record(&[], vec![], failed())), "GET /parties");
    // It met another release, and runs again in another turn.
    let again = record(&[], vec![], Ended::Executed);
    assert_eq!(cut(again), "GET /parties");
    for stays in [
        record(&["transfer:1"], vec![], failed()),
        record(&[], steps(), Ended::Executed),
    ] {
        assert_eq!(cut(stays), "GET /parties/MSISDN/4915778");
    }
    let call = Record {
        function: "call".into(),
        ..record(&[], vec![], failed())
    };
    assert_eq!(cut(call), "call");
}

/// A person who is named beside the subjects counts as one among them.
#[test]
fn people_who_are_no_subjects_are_sealed_too() {
    let scene = Scene::new();
    let before = record(&["parties:1"], steps(), Ended::Executed);
    let (sealed, ..) = scene.seal(&before, &[ANNA], ("{}", &entry()));
    assert!(!text(&sealed).contains("4915778"), "{sealed:?}");
    let people = Some(Arc::new(scene.people));
    assert_eq!(people.readable(sealed.clone()), before);
    people.as_ref().unwrap().shred(&[BERT]).unwrap();
    assert_eq!(people.readable(sealed.clone()), before);
    people.as_ref().unwrap().shred(&[ANNA]).unwrap();
    assert_eq!(people.readable(sealed.clone()), sealed);
}

#[test]
fn entries_hide_what_names_people_and_nothing_else() {
    let scene = Scene::new();
    let with = |member: &str, value: Value| {
        let mut entry = entry();
        entry[member] = value;
        entry
    };
    let turn = record(&["transfer:1", ANNA, BERT], vec![], Ended::Executed);
    for (entry, hidden) in [
        (entry(), None),
        (with("note", json!("of 49 16")), None),
        (with("note", json!("of +49 15 778")), Some("note")),
        (
            with("note", json!("B.ERT%40x.example is away")),
            Some("note"),
        ),
        (with("about", json!(ANNA)), Some("about")),
        (
            with("about", json!("POST /parties/MSISDN/4915778")),
            Some("about"),
        ),
        (
            with("details", json!({ "to": [{ "id": "4915778" }] })),
            Some("details"),
        ),
        (with("details", json!({ "4915778": true })), Some("details")),
        (with("details", json!({ "id": 4_915_778 })), Some("details")),
    ] {
        let (.., sealed) = scene.seal(&turn, &[], ("{}", &entry));
        let stored: Value = serde_json::from_str(&sealed).unwrap();
        let opened = scene.people.open_entry(&sealed);
        let Some(hidden) = hidden else {
            assert_eq!(stored, entry);
            assert_eq!(opened, None);
            continue;
        };
        let opened: Value = serde_json::from_str(&opened.unwrap()).unwrap();
        assert_eq!(opened, entry);
        assert_ne!(stored[hidden], entry[hidden]);
        for member in ["about", "note", "details"] {
            assert!(
                member == hidden || stored[member] == entry[member],
                "{stored}"
            );
        }
    }
    // The digest of a body that has named somebody would confirm a guess.
    let details = json!({ "operation": "search", "status": 200, "bodySha256": "ab" });
    let entry = with("details", details);
    let (.., sealed) = scene.seal(&turn, &[], ("{}", &entry));
    let stored: Value = serde_json::from_str(&sealed).unwrap();
    let rest = json!({ "operation": "search", "status": 200 });
    assert_eq!(stored["details"], rest);
    let opened: Value = serde_json::from_str(&scene.people.open_entry(&sealed).unwrap()).unwrap();
    assert_eq!(opened, entry);
    // Short ids are whole words, and no names of members.
    let (short, nothing) = ("party:ALIAS/a", "party:ALIAS/-");
    let details = json!({ "amount": "5", "a": "payerfsp" });
    for (entry, is_hidden) in [
        (with("details", details), false),
        (with("note", json!("paid at all")), false),
        (with("note", json!("of A, who paid")), true),
        (with("details", json!({ "alias": "a" })), true),
    ] {
        let (.., sealed) = scene.seal(&turn, &[short], ("{}", &entry));
        assert_eq!(scene.people.open_entry(&sealed).is_some(), is_hidden);
    }
    let entry = with("note", json!("of -"));
    let (.., sealed) = scene.seal(&turn, &[nothing], ("{}", &entry));
    assert!(scene.people.open_entry(&sealed).is_some(), "{sealed}");
    let entry = with("about", json!(ANNA));
    let (.., sealed) = scene.seal(&turn, &[], ("{}", &entry));
    let stored: Value = serde_json::from_str(&sealed).unwrap();
    let pseudonym = scene.people.pseudonym(ANNA).unwrap();
    assert_eq!(stored["about"], json!(pseudonym));
    scene.people.shred(&[ANNA]).unwrap();
    assert_eq!(scene.people.open_entry(&sealed), None);
}
