//! The log of the scheme: entries of programs outside and of contexts, and searches.

use std::time::Duration;

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
