//! Tests of the context in surroundings of its own, with a host that reminds.

use std::collections::BTreeMap;

use rialto_sdk::bindings::rialto::host::http::{
    DeliveryFailure, DeliveryReport, FailureKind, OutboundRequest, OutboundResponse, Outcome,
};
use rialto_sdk::documents::{Memory, Range};
use rialto_sdk::operators::{Answer, Caller};
use rialto_sdk::testing::survives_a_rollback;
use serde_json::{Value, json};

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::exports::rialto::scheduling::create_reminder::{
    CreateError, Otherwise, Recovery, Reminder as Instruction, Transport, When,
};
use crate::bindings::exports::rialto::scheduling::create_schedule_reminder::Reminder;
use crate::bindings::exports::rialto::scheduling::delete_schedule_reminder::Deletion;
use crate::bindings::rialto::scheduling::schedule_reminder_elapsed::Event as Elapsed;
use crate::bindings::rialto::scheduling::schedule_reminder_failed::Event as Failed;
use crate::names::{Client, stored_key};
use crate::reminders::{COUNTS, REMINDERS};
use crate::settings::Settings;
use crate::world::World;
use crate::{api, calls, firing};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
/// An instant at the beginning of an hour.
const NOW: u64 = 500_000 * HOUR;
const URL: &str = "http://127.0.0.1:9/reminded";

struct Fake {
    store: Memory,
    now: u64,
    settings: Settings,
    caller: Option<Client>,
    /// Reminders of the host.
    waiting: BTreeMap<String, u64>,
    sent: Vec<OutboundRequest>,
    elapsed: Vec<Elapsed>,
    failed: Vec<Failed>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            store: Memory::default(),
            now: NOW,
            settings: Settings::default(),
            caller: None,
            waiting: BTreeMap::new(),
            sent: Vec::new(),
            elapsed: Vec::new(),
            failed: Vec::new(),
        }
    }
}

rialto_sdk::stores_in!(Fake, this => this.store);

impl World for Fake {
    fn now(&mut self) -> u64 {
        self.now
    }
    fn settings(&mut self) -> Settings {
        self.settings.clone()
    }
    fn uuid(&mut self) -> String {
        "1b4e28ba-2fa1-41d2-883f-0016d3cca427".to_owned()
    }
    fn caller(&mut self) -> Option<Client> {
        self.caller.clone()
    }
    fn set_reminder(&mut self, name: &str, due: u64, _: &str) {
        self.waiting.insert(name.to_owned(), due);
    }
    fn cancel_reminder(&mut self, name: &str) -> bool {
        self.waiting.remove(name).is_some()
    }
    fn is_granted(&mut self, url: &str) -> bool {
        url.starts_with("http://127.0.0.1:")
    }
    fn send(&mut self, request: &OutboundRequest) -> u64 {
        self.sent.push(request.clone());
        self.sent.len() as u64
    }
    fn elapsed(&mut self, event: &Elapsed) {
        self.elapsed.push(event.clone());
    }
    fn failed(&mut self, event: &Failed) {
        self.failed.push(event.clone());
    }
    fn subject(&mut self, _: &str) {}
    fn warn(&mut self, _: &str) {}
}

impl Fake {
    fn asks(&mut self, who: &str, operation: &str, id: &str, body: &Value) -> (u16, Value) {
        self.queries(who, operation, id, body, &[])
    }

    fn queries(
        &mut self,
        who: &str,
        operation: &str,
        id: &str,
        body: &Value,
        query: &[(&str, &str)],
    ) -> (u16, Value) {
        let owned = |(n, v): &(&str, &str)| ((*n).to_owned(), (*v).to_owned());
        let request = Request {
            operation_id: operation.to_owned(),
            method: String::new(),
            path: String::new(),
            path_parameters: vec![("id".to_owned(), id.to_owned())],
            query_parameters: query.iter().map(owned).collect(),
            headers: Vec::new(),
            body: Some(body.to_string()),
            caller: None,
        };
        let role = if who == "rita" { "reader" } else { "context" };
        let caller = Caller {
            name: who.to_owned(),
            roles: vec![role.to_owned()],
        };
        let Answer { status, body, .. } = api::answer(self, &caller, &request);
        let body = body.map(|body| serde_json::from_str(&body).unwrap());
        (status, body.unwrap_or_default())
    }

