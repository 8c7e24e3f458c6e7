//! Tests of the context in surroundings of its own.

mod protected;

use rialto_sdk::bindings::rialto::host::logging::Level as LineLevel;
use rialto_sdk::documents::{Memory, Range};
use rialto_sdk::operators::{Answer, Caller};
use serde_json::{Value, json};

use crate::api;
use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::exports::rialto::host::log_handler::LogLine;
use crate::bindings::exports::rialto::logging::log_write::{Event, Level as EventLevel};
use crate::bindings::rialto::host::keys::KeyError;
use crate::entries::{BY_ABOUT, BY_TRACE, ENTRIES, Entry, HOUR, HOURS};
use crate::sealing::Use;
use crate::settings::Settings;
use crate::told;
use crate::trimming::{AT_ONCE, begin, trim};
use crate::world::World;

/// An instant at the beginning of an hour.
const NOW: u64 = 500_000 * HOUR;
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

struct Fake {
    store: Memory,
    now: u64,
    drawn: u64,
    settings: Settings,
    reminded: Option<u64>,
    /// Keys that were made.
    keys: u32,
    /// Keys that cannot be used any more.
    lost: Vec<String>,
    /// Whether the provider of keys answers.
    is_away: bool,
    alerts: Vec<String>,
    /// Messages for the operator's collector.
    forwarded: Vec<String>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            store: Memory::default(),
            now: NOW,
            drawn: 0,
            settings: Settings::default(),
            reminded: None,
            keys: 0,
            lost: Vec::new(),
            is_away: false,
            alerts: Vec::new(),
            forwarded: Vec::new(),
        }
    }
}

rialto_sdk::stores_in!(Fake, this => this.store);

impl World for Fake {
    fn now(&mut self) -> u64 {
        self.now
    }
    fn random(&mut self) -> String {
        // Later ones are smaller: nothing may rest on their order.
        self.drawn += 1;
        format!("{:012x}", 0xffff_ffff_ffff - self.drawn)
    }
    fn settings(&mut self) -> Settings {
        self.settings.clone()
    }
    fn remind(&mut self, due: u64) {
        self.reminded = Some(due);
    }
    fn forward(&mut self, entry: &Entry) {
        self.forwarded.push(entry.message.clone());
    }
    fn alert(&mut self, line: &str) {
        self.alerts.push(line.to_owned());
    }
    fn generate(&mut self, r#use: Use) -> Result<String, KeyError> {
        self.keys += 1;
        let key = format!("{use:?}-{}", self.keys);
        self.usable(&key).map(|()| key)
    }
    fn sign(&mut self, key: &str, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.usable(key)?;
        Ok([key.as_bytes(), b"\0", message].concat())
    }
    fn verify(&mut self, key: &str, message: &[u8], signature: &[u8]) -> Result<bool, KeyError> {
        Ok(self.sign(key, message)? == signature)
    }
    fn encrypt(&mut self, key: &str, plain: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        self.usable(key)?;
        let hidden: Vec<u8> = plain.iter().map(|byte| byte ^ 0xff).collect();
        Ok([key.as_bytes(), b"\0", associated, b"\0", &hidden].concat())
    }
    fn decrypt(
        &mut self,
        key: &str,
        cipher: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        self.usable(key)?;
        let head = [key.as_bytes(), b"\0", associated, b"\0"].concat();
        let hidden = cipher.strip_prefix(&*head).ok_or(KeyError::NotOpened)?;
        Ok(hidden.iter().map(|byte| byte ^ 0xff).collect())
    }
}

impl Fake {
    fn usable(&self, key: &str) -> Result<(), KeyError> {
        if self.is_away {
            return Err(KeyError::ProviderAway("it rests".to_owned()));
        }
        match self.lost.iter().any(|lost| lost == key) {
            true => Err(KeyError::NoKey("it is gone".to_owned())),
            false => Ok(()),
        }
    }

    fn asks(&mut self, who: &str, operation: &str, body: &Value) -> (u16, Value) {
        self.sends(who, operation, body, &[])
    }

