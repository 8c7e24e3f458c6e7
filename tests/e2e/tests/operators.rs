//! The operators' API from outside: who may ask it what, and what it says about its health.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rialto_tests::{RunningHost, TestScheme};

/// Every kind of thing that is not for everyone.
const CLOSED: [(&str, &str); 15] = [
    ("GET", "/releases"),
    ("POST", "/releases"),
    ("POST", "/releases/plan"),
    ("POST", "/releases/1/rollback"),
    ("POST", "/rules/amount-limits/swap"),
    ("PUT", "/components/sha256:00"),
    ("GET", "/events/x"),
    ("GET", "/receipts/x"),
    ("GET", "/documents/accounts-and-balances/accounts"),
    ("GET", "/destinations"),
    // What a component serves there.
    ("GET", "/delivery-reports?destination=payerfsp"),
    ("GET", "/openapi/notifications-and-alerts"),
    ("GET", "/openapi/notifications-and-alerts.yaml"),
    ("GET", "/dead-letters"),
    ("POST", "/dead-letters/1/drop"),
];

/// The whole answer to a request with this header line, if any.
fn ask(host: &RunningHost, method: &str, path: &str, header: &str) -> String {
    let url = host.url("operators").unwrap();
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: rialto\r\ncontent-length: 0\r\nconnection: close\r\n{header}\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn only_who_shows_the_token_may_look_and_change_and_everyone_may_ask_for_health() {
    let scheme = TestScheme::demo().unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let token = std::fs::read_to_string(scheme.path().join("state/operator.token")).unwrap();
    let token = token.trim();
    let (first, last) = token.split_at(token.len() - 1);
    let other = if last == "0" { "1" } else { "0" };
    let wrong = [
        String::new(),
        "authorization: Bearer \r\n".to_owned(),
        format!("authorization: Bearer {first}{other}\r\n"),
        format!("authorization: Bearer {first}\r\n"),
        format!("authorization: Bearer {token}0\r\n"),
        format!("authorization: Basic {token}\r\n"),
    ];
    for (method, path) in CLOSED {
        for header in &wrong {
            let answer = ask(&host, method, path, header);
            let head = answer.to_ascii_lowercase();
            assert!(
                answer.starts_with("HTTP/1.1 401 "),
                "{path} {header}: {answer}"
            );
            assert!(
                head.contains("\r\nwww-authenticate: bearer\r\n"),
                "{answer}"
            );
            assert!(
                answer.contains("urn:rialto:problem:unauthorized"),
                "{answer}"
            );
            assert!(!answer.contains(first), "the token is in no answer");
        }
        let answer = ask(
            &host,
            method,
            path,
            &format!("authorization: Bearer {token}\r\n"),
        );
        assert!(!answer.starts_with("HTTP/1.1 401 "), "{path}: {answer}");
    }
    let live = ask(&host, "GET", "/health/live", "");
    assert!(
        live.starts_with("HTTP/1.1 200 ") && live.ends_with("live\n"),
        "{live}"
    );
    let ready = ask(&host, "GET", "/health/ready", "");
    assert!(ready.starts_with("HTTP/1.1 200 "), "{ready}");
    assert!(ready.ends_with("ready, on release 1\n"), "{ready}");
}