    fn creates(&mut self, who: &str, body: &Value) -> (u16, Value) {
        self.asks(who, "createReminder", "", body)
    }

    fn gets(&mut self, id: &str) -> Value {
        self.asks("switch", "getReminder", id, &Value::Null).1
    }

    /// Have the host fire what is due at an instant.
    fn comes(&mut self, now: u64) {
        self.now = now;
        while let Some((name, _)) = self.waiting.iter().find(|(_, due)| **due <= now) {
            let name = name.clone();
            self.waiting.remove(&name);
            firing::due(self, stored_key(&name).unwrap());
        }
    }

    fn reports(&mut self, id: u64, outcome: Outcome) {
        let sent = &self.sent[usize::try_from(id).unwrap() - 1];
        let report = DeliveryReport {
            id,
            correlation: sent.correlation.clone(),
            attempts: sent.policy.attempts_max,
            outcome,
        };
        firing::reported(self, report);
    }

    fn count(&mut self, client: &str) -> u64 {
        COUNTS.within(self).get(client).map_or(0, |c| c.reminders)
    }
}

fn delivered() -> Outcome {
    Outcome::Delivered(OutboundResponse {
        status: 200,
        headers: Vec::new(),
        body: String::new(),
    })
}

fn failed() -> Outcome {
    Outcome::Failed(DeliveryFailure {
        kind: FailureKind::Refused,
        reason: "answered 500".to_owned(),
        response: None,
    })
}

fn kind(body: &Value) -> &str {
    let of = body["type"].as_str().unwrap();
    of.strip_prefix("urn:rialto:problem:").unwrap()
}

#[test]
fn a_callback_is_sent_once_and_its_reminder_is_kept_for_a_while() {
    let mut fake = Fake::default();
    let wanted =
        json!({ "id": "a", "at": NOW + 5, "transport": "HTTP_POST", "url": URL, "payload": "p" });
    let (status, body) = fake.creates("switch", &wanted);
    assert_eq!((status, &body["state"]), (201, &"WAITING".into()));
    assert_eq!(body["client"], "program:switch");
    fake.comes(NOW + 4);
    assert!(fake.sent.is_empty());
    fake.comes(NOW + 7);
    let sent: Value = serde_json::from_str(fake.sent[0].body.as_deref().unwrap()).unwrap();
    assert_eq!(sent, json!({ "id": "a", "due": NOW + 5, "payload": "p" }));
    assert_eq!(fake.gets("a")["state"], "DELIVERING");
    // It has come due already.
    let (status, body) = fake.asks("switch", "deleteReminder", "a", &Value::Null);
    assert_eq!((status, kind(&body)), (409, "reminder-elapsed"));
    fake.reports(1, delivered());
    fake.reports(1, delivered());
    let shown = fake.gets("a");
    assert_eq!(
        (&shown["state"], &shown["runs"]),
        (&"ELAPSED".into(), &1.into())
    );
    assert_eq!(shown["lastRun"]["outcome"], "DELIVERED");
    let (status, body) = fake.asks("switch", "deleteReminder", "a", &Value::Null);
    assert_eq!((status, &body["state"]), (409, &"ELAPSED".into()));
    let (status, body) = fake.creates("switch", &json!({ "id": "a", "at": NOW + 100 }));
    assert_eq!((status, kind(&body)), (409, "reminder-exists"));
    fake.comes(NOW + 7 + 24 * HOUR);
    assert_eq!(fake.gets("a")["status"], 404);
    assert_eq!((fake.count("program:switch"), fake.sent.len()), (0, 1));
    let (status, _) = fake.creates("switch", &json!({ "id": "a", "at": fake.now + 1 }));
    assert_eq!(status, 201);
}

