//! The audit log, and releases with money that need a second person, also at the first start.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rialto_tests::{CliOutput, RunningHost, TestScheme};
use serde_json::Value;

/// Anna has two tokens and is one person; ben checks, dora may do all but check.
pub const PEOPLE: &str = "[operators.anna]\nroles = [\"reader\", \"admin\"]\n\n\
                      [operators.anna-checks]\nroles = [\"reader\", \"checker\"]\nperson = \"anna\"\n\n\
                      [operators.ben]\nroles = [\"reader\", \"checker\"]\n\n\
                      [operators.dora]\nroles = [\"reader\", \"admin\"]\n\n";
/// The rule of a scheme that is no sandbox.
const ALWAYS: &str = "[releases]\nsecond-person = \"always\"\n\n";
/// The exit code of what is stored and waits.
const WAITS: i32 = 3;
/// The setting by which one person is enough for every deposit.
const ALONE: &str = "approval = { default = \"automatic\" }";

fn scheme(more: &str) -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    let with = format!("{more}{PEOPLE}[store]");
    scheme.replace("rialto.toml", "[store]", &with).unwrap();
    scheme
}

/// A command of this operator.
pub fn by(host: &RunningHost, operator: &str, command: &[&str]) -> CliOutput {
    let all: Vec<&str> = command.iter().copied().chain(["--as", operator]).collect();
    host.cli(&all).unwrap()
}

pub fn apply(host: &RunningHost, operator: &str, folder: &TestScheme, note: &str) -> CliOutput {
    let folder = folder.path().to_str().unwrap();
    by(
        host,
        operator,
        &["release", "apply", folder, "--note", note],
    )
}

/// The releases as an operator sees them, in JSON.
pub fn releases(host: &RunningHost) -> Vec<Value> {
    let listed = by(host, "ben", &["release", "list", "--json"]);
    serde_json::from_str(&listed.success().unwrap()).unwrap()
}

/// The entries of the audit log, each as operator, action and outcome.
fn audit(host: &RunningHost) -> Vec<(String, String, String)> {
    let told = by(host, "ben", &["audit", "--json"]).success().unwrap();
    let text = |entry: &Value, member: &str| entry[member].as_str().unwrap().to_owned();
    let entries = told.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(entry["at"].as_u64().unwrap() > 1_600_000_000_000, "{entry}");
        let who = match text(&entry, "operator") {
            operator if operator == text(&entry, "person") => operator,
            operator => format!("{}/{operator}", text(&entry, "person")),
        };
        (who, text(&entry, "action"), text(&entry, "outcome"))
    });
    entries.collect()
}

