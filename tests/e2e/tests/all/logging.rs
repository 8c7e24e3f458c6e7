//! The log of the scheme: entries of programs outside and of contexts, and searches.

use std::collections::BTreeMap;
use std::time::Duration;

use rialto_simulator::client::HttpClient;
use rialto_tests::books::documents;
use rialto_tests::metrics::Metrics;
use rialto_tests::office::{Office, Said};
use rialto_tests::waiting::until;
use rialto_tests::{RunningHost, TestScheme, catalogue};
use serde_json::{Value, json};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
const PEOPLE: &[(&str, &str)] = &[("anna", r#""reader""#), ("switch", r#""context""#)];
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

fn messages(said: &Said) -> Vec<&str> {
    let items = said.body["items"].as_array().unwrap().iter();
    items
        .map(|item| item["message"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn entries_of_programs_and_contexts_are_found() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PEOPLE).unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let office = Office::of(&scheme, &host, &["anna", "switch"]).unwrap();
    let send =
        async |who: &str, path: &str, body: Value| office.post(who, path, &body).await.unwrap();
    let one = json!({ "level": "WARN", "message": "the queue is long", "about": "card:1", "trace": TRACE });
    let said = send("switch", "/log-write", one.clone()).await;
    assert_eq!(said.status, 201, "{said:?}");
    let other = json!({ "level": "INFO", "message": "it is short again", "about": "card:1" });
    let said = send(
        "switch",
        "/log-read-build-log",
        json!({ "entries": [other, other] }),
    )
    .await;
    assert_eq!(
        (said.status, said.body["ids"].as_array().unwrap().len()),
        (201, 2),
        "{said:?}"
    );

    for (query, found) in [
        (json!({ "trace": TRACE }), 1),
        (json!({ "about": "card:1" }), 3),
        (json!({ "about": "card:1", "level": "WARN" }), 1),
        (
            json!({ "since": 0, "writer": "switch", "text": "short" }),
            2,
        ),
        (json!({ "since": 0, "writer": "nobody" }), 0),
    ] {
        let said = send("anna", "/read-log", query.clone()).await;
        assert_eq!(messages(&said).len(), found, "{query}: {said:?}");
    }
    let page = office
        .get("anna", "/read-log?about=card:1&limit=2")
        .await
        .unwrap();
    let cursor = page["nextCursor"].as_str().unwrap();
    let rest = office
        .get("anna", &format!("/read-log?about=card:1&cursor={cursor}"))
        .await
        .unwrap();
    assert_eq!(rest["items"].as_array().unwrap().len(), 1, "{rest}");
    assert!(rest.get("nextCursor").is_none(), "{rest}");

    for (who, path, body, status) in [
        ("anna", "/log-write", one.clone(), 403),
        ("switch", "/read-log", json!({ "since": 0 }), 403),
        (
            "switch",
            "/log-write",
            json!({ "level": "LOUD", "message": "m" }),
            400,
        ),
        (
            "switch",
            "/log-write",
            json!({ "level": "INFO", "message": "a\u{1b}[2Jb" }),
            400,
        ),
        (
            "switch",
            "/log-write",
            json!({ "level": "INFO", "message": "x".repeat(4_097) }),
            400,
        ),
        (
            "switch",
            "/log-read-build-log",
            json!({ "entries": [one, {}] }),
            400,
        ),
        ("anna", "/read-log", json!({ "level": "WARN" }), 422),
    ] {
        let said = send(who, path, body).await;
        assert_eq!(said.status, status, "{path}: {said:?}");
    }
    // A context tells by an event what an operator should look at.
    let said = send("switch", "/audit-log-write", json!({ "entry": "unsigned" })).await;
    assert_eq!(said.status, 422, "{said:?}");
    until("the entry of the event", SOON, async || {
        let said = send(
            "anna",
            "/read-log",
            json!({ "since": 0, "writer": "auditing" }),
        )
        .await;
        let is_there = messages(&said)
            .iter()
            .any(|message| message.contains("is in quarantine"));
        Ok(is_there.then_some(()).ok_or(format!("{said:?}")))
    })
    .await
    .unwrap();
    catalogue::seen(
        "logging::entries_of_programs_and_contexts_are_found",
        ["C-log-write", "C-log-read-build-log", "C-read-log"].into_iter(),
    )
    .unwrap();
}

/// A context that is ordered to log lines, and the context that logs them.
const LOGGERS: &str = "[contexts.hostile-context]\ncomponent = \"components/hostile-context.wasm\"\nlistener = \"operators\"\n\
                       [contexts.hostile-context.grants]\nhost = [\"storage\", \"judging\", \"logging\"]\n\
                       calls = [\"hostile-context/echo\"]\npublishes = [\"hostile-context/happened\"]\n\
                       rules = [\"quote-request-check\", \"transfer-prepare-check\"]\n\n\
                       [contexts.hostile-friend]\ncomponent = \"components/hostile-friend.wasm\"\n\
                       [contexts.hostile-friend.grants]\nhost = [\"storage\", \"keys\", \"caller\", \"logging\"]\n\n";
/// Lines of a turn that are logged.
const LINES_OF_A_TURN: usize = 256;
/// Turns whose lines are more than wait for their delivery.
const FLOOD: usize = 30;

/// A scheme with contexts that log what they are ordered to.
fn with_loggers() -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PEOPLE).unwrap();
    for guest in ["hostile-context", "hostile-friend"] {
        let built = rialto_tests::binaries::plugin(guest).unwrap();
        std::fs::copy(built, scheme.component(guest)).unwrap();
    }
    let rules = "[rules.amount-limits]";
    scheme.edit(rules, &format!("{LOGGERS}{rules}")).unwrap();
    scheme.lock().unwrap();
    scheme
}

/// Order lines of this length.
async fn order_lines(scheme: &TestScheme, host: &RunningHost, lines: usize, bytes: usize) {
    let token = scheme.path().join("state/operators/anna.token");
    let token = std::fs::read_to_string(token).unwrap();
    let client = HttpClient::new(SOON);
    let order = format!("call%20log%20{lines}%20{bytes}");
    let uri = format!("{}/orders/{order}", host.url("operators").unwrap());
    let mut headers = http::HeaderMap::new();
    let token = format!("Bearer {}", token.trim());
    headers.insert("authorization", token.parse().unwrap());
    let sent = client.send(
        http::Method::POST,
        uri.parse().unwrap(),
        headers,
        String::new().into(),
    );
    assert_eq!(sent.await.unwrap().status, 200);
}

/// The entries that a query finds; waits for the first.
async fn found(office: &Office, query: Value) -> Vec<Value> {
    until(&query.to_string(), SOON, async || {
        let said = office.post("anna", "/read-log", &query).await?;
        let items = said.body["items"].as_array().unwrap().clone();
        Ok(if items.is_empty() {
            Err(format!("{said:?}"))
        } else {
            Ok(items)
        })
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn lines_of_the_host_and_of_components_are_found() {
    let scheme = with_loggers();
    let host = RunningHost::start(&scheme).unwrap();
    let office = Office::of(&scheme, &host, &["anna", "switch"]).unwrap();
    order_lines(&scheme, &host, 1, 17).await;
    let lines = found(&office, json!({ "since": 0, "writer": "hostile-friend" })).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(
        (&lines[0]["source"], &lines[0]["level"], &lines[0]["target"]),
        (&"HOST".into(), &"INFO".into(), &"component".into())
    );
    assert!(
        lines[0]["message"]
            .as_str()
            .unwrap()
            .starts_with(&"x".repeat(17)),
        "{lines:?}"
    );
    // The line has the trace of its request.
    let trace = lines[0]["trace"].as_str().unwrap();
    let by_trace = found(&office, json!({ "trace": trace })).await;
    assert_eq!(by_trace[0]["id"], lines[0]["id"]);
    // The host warned at its start that the scheme authenticates nobody.
    let of_host = json!({ "since": 0, "writer": "host", "level": "WARN" });
    let warnings = found(&office, of_host).await;
    assert!(
        warnings
            .iter()
            .all(|line| line["target"].as_str().unwrap().starts_with("rialto")),
        "{warnings:?}"
    );
    // The deliveries cause no lines: a second line is the only thing that has arrived.
    order_lines(&scheme, &host, 1, 18).await;
    let text = "x".repeat(18);
    found(&office, json!({ "since": 0, "text": text })).await;
    let last = json!({ "since": lines[0]["arrivedAt"].as_u64().unwrap() + 1 });
    let after = found(&office, last).await;
    assert_eq!(after.len(), 1, "{after:?}");
}

#[tokio::test]
async fn flood_of_lines_is_bounded_and_counted() {
    let scheme = with_loggers();
    let host = RunningHost::start(&scheme).unwrap();
    let office = Office::of(&scheme, &host, &["anna", "switch"]).unwrap();
    for _ in 0..FLOOD {
        order_lines(&scheme, &host, LINES_OF_A_TURN, 10).await;
    }
    let lost = json!({ "since": 0, "writer": "host", "text": "log lines are not here" });
    let told = found(&office, lost).await;
    assert_eq!(told[0]["level"], "WARN", "{told:?}");
    let metrics = Metrics::of(&host).await.unwrap();
    let count = |name: &str| metrics.get(name).unwrap();
    assert!(count("rialto_log_lines_lost_total") > 0);
    // A turn takes a hundred at most, and lines that were dropped are no entries.
    let lines = found(&office, json!({ "since": 0, "limit": 1_000 })).await;
    let mut by_turn = BTreeMap::<u64, usize>::new();
    for line in &lines {
        let arrived_at = line["arrivedAt"].as_u64().unwrap();
        *by_turn.entry(arrived_at).or_default() += 1;
    }
    assert!(by_turn.values().all(|lines| *lines <= 100), "{by_turn:?}");
    assert_eq!(count("rialto_turns_failed_total"), 0);
}

#[tokio::test]
async fn entries_are_signed_and_encrypted() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(PEOPLE).unwrap();
    scheme
        .set("logging", "signed = true\nencrypted = true")
        .unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let office = Office::of(&scheme, &host, &["anna", "switch"]).unwrap();
    let entry = json!({ "level": "INFO", "message": "a private line", "about": "card:1" });
    let entries: Vec<&Value> = (0..100).map(|_| &entry).collect();
    let many = json!({ "entries": entries });
    let said = office.post("switch", "/log-read-build-log", &many).await;
    assert_eq!(said.unwrap().status, 201);
    let query = json!({ "about": "card:1", "text": "private", "order": "newest" });
    let lines = found(&office, query).await;
    assert_eq!(lines.len(), 100);
    for line in &lines {
        assert_eq!(
            (&line["message"], &line["verified"]),
            (&"a private line".into(), &true.into())
        );
    }
    // The host's lines are protected too, and the store has no message in the clear.
    let of_host = found(&office, json!({ "since": 0, "writer": "host" })).await;
    assert_eq!(of_host[0]["verified"], true, "{of_host:?}");
    let stored: BTreeMap<String, Value> = documents(&host, "logging", "entries").unwrap();
    assert!(stored.len() > 100);
    for (id, entry) in stored {
        assert_eq!(entry["message"], "", "{id}");
        assert!(entry["signature"].is_object(), "{id}");
    }
}