#[test]
fn a_recurring_reminder_comes_due_each_time_and_once_after_a_gap() {
    let mut fake = Fake::default();
    let wanted = json!({ "id": "a", "cron": "*/10 * * * *", "payload": "p" });
    let (status, body) = fake.creates("switch", &wanted);
    assert_eq!(
        (status, &body["nextAt"]),
        (201, &(NOW + 10 * MINUTE).into())
    );
    for ten in 1..=3 {
        fake.comes(NOW + ten * 10 * MINUTE);
    }
    assert_eq!(fake.elapsed.len(), 3);
    // The host was away for five hours, until some seconds after a time.
    fake.comes(NOW + 5 * HOUR + 7_000);
    let dues: Vec<u64> = fake
        .elapsed
        .iter()
        .map(|e| (e.due - NOW) / MINUTE)
        .collect();
    assert_eq!(dues, [10, 20, 30, 40]);
    assert_eq!(fake.elapsed[3].client, "program:switch");
    assert_eq!(fake.gets("a")["nextAt"], NOW + 5 * HOUR + 10 * MINUTE);
    let (status, _) = fake.asks("switch", "deleteReminder", "a", &Value::Null);
    assert_eq!(status, 204);
    assert!(fake.waiting.is_empty());
    fake.comes(NOW + 9 * HOUR);
    assert_eq!(fake.elapsed.len(), 4);
}

#[test]
fn a_callback_that_fails_is_given_up_as_its_recovery_says() {
    for (otherwise, state, next) in [
        (None, "WAITING", Some(NOW + HOUR + 30 * MINUTE)),
        (
            Some("RESCHEDULE"),
            "WAITING",
            Some(NOW + HOUR + 30 * MINUTE),
        ),
        (Some("ABORT"), "GIVEN_UP", None),
    ] {
        let mut fake = Fake::default();
        let mut recovery = json!({ "attempts": 3, "pauseMs": 200 });
        if let Some(otherwise) = otherwise {
            recovery["otherwise"] = otherwise.into();
        }
        let wanted = json!({ "id": "a", "cron": "*/30 * * * *", "transport": "HTTP_POST",
            "url": URL, "recovery": recovery, "alert": true });
        assert_eq!(fake.creates("switch", &wanted).0, 201);
        fake.comes(NOW + 30 * MINUTE);
        let policy = fake.sent[0].policy;
        assert_eq!((policy.attempts_max, policy.backoff_max_ms), (3, 200));
        // The next time passes while the callback is under way: there is one run at a time.
        fake.comes(NOW + HOUR + MINUTE);
        assert_eq!(fake.sent.len(), 1);
        fake.reports(1, failed());
        let shown = fake.gets("a");
        assert_eq!(shown["state"], state);
        assert_eq!(shown["lastRun"]["reason"], "answered 500");
        assert_eq!(shown["nextAt"].as_u64(), next);
        let alert = &fake.failed[0];
        assert_eq!((alert.attempts, alert.next), (3, next));
        assert_eq!(
            (alert.client.as_str(), alert.due),
            ("program:switch", NOW + 30 * MINUTE)
        );
    }
}

#[test]
fn a_report_of_a_deleted_reminder_does_nothing_to_its_successor() {
    let mut fake = Fake::default();
    let wanted = json!({ "id": "a", "cron": "*/30 * * * *", "transport": "HTTP_POST", "url": URL });
    assert_eq!(fake.creates("switch", &wanted).0, 201);
    fake.comes(NOW + 30 * MINUTE);
    assert_eq!(
        fake.asks("switch", "deleteReminder", "a", &Value::Null).0,
        204
    );
    fake.reports(1, failed());
    assert_eq!(fake.creates("switch", &wanted).0, 201);
    fake.comes(NOW + HOUR);
    fake.reports(1, failed());
    assert_eq!(fake.gets("a")["state"], "DELIVERING");
    fake.reports(2, delivered());
    assert_eq!(fake.gets("a")["lastRun"]["outcome"], "DELIVERED");
    assert!(fake.failed.is_empty());
}