    fn sends(
        &mut self,
        who: &str,
        operation: &str,
        body: &Value,
        query: &[(&str, &str)],
    ) -> (u16, Value) {
        let pairs = query
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        let request = Request {
            operation_id: operation.to_owned(),
            method: String::new(),
            path: String::new(),
            path_parameters: Vec::new(),
            query_parameters: pairs.collect(),
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
        (status, serde_json::from_str(&body.unwrap()).unwrap())
    }

    fn says(&mut self, message: &str) {
        let said = json!({ "level": "INFO", "message": message });
        assert_eq!(self.asks("switch", "writeLogEntry", &said).0, 201);
    }

    fn found(&mut self, query: &Value) -> Vec<String> {
        let (status, body) = self.asks("rita", "searchLog", query);
        assert_eq!(status, 200, "{body}");
        messages(&body)
    }

    fn count(&mut self) -> usize {
        let all = ENTRIES.within(self).scan(&Range::All, None, 1_000);
        all.documents.len()
    }
}

fn messages(body: &Value) -> Vec<String> {
    let items = body["items"].as_array().unwrap().iter();
    items
        .map(|item| item["message"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn entries_are_found_by_time_level_writer_trace_subject_and_text() {
    let mut fake = Fake::default();
    let many = json!({ "entries": [
        { "level": "INFO", "message": "one", "about": "card:1", "trace": TRACE, "at": 7 },
        { "level": "ERROR", "message": "two", "about": "card:2" },
    ] });
    let (status, body) = fake.asks("switch", "writeLogEntries", &many);
    assert_eq!((status, body["ids"].as_array().unwrap().len()), (201, 2));
    fake.now = NOW + 10;
    told::of_event(
        &mut fake,
        Event {
            context: "auditing".to_owned(),
            level: EventLevel::Warn,
            message: "thr\u{7}ee".to_owned(),
            about: "card:1".to_owned(),
            trace: "none".to_owned(),
            at: 9,
        },
    );
    fake.now = NOW + 20;
    // Its subject begins with another one.
    let below = json!({ "level": "DEBUG", "message": "below", "about": "card:1/0" });
    assert_eq!(fake.asks("switch", "writeLogEntry", &below).0, 201);
    for (query, expected) in [
        (
            json!({ "since": NOW, "until": NOW + 20 }),
            vec!["one", "two", "thr ee"],
        ),
        (json!({ "since": NOW + 1 }), vec!["thr ee", "below"]),
        (json!({ "since": 0, "until": NOW + 10 }), vec!["one", "two"]),
        (
            json!({ "since": 0, "level": "WARN" }),
            vec!["two", "thr ee"],
        ),
        (json!({ "since": 0, "writer": "auditing" }), vec!["thr ee"]),
        (json!({ "since": 0, "text": "ee" }), vec!["thr ee"]),
        (json!({ "about": "card:1" }), vec!["one", "thr ee"]),
        (json!({ "about": "card:1", "until": NOW + 1 }), vec!["one"]),
        (json!({ "about": "card" }), vec![]),
        (json!({ "about": "card:1/0" }), vec!["below"]),
        (json!({ "trace": TRACE }), vec!["one"]),
        (json!({ "trace": TRACE, "about": "card:2" }), vec![]),
    ] {
        assert_eq!(fake.found(&query), expected, "{query}");
    }
    let parameters = [("about", "card:1"), ("level", "WARN"), ("limit", "5")];
    let (_, body) = fake.sends("rita", "readLog", &Value::Null, &parameters);
    assert_eq!(messages(&body), ["thr ee"]);
    let item = &body["items"][0];
    assert_eq!(item["source"], "EVENT");
    assert_eq!(
        (&item["writer"], &item["at"]),
        (&"auditing".into(), &9.into())
    );
    assert_eq!(fake.forwarded, ["one", "two", "below"]);
}

#[test]
fn pages_have_each_entry_once() {
    let mut fake = Fake::default();
    for n in 0..7 {
        fake.now = NOW + n;
        fake.says(&n.to_string());
    }
    for query in [
        json!({ "since": 0, "limit": 2 }),
        json!({ "since": NOW, "limit": 3, "text": "6" }),
    ] {
        let (mut query, mut all) = (query, Vec::new());
        loop {
            let (_, body) = fake.asks("rita", "searchLog", &query);
            all.extend(messages(&body));
            let Some(cursor) = body.get("nextCursor") else {
                break;
            };
            query["cursor"] = cursor.clone();
        }
        let expected: Vec<String> = match query.get("text") {
            Some(_) => vec!["6".to_owned()],
            None => (0..7).map(|n| n.to_string()).collect(),
        };
        assert_eq!(all, expected);
    }
}

#[test]
fn what_is_no_entry_or_no_query_is_refused() {
    let mut fake = Fake::default();
    let good = json!({ "level": "INFO", "message": "m" });
    let changed = |name: &str, value: Value| {
        let mut said = good.clone();
        said[name] = value;
        said
    };
    for said in [
        changed("message", "".into()),
        changed("message", "x".repeat(4_097).into()),
        changed("message", "a\u{1b}b".into()),
        changed("about", "x".repeat(201).into()),
        changed("about", "a\nb".into()),
        changed("trace", "abc".into()),
        changed("trace", TRACE.to_uppercase().into()),
        changed("level", "FATAL".into()),
        changed("more", 1.into()),
        json!({}),
    ] {
        let (status, body) = fake.asks("switch", "writeLogEntry", &said);
        assert_eq!(status, 400, "{said}: {body}");
        let many = json!({ "entries": [good, said] });
        assert_eq!(fake.asks("switch", "writeLogEntries", &many).0, 400);
    }
    assert_eq!(fake.count(), 0);
    assert_eq!(fake.asks("rita", "writeLogEntry", &good).0, 403);
    assert_eq!(
        fake.asks("switch", "searchLog", &json!({ "since": 0 })).0,
        403
    );
    for query in [
        json!({}),
        json!({ "until": 5, "level": "ERROR", "limit": 1 }),
    ] {
        let (status, body) = fake.asks("rita", "searchLog", &query);
        let kind = &body["type"];
        assert_eq!(
            (status, kind),
            (422, &"urn:rialto:problem:query-unbounded".into())
        );
    }
    // Fewer characters than the document's bound, but more bytes than an entry holds.
    let wide = json!({ "about": "€".repeat(100) });
    assert_eq!(fake.asks("rita", "searchLog", &wide).0, 400);
}

#[test]
fn old_entries_go_with_their_indexes() {
    let mut fake = Fake::default();
    // An empty log needs no look.
    begin(&mut fake);
    trim(&mut fake);
    assert_eq!(fake.reminded, None);
    let said = json!({ "level": "INFO", "message": "m", "about": "a", "trace": TRACE });
    for _ in 0..AT_ONCE + 20 {
        assert_eq!(fake.asks("switch", "writeLogEntry", &said).0, 201);
    }
    assert_eq!(fake.reminded.take(), Some(NOW + HOUR));
    begin(&mut fake);
    assert_eq!(fake.reminded, Some(NOW + HOUR));
    fake.now = NOW + fake.settings.keeps();
    fake.says("young");
    // What is to come is not put off by what arrives.
    assert_eq!(fake.reminded, Some(NOW + HOUR));
    trim(&mut fake);
    // Nothing is older than the period, to the millisecond.
    assert_eq!(fake.count(), AT_ONCE as usize + 21);
    fake.now += 1;
    trim(&mut fake);
    assert_eq!((fake.count(), fake.reminded), (21, Some(fake.now)));
    trim(&mut fake);
    assert_eq!((fake.count(), fake.reminded), (1, Some(fake.now + HOUR)));
    for index in [&BY_TRACE, &BY_ABOUT] {
        let left = index.within(&mut fake).scan(&Range::All, None, 10);
        assert!(left.documents.is_empty(), "{left:?}");
    }
    // The count of an hour goes when the hour is over.
    let hours = |fake: &mut Fake| {
        HOURS
            .within(fake)
            .scan(&Range::All, None, 10)
            .documents
            .len()
    };
    assert_eq!(hours(&mut fake), 2);
    fake.now += HOUR - 1;
    trim(&mut fake);
    assert_eq!((hours(&mut fake), fake.count()), (1, 1));
}

#[test]
fn entries_beyond_the_number_go_by_the_hour() {
    let mut fake = Fake::default();
    fake.settings.entries_max = 5;
    for hour in 0..4 {
        fake.now = NOW + hour * HOUR;
        for _ in 0..3 {
            fake.says(&hour.to_string());
        }
    }
    trim(&mut fake);
    // Six are more than five, so only the last hour's stay.
    assert_eq!(fake.found(&json!({ "since": 0 })), ["3", "3", "3"]);
    // In one hour no more arrive than are kept: the rest is refused, or lost.
    fake.says("3");
    fake.says("3");
    let said = json!({ "level": "INFO", "message": "m" });
    let (status, body) = fake.asks("switch", "writeLogEntry", &said);
    assert_eq!((status, &body["most"]), (422, &5.into()), "{body}");
    assert_eq!(fake.count(), 5);
    fake.now += HOUR;
    fake.says("4");
}

#[test]
fn entries_of_one_request_stay_in_their_order() {
    let mut fake = Fake::default();
    let entries: Vec<Value> = (0..100)
        .map(|n| json!({ "level": "INFO", "message": n.to_string(), "about": "a" }))
        .collect();
    let many = json!({ "entries": entries });
    assert_eq!(fake.asks("switch", "writeLogEntries", &many).0, 201);
    let expected: Vec<String> = (0..100).map(|n| n.to_string()).collect();
    for query in [json!({ "since": 0 }), json!({ "about": "a" })] {
        assert_eq!(fake.found(&query), expected);
    }
}

#[test]
fn lines_of_the_host_are_entries_of_their_writers() {
    let mut fake = Fake::default();
    let line = |component: &str, level, message: &str| LogLine {
        time: 7,
        level,
        component: component.to_owned(),
        message: message.to_owned(),
        trace: TRACE.to_owned(),
        target: "component".to_owned(),
    };
    told::of_lines(&mut fake, Vec::new());
    assert_eq!(fake.reminded, None, "no lines, no entries");
    let lines = vec![
        line("quoting", LineLevel::Info, "one"),
        line("host", LineLevel::Error, "tw\u{1b}o"),
        line("quoting", LineLevel::Warn, ""),
        line("quoting", LineLevel::Warn, &"é".repeat(5_000)),
    ];
    told::of_lines(&mut fake, lines);
    let all = fake.found(&json!({ "trace": TRACE }));
    assert_eq!(&all[..3], ["one", "tw o", "-"]);
    assert_eq!(all[3].len(), 4_096);
    let of_host = json!({ "since": 0, "writer": "host", "level": "ERROR" });
    let (_, body) = fake.asks("rita", "searchLog", &of_host);
    let item = &body["items"][0];
    assert_eq!(
        (&item["source"], &item["at"], &item["target"]),
        (&"HOST".into(), &7.into(), &"component".into())
    );
    // Beyond the number of an hour they are lost, and nothing fails.
    fake.settings.entries_max = 5;
    let flood = (0..2).map(|_| line("host", LineLevel::Info, "flood"));
    told::of_lines(&mut fake, flood.collect());
    assert_eq!(fake.count(), 4);
    // The host exports its own lines itself.
    assert!(fake.forwarded.is_empty());
}

#[test]
fn newest_entries_come_first_on_request() {
    let mut fake = Fake::default();
    // Far apart, close together, and at the same time.
    for (at, message) in [(NOW - 20 * 365 * 24 * HOUR, "old"), (NOW - HOUR, "before")] {
        fake.now = at;
        fake.says(message);
    }
    let mut expected = vec!["old".to_owned(), "before".to_owned()];
    for n in 0..1_500_u64 {
        fake.now = NOW + n / 2;
        let said = json!({ "level": "INFO", "message": n.to_string(), "about": "a" });
        let many = json!({ "entries": [said, { "level": "INFO", "message": format!("{n}b") }] });
        assert_eq!(fake.asks("switch", "writeLogEntries", &many).0, 201);
        expected.extend([n.to_string(), format!("{n}b")]);
    }
    // Entries of one instant are in the order of their ids, which the fake draws downwards.
    let oldest_first = all_pages(&mut fake, json!({ "since": 0, "limit": 1_000 }));
    assert_eq!(oldest_first.len(), expected.len());
    let mut newest_first = oldest_first.clone();
    newest_first.reverse();
    for limit in [400, 1_000] {
        let query = json!({ "since": 0, "order": "newest", "limit": limit });
        assert_eq!(all_pages(&mut fake, query), newest_first, "{limit}");
    }
    let of_subject = json!({ "about": "a", "order": "newest", "until": NOW + 10, "limit": 3 });
    let found = all_pages(&mut fake, of_subject);
    let of_oldest = json!({ "about": "a", "order": "oldest", "until": NOW + 10 });
    let mut oldest = all_pages(&mut fake, of_oldest);
    oldest.reverse();
    assert_eq!((found.len(), &found), (20, &oldest));
    let parameters = [("since", "0"), ("order", "newest"), ("limit", "1")];
    let (_, body) = fake.sends("rita", "readLog", &Value::Null, &parameters);
    assert_eq!(messages(&body), newest_first[..1]);
    let nothing = json!({ "trace": TRACE, "order": "newest" });
    assert!(all_pages(&mut fake, nothing).is_empty());
}

/// The messages of all pages.
fn all_pages(fake: &mut Fake, mut query: Value) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let (status, body) = fake.asks("rita", "searchLog", &query);
        assert_eq!(status, 200, "{body}");
        all.extend(messages(&body));
        match body.get("nextCursor") {
            Some(cursor) => query["cursor"] = cursor.clone(),
            None => return all,
        }
    }
}