fn ready(host: &RunningHost) -> String {
    let url = host.url("operators").unwrap().trim_start_matches("http://");
    let mut stream = TcpStream::connect(url).unwrap();
    let question = "GET /health/ready HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n\r\n";
    stream.write_all(question.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn release_with_money_waits_for_a_second_person() {
    let scheme = scheme(ALWAYS);
    // The first start takes the folder's release, which has liquidity. Its maker is the user who started the
    // host.
    let mut host = RunningHost::start(&scheme).unwrap();
    assert!(
        ready(&host).starts_with("HTTP/1.1 503 "),
        "nothing serves yet"
    );
    host.restart().unwrap();
    let waiting = releases(&host);
    assert_eq!(
        waiting.len(),
        1,
        "a start finds the one that waits: {waiting:?}"
    );
    assert_eq!(waiting[0]["waits"], true);
    assert!(
        waiting[0]["maker"]
            .as_str()
            .unwrap()
            .starts_with("start by user ")
    );
    let refused = by(&host, "anna", &["release", "approve", "1"]);
    assert!(
        refused.stderr.contains("needs the role `checker`"),
        "{refused}"
    );
    let refused = by(&host, "anna", &["release", "rollback", "1"]);
    assert!(
        refused.stderr.contains("waits for the approval"),
        "{refused}"
    );
    by(&host, "ben", &["release", "approve", "1"])
        .success()
        .unwrap();
    assert!(ready(&host).contains("release 1 is current"));

    // More liquidity: stored and reported, without effect.
    let more = scheme.twin().unwrap();
    more.edit_with(|text| text.replace("id = \"payerfsp\"", "id = \"thirdfsp\""))
        .unwrap();
    more.lock().unwrap();
    let stored = apply(&host, "anna", &more, "a third one");
    assert_eq!(stored.code, WAITS, "{stored}");
    assert!(
        stored
            .stdout
            .contains("release 2 is stored but not current"),
        "{stored}"
    );
    assert!(
        stored
            .stdout
            .contains("participant thirdfsp: opening-liquidity"),
        "{stored}"
    );
    assert!(ready(&host).contains("release 1 is current"));
    // Its maker does not approve it, whichever token is shown; nor by going back to it.
    let own = by(&host, "anna-checks", &["release", "approve", "2"]);
    assert!(own.stderr.contains("release 2 was made by anna"), "{own}");
    by(&host, "ben", &["release", "approve", "2"])
        .success()
        .unwrap();
    assert!(ready(&host).contains("release 2 is current"));
    let again = by(&host, "ben", &["release", "approve", "2"]);
    assert!(
        again.stderr.contains("does not wait for an approval"),
        "{again}"
    );

    // One person is to be enough: that needs two. And what was made for another release is not approved.
    let alone = more.twin().unwrap();
    alone
        .set("participant-lifecycle-management", ALONE)
        .unwrap();
    alone.lock().unwrap();
    let stored = apply(&host, "anna", &alone, "alone");
    assert_eq!(stored.code, WAITS, "{stored}");
    assert!(stored.stdout.contains("one person is enough"), "{stored}");
    let small = more.twin().unwrap();
    small
        .edit_with(|text| format!("# A comment.\n{text}"))
        .unwrap();
    apply(&host, "dora", &small, "a comment").success().unwrap();
    let moved = by(&host, "ben", &["release", "approve", "3"]);
    assert!(
        moved
            .stderr
            .contains("meant for release 2, and release 4 is current"),
        "{moved}"
    );

    // The operator: in the list and in the log, for refusals too. The log survives the host.
    host.restart().unwrap();
    let list = by(&host, "ben", &["release", "list"]).success().unwrap();
    for line in [
        "by start by user ",
        "by anna, approved by ben  a third one",
        "by anna  alone",
        "by dora  a comment",
    ] {
        assert!(list.contains(line), "{line}: {list}");
    }
    let kept = audit(&host);
    let did = |who: &str, what: &str, outcome: &str| {
        let entry = (who.to_owned(), what.to_owned(), outcome.to_owned());
        assert!(kept.contains(&entry), "{entry:?} is not in {kept:?}");
    };
    did("anna", "role-missing", "refused");
    did("anna", "release-rollback", "refused");
    did("ben", "release-approve", "done");
    did("anna", "release-apply", "done");
    did("anna/anna-checks", "release-approve", "refused");
    did("ben", "release-approve", "refused");
    did("dora", "release-apply", "done");
    let starts = kept.iter().filter(|(_, what, _)| what == "host-start");
    assert_eq!(starts.count(), 3, "{kept:?}");
    let drawn = kept.iter().filter(|(_, what, _)| what == "token-draw");
    assert_eq!(drawn.count(), 4, "one for each table: {kept:?}");
}

#[test]
fn sandbox_needs_one_person_and_keeps_the_audit_log() {
    let scheme = scheme("");
    let host = RunningHost::start(&scheme).unwrap();
    assert!(ready(&host).contains("release 1 is current"));
    assert!(!scheme.path().join("state/operator.token").exists());
    let more = scheme.twin().unwrap();
    more.edit_with(|text| text.replace("id = \"payerfsp\"", "id = \"thirdfsp\""))
        .unwrap();
    more.lock().unwrap();
    apply(&host, "dora", &more, "a third one")
        .success()
        .unwrap();
    let unknown = by(&host, "dora", &["dead-letters", "drop", "7"]);
    assert_eq!(unknown.code, 1, "{unknown}");
    let nobody = host.cli(&["release", "list"]).unwrap();
    assert!(
        nobody.stderr.contains("say who asks with --as NAME"),
        "{nobody}"
    );
    let kept = audit(&host);
    let last: Vec<_> = kept.iter().rev().take(2).rev().collect();
    let expected = [
        ("dora", "release-apply", "done"),
        ("dora", "dead-letter-drop", "refused"),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(last, expected.iter().collect::<Vec<_>>());
}

#[test]
fn metrics_name_destinations_only_with_token_or_setting() {
    for (setting, named) in [("", false), ("destinations = \"open\"\n", true)] {
        let scheme = TestScheme::demo().unwrap();
        let table = format!("[listeners.operators]\n{setting}");
        scheme
            .replace("rialto.toml", "[listeners.operators]\n", &table)
            .unwrap();
        scheme
            .set("notifications-and-alerts", "attemptsMax = 1")
            .unwrap();
        let mut host = RunningHost::start(&scheme).unwrap();
        // A lookup whose callback cannot be delivered, since its FSP is absent.
        let url = host
            .url("fsps")
            .unwrap()
            .trim_start_matches("http://")
            .to_owned();
        let mut stream = TcpStream::connect(&url).unwrap();
        let media = "application/vnd.interoperability.parties+json;version=1.1";
        let question = format!(
            "GET /parties/MSISDN/1234567 HTTP/1.1\r\nhost: hub\r\nconnection: close\r\naccept: {media}\r\ncontent-type: {media}\r\ndate: Tue, 15 Nov 1994 08:12:31 GMT\r\nfspiop-source: payerfsp\r\n\r\n"
        );
        stream.write_all(question.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
        let token = std::fs::read_to_string(scheme.path().join("state/operator.token")).unwrap();
        let shown = format!("authorization: Bearer {}\r\n", token.trim());
        let place = format!("127.0.0.1:{}", scheme.callbacks()["payerfsp"]);
        let metrics = |header: &str| {
            let url = host.url("operators").unwrap().trim_start_matches("http://");
            let mut stream = TcpStream::connect(url).unwrap();
            let question =
                format!("GET /metrics HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n{header}\r\n");
            stream.write_all(question.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !metrics(&shown).contains("rialto_deliveries_total{") {
            assert!(std::time::Instant::now() < until, "{}", metrics(&shown));
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        let with_token = metrics(&shown);
        assert!(
            with_token.contains(&format!("destination=\"{place}\"")),
            "{with_token}"
        );
        let without = metrics("");
        assert!(without.contains("rialto_deliveries_total{"), "{without}");
        assert_eq!(without.contains(&place), named, "{without}");
        let wrong = metrics("authorization: Bearer nobody\r\n");
        assert!(wrong.starts_with("HTTP/1.1 401 "), "{wrong}");
        host.kill().unwrap();
    }
}

#[test]
fn approver_names_the_instant_of_a_release_that_waited() {
    let scheme = scheme(ALWAYS);
    let host = RunningHost::start(&scheme).unwrap();
    by(&host, "ben", &["release", "approve", "1"])
        .success()
        .unwrap();
    let more = scheme.twin().unwrap();
    more.edit_with(|text| text.replace("id = \"payerfsp\"", "id = \"thirdfsp\""))
        .unwrap();
    more.lock().unwrap();
    assert_eq!(apply(&host, "anna", &more, "a third one").code, WAITS);
    let approve = |operator: &str, from: &str| {
        let command = ["release", "approve", "2", "--effective-from", from];
        by(&host, operator, &command)
    };
    let now = jiff::Timestamp::now().as_second();
    let from = jiff::Timestamp::from_second(now + 3_600).unwrap();
    let from = from.to_string();
    // A date is no way around the second person, and none that has passed is taken.
    let own = approve("anna-checks", &from);
    assert!(own.stderr.contains("release 2 was made by anna"), "{own}");
    let past = approve("ben", "2020-01-01T00:00:00Z");
    assert!(
        past.code != 0 && past.stderr.contains("has passed"),
        "{past}"
    );
    let said = approve("ben", &from).success().unwrap();
    assert!(said.starts_with("release 2 comes into force at"), "{said}");
    let listed = releases(&host);
    let second = listed.iter().find(|one| one["number"] == 2).unwrap();
    assert_eq!(
        (&second["approver"], &second["waits"]),
        (&Value::from("ben"), &Value::Bool(false)),
        "{second:#}"
    );
    assert!(ready(&host).contains("release 1 is current"));
    let again = approve("ben", &from);
    assert!(again.code != 0, "{again}");
    by(&host, "dora", &["release", "withdraw", "2"])
        .success()
        .unwrap();
}