#[test]
fn what_is_no_reminder_is_refused() {
    let mut fake = Fake::default();
    let http = json!({ "at": NOW + 1, "transport": "HTTP_POST", "url": URL });
    let with = |name: &str, value: Value| {
        let mut wanted = http.clone();
        wanted[name] = value;
        wanted
    };
    assert_eq!(fake.creates("switch", &http).0, 201);
    for (wanted, why) in [
        (json!({}), "either `at` or `cron`"),
        (with("cron", "* * * * *".into()), "either `at` or `cron`"),
        (json!({ "at": NOW }), "is past"),
        (json!({ "at": 10_000_000_000_000_u64 }), "at most"),
        (json!({ "cron": "* * * *" }), "five fields"),
        (json!({ "cron": "0 0 30 2 *" }), "never comes due"),
        (with("url", Value::Null), "needs a `url`"),
        (with("url", "http://169.254.169.254/".into()), "origin"),
        (with("url", "http://127.0.0.1:9/a b".into()), "printable"),
        (with("transport", "EVENT".into()), "belongs to"),
        (with("transport", "GRPC".into()), "not of the form"),
        (json!({ "at": NOW + 1, "recovery": {} }), "belongs to"),
        (with("recovery", json!({ "attempts": 0 })), "`attempts`"),
        (with("recovery", json!({ "pauseMs": 99 })), "`pauseMs`"),
        (
            with("recovery", json!({ "otherwise": "RESCHEDULE" })),
            "no next time",
        ),
        (with("id", "a/b".into()), "`id`"),
        (with("id", "x".repeat(129).into()), "`id`"),
        (with("payload", "x".repeat(65_537).into()), "`payload`"),
        (with("client", "transfers".into()), "unknown field"),
    ] {
        let (status, body) = fake.creates("switch", &wanted);
        let detail = body["detail"].as_str().unwrap();
        assert!(status == 400 && detail.contains(why), "{wanted}: {body}");
    }
    assert_eq!(fake.creates("a/b", &http).0, 400);
    assert_eq!(fake.creates("rita", &http).0, 403);
    fake.settings.reminders_max = 2;
    assert_eq!(fake.creates("switch", &with("id", "b".into())).0, 201);
    let (status, body) = fake.creates("switch", &with("id", "c".into()));
    assert_eq!((status, &body["most"]), (422, &2.into()));
    assert_eq!(fake.creates("other", &with("id", "c".into())).0, 201);
}

#[test]
fn a_program_sees_and_deletes_its_own_reminders_alone() {
    let mut fake = Fake::default();
    for who in ["switch", "till", "switc"] {
        for id in ["a", "b"] {
            let wanted = json!({ "id": id, "at": NOW + 1 });
            assert_eq!(fake.creates(who, &wanted).0, 201);
        }
    }
    let (_, own) = fake.asks("switch", "listReminders", "", &Value::Null);
    let own = own["items"].as_array().unwrap();
    assert!(own.iter().all(|item| item["client"] == "program:switch"));
    assert_eq!(own.len(), 2);
    let (_, all) = fake.asks("rita", "listReminders", "", &Value::Null);
    assert_eq!(all["items"].as_array().unwrap().len(), 6);
    let of_till = [("client", "program:till")];
    let (_, some) = fake.queries("rita", "listReminders", "", &Value::Null, &of_till);
    assert_eq!(some["items"].as_array().unwrap().len(), 2);
    for operation in ["listReminders", "getReminder"] {
        let (status, body) = fake.queries("switch", operation, "a", &Value::Null, &of_till);
        assert_eq!((status, kind(&body)), (404, "reminder-unknown"));
    }
    let (status, _) = fake.queries("rita", "getReminder", "a", &Value::Null, &of_till);
    assert_eq!(status, 200);
    assert_eq!(
        fake.creates("till", &json!({ "id": "c", "at": NOW + 1 })).0,
        201
    );
    for operation in ["getReminder", "deleteReminder"] {
        let (status, body) = fake.asks("switch", operation, "c", &Value::Null);
        assert_eq!((status, kind(&body)), (404, "reminder-unknown"));
    }
    // A page goes on where the one before has ended.
    let (_, first) = fake.queries(
        "switch",
        "listReminders",
        "",
        &Value::Null,
        &[("limit", "1")],
    );
    let cursor = first["nextCursor"].as_str().unwrap().to_owned();
    let rest = [("cursor", cursor.as_str())];
    let (_, rest) = fake.queries("switch", "listReminders", "", &Value::Null, &rest);
    assert_eq!(rest["items"][0]["id"], "b");
    let foreign = [("cursor", "program:till/a")];
    assert_eq!(
        fake.queries("switch", "listReminders", "", &Value::Null, &foreign)
            .0,
        400
    );
}

