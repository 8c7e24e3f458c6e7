//! The operators' API from outside: authorization, and health.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rialto_tests::{RunningHost, TestScheme};

/// Every kind of thing that is not for everyone.
const CLOSED: [(&str, &str); 36] = [
    ("GET", "/audit-log"),
    ("POST", "/releases/1/approve"),
    ("GET", "/releases"),
    ("GET", "/releases/1"),
    ("GET", "/releases/1/diff/1"),
    ("POST", "/releases"),
    ("POST", "/releases/plan"),
    ("POST", "/releases/draft"),
    ("POST", "/releases/bundle"),
    ("GET", "/releases/1/wiring"),
    ("GET", "/rules"),
    ("GET", "/releases/backtests"),
    ("POST", "/releases/backtests"),
    ("GET", "/releases/backtests/1"),
    ("DELETE", "/releases/backtests/1"),
    ("GET", "/releases/backtests/1/report"),
    ("GET", "/releases/backtests/1/input"),
    ("POST", "/components"),
    ("GET", "/components/sha256:00"),
    ("POST", "/releases/1/rollback"),
    ("POST", "/rules/amount-limits/swap"),
    ("PUT", "/components/sha256:00"),
    ("GET", "/events/x"),
    ("GET", "/receipts/x"),
    ("GET", "/refusals"),
    ("GET", "/documents"),
    ("GET", "/documents/accounts-and-balances/accounts"),
    ("GET", "/destinations"),
    // A component's API there.
    ("GET", "/delivery-reports?destination=payerfsp"),
    ("GET", "/audit-log/verification"),
    ("GET", "/dead-letters"),
    ("GET", "/dead-letters/1"),
    ("GET", "/dead-letters/paused"),
    ("POST", "/dead-letters/retry"),
    ("POST", "/dead-letters/drop"),
    ("POST", "/dead-letters/1/drop"),
];
/// What is for every operator.
const OF_ONESELF: [(&str, &str); 5] = [
    ("GET", "/session"),
    ("POST", "/sign-out"),
    ("GET", "/tokens"),
    ("POST", "/tokens"),
    ("DELETE", "/tokens/x"),
];

/// The whole answer to a request with this header line, if any.
fn ask(host: &RunningHost, method: &str, path: &str, header: &str) -> String {
    ask_at(host, "operators", method, path, header)
}

fn ask_at(host: &RunningHost, listener: &str, method: &str, path: &str, header: &str) -> String {
    let headers = format!("content-length: 0\r\n{header}");
    send_to(host, listener, method, path, &headers, "")
}