fn instruction(id: &str) -> Instruction {
    Instruction {
        id: id.to_owned(),
        when: When::Cron("0 * * * *".to_owned()),
        transport: Transport::HttpPost(URL.to_owned()),
        payload: "p".to_owned(),
        recovery: Some(Recovery {
            attempts: 2,
            pause_ms: 100,
            otherwise: Otherwise::Abort,
        }),
        alert: false,
    }
}

#[test]
fn calls_are_of_the_caller_whatever_they_say() {
    let mut fake = Fake::default();
    let of = |client: &str| Reminder {
        id: "t".to_owned(),
        client: client.to_owned(),
        due: NOW + 1,
        payload: String::new(),
    };
    assert!(calls::create_schedule_reminder(&mut fake, &of("transfers")).is_err());
    fake.caller = Some(Client::Component("transfers".to_owned()));
    assert!(calls::create_schedule_reminder(&mut fake, &of("transfers")).is_ok());
    assert!(calls::create_schedule_reminder(&mut fake, &of("quoting")).is_err());
    // Neither a document nor more than one reminder of the host.
    assert_eq!(fake.waiting.keys().collect::<Vec<_>>(), ["transfers/t"]);
    assert!(fake.store.0.is_empty());
    // A program of the same name is another client.
    fake.caller = Some(Client::Program("transfers".to_owned()));
    let deletes = |fake: &mut Fake| calls::delete_schedule_reminder(fake, "transfers", "t");
    assert_eq!(deletes(&mut fake), Deletion::AlreadyElapsed);
    fake.caller = Some(Client::Component("quoting".to_owned()));
    assert_eq!(deletes(&mut fake), Deletion::AlreadyElapsed);
    fake.caller = Some(Client::Component("transfers".to_owned()));
    assert_eq!(deletes(&mut fake), Deletion::Deleted);
    assert_eq!(deletes(&mut fake), Deletion::AlreadyElapsed);
}

#[test]
fn stored_reminders_are_created_and_deleted_by_calls_too() {
    let mut fake = Fake::default();
    assert!(calls::create_reminder(&mut fake, instruction("r")).is_err());
    fake.caller = Some(Client::Component("settlements".to_owned()));
    assert_eq!(calls::create_reminder(&mut fake, instruction("r")), Ok(()));
    let again = calls::create_reminder(&mut fake, instruction("r"));
    assert_eq!(again, Err(CreateError::Exists));
    let deleted = calls::delete_schedule_reminder(&mut fake, "settlements", "r");
    assert_eq!(deleted, Deletion::Deleted);
    assert!(fake.waiting.is_empty());
    fake.settings.reminders_max = 0;
    let full = calls::create_reminder(&mut fake, instruction("r"));
    assert_eq!(full, Err(CreateError::LimitReached(0)));
}

#[test]
fn documents_keep_unknown_members_of_a_newer_release() {
    let mut fake = Fake::default();
    let wanted = json!({ "id": "a", "cron": "* * * * *", "transport": "HTTP_POST", "url": URL,
        "recovery": { "otherwise": "ABORT" } });
    assert_eq!(fake.creates("switch", &wanted).0, 201);
    fake.comes(NOW + MINUTE);
    fake.reports(1, failed());
    let all = REMINDERS.within(&mut fake).scan(&Range::All, None, 1);
    let (_, mut reminder) = all.documents.into_iter().next().unwrap();
    reminder.delivery = Some(crate::reminders::Delivery { due: 1, request: 2 });
    survives_a_rollback(&REMINDERS, &reminder, &[]);
}