fn send_to(
    host: &RunningHost,
    listener: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> String {
    let url = host.url(listener).unwrap();
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: rialto\r\nconnection: close\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn bad_operator_request_is_a_problem_document() {
    let scheme = TestScheme::demo().unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let token = std::fs::read_to_string(scheme.path().join("state/operator.token")).unwrap();
    let shown = format!("authorization: Bearer {}\r\n", token.trim());
    for (method, path, status) in [
        ("GET", "/events/x?last=many", 400),
        (
            "GET",
            "/documents/accounts-and-balances/accounts?limit=x",
            400,
        ),
        ("GET", "/receipts/x?again=perhaps", 400),
        ("POST", "/releases/first/rollback", 400),
        ("POST", "/dead-letters/first/drop", 400),
        ("POST", "/dead-letters/drop", 400),
        ("GET", "/events/%ff", 400),
        ("POST", "/releases", 400),
        ("POST", "/rules/amount-limits/swap", 400),
    ] {
        let answer = ask(&host, method, path, &shown);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{path}: {answer}"
        );
        assert!(
            answer.contains("content-type: application/problem+json"),
            "{path}: {answer}"
        );
        assert!(
            answer.contains("urn:rialto:problem:malformed"),
            "{path}: {answer}"
        );
    }
    for (path, kind, words) in [
        ("/dead-letters/7", "not-found", "there is no dead letter 7"),
        ("/releases/9", "release-unknown", "there is no release 9"),
        (
            "/releases/1/diff/9",
            "release-unknown",
            "there is no release 9",
        ),
    ] {
        let answer = ask(&host, "GET", path, &shown);
        assert!(answer.starts_with("HTTP/1.1 404 "), "{path}: {answer}");
        assert!(
            answer.contains(&format!("urn:rialto:problem:{kind}")),
            "{answer}"
        );
        assert!(answer.contains(words), "{path}: {answer}");
    }
    let json = format!("{shown}content-type: application/json\r\n");
    let send = |path: &str, headers: &str, body: &str| {
        let headers = format!("{headers}content-length: {}\r\n", body.len());
        send_to(&host, "operators", "POST", path, &headers, body)
    };
    // All that is missing, and what may be there.
    let answer = send("/releases", &json, r#"{"note":"x"}"#);
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.contains("body /document: is required"), "{answer}");
    let answer = send("/participants", &json, "{}");
    assert!(answer.contains("; so "), "{answer}");
    // A body without a media type, at the host and at a component.
    let body = r#"{"expected":1}"#;
    for path in [
        "/releases",
        "/releases/1/rollback",
        "/participants/payerfsp/funds",
    ] {
        for headers in [
            shown.clone(),
            format!("{shown}content-type: text/plain\r\n"),
        ] {
            let answer = send(path, &headers, body);
            assert!(answer.starts_with("HTTP/1.1 415 "), "{path}: {answer}");
            let kind = "urn:rialto:problem:media-type";
            assert!(answer.contains(kind), "{path}: {answer}");
            assert!(answer.contains("application/json"), "{path}: {answer}");
        }
    }
    let releases = host.cli(&["release", "list", "--json"]).unwrap();
    let releases = releases.success().unwrap();
    assert_eq!(releases.matches("\"current\"").count(), 1, "{releases}");
}

#[test]
fn apis_are_described_to_browsers_which_have_no_token() {
    let scheme = TestScheme::demo().unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let get = |listener: &str, path: &str| {
        let answer = ask_at(&host, listener, "GET", path, "");
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        assert!(!answer.contains("<script"), "{path}: {answer}");
        answer
    };
    let list = get("operators", "/openapi");
    for name in [
        "host",
        "notifications-and-alerts",
        "settlements",
        "transfers",
    ] {
        assert!(
            list.contains(&format!("href=\"/openapi/{name}\"")),
            "{list}"
        );
        let page = get("operators", &format!("/openapi/{name}"));
        let html = "content-type: text/html; charset=utf-8";
        assert!(page.contains(html), "{page}");
        assert!(page.contains("<p>For example:</p><pre>"), "{name}");
        assert!(page.contains("<code>role-missing</code>"), "{name}");
        let document = get("operators", &format!("/openapi/{name}.yaml"));
        assert!(
            document.contains("content-type: application/yaml"),
            "{name}"
        );
    }
    let own = get("operators", "/openapi/host.yaml");
    assert!(own.contains("operationId: applyRelease"), "{own}");
    let fsps = get("fsps", "/openapi");
    assert!(fsps.contains("href=\"/openapi/fsp-interop-api\""), "{fsps}");
    // The host serves the document of its own API, and nothing else is open.
    assert!(!fsps.contains("/openapi/host"), "{fsps}");
    for path in ["/openapi/other", "/openapi/host/x", "/openapi.yaml"] {
        let refused = ask(&host, "GET", path, "");
        assert!(refused.starts_with("HTTP/1.1 40"), "{path}: {refused}");
    }
    let posted = ask(&host, "POST", "/openapi/host", "");
    assert!(posted.starts_with("HTTP/1.1 405 "), "{posted}");
}

#[test]
fn where_a_host_listens_is_known_only_while_it_runs() {
    let scheme = TestScheme::demo().unwrap();
    let addresses = scheme.path().join("state/addresses.json");
    let mut host = RunningHost::start(&scheme).unwrap();
    let known = std::fs::read_to_string(&addresses).unwrap();
    host.cli(&["release", "list"]).unwrap().success().unwrap();
    host.terminate().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while addresses.exists() {
        assert!(
            Instant::now() < until,
            "the host has not forgotten where it listens"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    host.kill().unwrap();
    // As a host leaves it that is killed.
    std::fs::write(&addresses, known).unwrap();
    let output = host.cli(&["release", "list"]).unwrap();
    assert_ne!(output.code, 0, "{output}");
    assert!(
        output.stderr.contains("no host is running on the store"),
        "{output}"
    );
}

#[test]
fn operators_api_needs_a_token_and_health_does_not() {
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
    for (method, path) in CLOSED.into_iter().chain(OF_ONESELF) {
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
    assert!(ready.contains("\"ready\":true"), "{ready}");
    for check in [
        "release 1 is current",
        "\"engine\"",
        "\"commit\"",
        "\"fold\"",
    ] {
        assert!(ready.contains(check), "{check}: {ready}");
    }
}

/// The tables of three operators.
const PEOPLE: &str = "[operators.anna]\nroles = [\"reader\", \"maker\"]\n\n\
                      [operators.ben]\nroles = [\"checker\", \"admin\"]\n\n\
                      [operators.carl]\nroles = [\"context\"]\n\n[store]";
/// A context that returns the request that it got, and the context that it calls.
const GUESTS: &str = "[contexts.hostile-context]\ncomponent = \"components/hostile-context.wasm\"\nlistener = \"LISTENER\"\n\
                      [contexts.hostile-context.grants]\nhost = [\"storage\", \"judging\", \"logging\"]\n\
                      calls = [\"hostile-context/echo\"]\npublishes = [\"hostile-context/happened\"]\n\
                      rules = [\"quote-request-check\", \"transfer-prepare-check\"]\n\n\
                      [contexts.hostile-friend]\ncomponent = \"components/hostile-friend.wasm\"\n\
                      [contexts.hostile-friend.grants]\nhost = [\"storage\", \"keys\", \"caller\", \"logging\"]\n\n";

fn three_operators() -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    scheme.replace("rialto.toml", "[store]", PEOPLE).unwrap();
    scheme
}

fn bearer(scheme: &TestScheme, operator: &str) -> String {
    let path = format!("state/operators/{operator}.token");
    let token = std::fs::read_to_string(scheme.path().join(path)).unwrap();
    format!("authorization: Bearer {}\r\n", token.trim())
}

#[test]
fn operator_needs_the_role_and_learns_the_missing_one() {
    let scheme = three_operators();
    let host = RunningHost::start(&scheme).unwrap();
    // (operator, whether it may look, whether it may change)
    for (operator, looks, changes) in [
        ("anna", true, false),
        ("ben", false, true),
        ("carl", false, false),
    ] {
        let token = bearer(&scheme, operator);
        for (method, path) in CLOSED {
            if path.contains("delivery-reports") {
                continue; // the component's to judge
            }
            let answer = ask(&host, method, path, &token);
            let may = if method == "GET" { looks } else { changes };
            let refused = answer.starts_with("HTTP/1.1 403 ");
            assert_eq!(refused, !may, "{operator} {method} {path}: {answer}");
            assert_eq!(
                answer.contains("urn:rialto:problem:role-missing"),
                refused,
                "{answer}"
            );
        }
    }
    let list = |operator: &str| host.cli(&["release", "list", "--as", operator]).unwrap();
    list("anna").success().unwrap();
    let refused = list("carl");
    assert_eq!(refused.code, 1, "{refused}");
    let words = "the operator `carl` needs the role `reader`";
    assert!(refused.stderr.contains(words), "{refused}");
    let unknown = list("dora");
    let words = "the operator `dora`, whom rialto.toml must name";
    assert!(unknown.stderr.contains(words), "{unknown}");
    let path = list("../operator");
    assert_eq!(path.code, 2, "{path}");
}

#[test]
fn component_gets_the_caller_from_the_host_without_token() {
    for listener in ["operators", "fsps"] {
        let scheme = three_operators();
        for guest in ["hostile-context", "hostile-friend"] {
            let built = rialto_tests::binaries::plugin(guest).unwrap();
            std::fs::copy(built, scheme.component(guest)).unwrap();
        }
        let guests = GUESTS.replace("LISTENER", listener);
        scheme
            .edit(
                "[rules.amount-limits]",
                &format!("{guests}[rules.amount-limits]"),
            )
            .unwrap();
        scheme.lock().unwrap();
        let host = RunningHost::start(&scheme).unwrap();
        let forged = "caller: ben\r\nx-caller: ben checker\r\nrialto-caller: {\"name\":\"ben\"}\r\n\
                      proxy-authorization: Bearer x\r\ncookie: caller=ben\r\n\
                      cookie: rialto-session=5ec4e7; __Host-rialto-sign-in=5ec4e7\r\n";
        let token = bearer(&scheme, "anna");
        let shown = ask_at(
            &host,
            listener,
            "GET",
            "/orders",
            &format!("{token}{forged}"),
        );
        assert!(shown.starts_with("HTTP/1.1 200 "), "{shown}");
        let expected = match listener {
            "operators" => "caller anna reader,maker\n",
            _ => "caller nobody\n",
        };
        assert!(shown.contains(expected), "{listener}: {shown}");
        // It gets all other headers unchanged.
        assert!(shown.contains("\nx-caller: ben checker\n"), "{shown}");
        assert!(shown.contains("\ncookie: caller=ben\n"), "{shown}");
        assert!(!shown.contains("5ec4e7"), "a browser's session: {shown}");
        if listener == "operators" {
            let secret = token.trim().rsplit(' ').next().unwrap();
            assert!(!shown.contains("\nauthorization:"), "{shown}");
            assert!(!shown.contains(secret), "{shown}");
            // Two tokens: the operator is ambiguous.
            let both = format!("{token}{}", bearer(&scheme, "ben"));
            let refused = ask(&host, "GET", "/orders", &both);
            assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
        }
    }
}

#[test]
fn refused_requests_are_listed_with_reasons() {
    let scheme = TestScheme::demo().unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let told = || {
        let output = host.cli(&["events", "--refused", "--json"]).unwrap();
        let text = output.success().unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<serde_json::Value>>()
    };
    assert!(told().is_empty());
    // Without any of its headers.
    let path = "/participants/MSISDN/123456789";
    let answer = ask_at(&host, "fsps", "GET", path, "");
    let status = answer.split_whitespace().nth(1).unwrap();
    assert!(status.starts_with('4'), "{answer}");
    let told = told();
    assert_eq!(told.len(), 1, "{told:?}");
    let refused = &told[0];
    assert_eq!(
        (&refused["method"], &refused["path"]),
        (&"GET".into(), &path.into())
    );
    assert_eq!(refused["status"].to_string(), status);
    assert_eq!(refused["client"], "address 127.0.0.1");
    for said in ["kind", "location", "detail"] {
        assert_ne!(refused[said], "", "{refused}");
    }
    let text = host
        .cli(&["events", "--refused"])
        .unwrap()
        .success()
        .unwrap();
    assert!(text.contains(&format!("GET {path} {status}")), "{text}");
}
