//! Public contracts, compared with their snapshots: commands with their help, names of metrics, and commands in
//! documents. A change here is a change for users: accept the snapshot, and say it in the changelog.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use http::{Method, StatusCode};
use rialto_tests::{RunningHost, TestScheme, World, binaries, handbook};

/// The documents that name commands.
const DOCUMENTS: [&str; 5] = [
    "README.md",
    "docs/development.md",
    "docs/install.md",
    "docs/operators.md",
    "docs/plugin-authors.md",
];

/// What `rialto … --help` prints.
fn help(command: &[&str]) -> String {
    let output = Command::new(binaries::rialto().unwrap())
        .args(command)
        .arg("--help")
        .env_remove("RIALTO_SCHEME")
        .env_remove("RIALTO_STATE")
        .output()
        .unwrap();
    assert!(output.status.success(), "rialto {command:?} --help");
    String::from_utf8(output.stdout).unwrap()
}

/// The names under `Commands:`.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // Names are indented by two, what is said about them by more.
    listed
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Every command, `rialto` itself as the empty one.
fn all() -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while next < found.len() {
        let command: Vec<String> = found[next].clone();
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        for name in commands(&help(&words)) {
            let mut longer = command.clone();
            longer.push(name);
            found.push(longer);
        }
        next += 1;
    }
    found
}

#[test]
fn each_command_has_the_help_that_it_had() {
    let pages = all().into_iter().map(|command| {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        format!("$ rialto {} --help\n{}", words.join(" "), help(&words))
    });
    let pages: Vec<String> = pages.collect();
    assert!(pages.len() > 15, "{} commands", pages.len());
    insta::assert_snapshot!(pages.join("\n"));
}

/// The answer to a GET, as it came.
pub fn get(url: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: rialto\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn api_is_served_with_document_and_page() {
    let world = World::demo().await.unwrap();
    let fsps = world.host.url("fsps").unwrap();
    let document = get(fsps, "/openapi/fsp-interop-api.yaml");
    assert!(document.contains("content-type: application/yaml"));
    assert!(document.contains("operationId: requestTransfer"));
    let page = get(fsps, "/openapi/fsp-interop-api");
    assert!(page.contains("content-type: text/html; charset=utf-8"));
    assert!(page.contains("<h3 id=\"requestTransfer\">POST /transfers</h3>"));
    assert!(page.contains("<code>4001</code></td><td>Payer FSP insufficient liquidity</td>"));
    assert!(!page.contains("<script"));
    let nothing = get(fsps, "/openapi/other");
    assert!(nothing.starts_with("HTTP/1.1 404"), "{nothing}");
}

/// Stock clients ask a switch how it is, without any header of the API.
#[tokio::test(flavor = "multi_thread")]
async fn fsps_are_told_how_the_host_is() {
    let world = World::demo().await.unwrap();
    let answer = get(world.host.url("fsps").unwrap(), "/health");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.contains("content-type: application/json"),
        "{answer}"
    );
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["status"], "OK");
    let services = body["services"].as_array().unwrap();
    let names: Vec<_> = services.iter().map(|service| &service["name"]).collect();
    assert_eq!(names, ["release", "engine", "commit", "fold", "disk"]);
    assert!(services.iter().all(|service| service["status"] == "OK"));
    // Operators get more, on their own listener.
    let operators = get(world.host.url("operators").unwrap(), "/health");
    assert!(operators.starts_with("HTTP/1.1 40"), "{operators}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_metrics_have_the_names_that_they_had() {
    let world = World::demo().await.unwrap();
    let refused = world
        .payer()
        .raw(Method::POST, "/quotes")
        .body("{}".to_owned());
    let refused = refused.send().await.unwrap();
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let answer = get(world.host.url("operators").unwrap(), "/metrics");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let counted = "rialto_http_requests_total{operation=\"requestQuote\",status=\"400\"} 1";
    assert!(answer.lines().any(|line| line == counted), "{answer}");
    let described = answer.lines().filter(|line| line.starts_with("# "));
    let described: Vec<&str> = described.filter(|line| *line != "# EOF").collect();
    insta::assert_snapshot!(described.join("\n"));
}

/// Readers that know no OpenMetrics ask for plain text, and stop at what is not of it.
#[test]
fn metrics_are_in_text_format_on_request() {
    let scheme = TestScheme::demo().unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let asked = |accept: &str| {
        let address = host.url("operators").unwrap();
        let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
        let request = format!(
            "GET /metrics HTTP/1.1\r\nhost: hub\r\naccept: {accept}\r\nconnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let text = asked("text/plain");
    assert!(
        text.contains("content-type: text/plain; version=0.0.4"),
        "{text}"
    );
    assert!(
        text.contains("# TYPE rialto_commits_total counter"),
        "{text}"
    );
    assert!(!text.contains("# EOF"), "{text}");
    for accept in [
        "*/*",
        "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5",
    ] {
        let text = asked(accept);
        assert!(
            text.contains("content-type: application/openmetrics-text"),
            "{text}"
        );
        assert!(text.contains("# TYPE rialto_commits counter"), "{text}");
    }
}

/// Commands that a document tells people to run: indented lines that begin with `rialto`, and
/// `rialto …` in backquotes; of another program as well.
fn told(document: &str, program: &str) -> Vec<String> {
    let text = handbook::read(document).unwrap();
    let (mut shown, mut prose, mut fenced) = (Vec::new(), String::new(), false);
    for line in text.lines() {
        match (line.trim_start().starts_with("```"), fenced) {
            (true, _) => fenced = !fenced,
            (false, true) => shown.push(line),
            (false, false) => prose.extend([line, "\n"]),
        }
    }
    let blocks = shown.into_iter();
    let spans = prose.split('`').skip(1).step_by(2);
    let named = blocks.chain(spans).map(str::trim);
    named
        .filter(|command| command.starts_with(&format!("{program} ")))
        .map(|command| {
            command
                .split('#')
                .next()
                .unwrap_or(command)
                .trim()
                .to_owned()
        })
        .collect()
}

#[test]
fn every_command_in_the_documents_exists_with_its_options() {
    let known: BTreeSet<Vec<String>> = all().into_iter().collect();
    let mut looked_at = 0;
    for document in DOCUMENTS {
        for line in told(document, "rialto") {
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            // `release plan|apply`, `plan …`: what stands for several commands is looked at as such.
            let first = words.first().copied().unwrap_or_default();
            if !known.contains(&vec![first.to_owned()]) {
                assert!(
                    first.starts_with('-') || first.contains(['…', '|']),
                    "{document}: `{line}`: there is no command `rialto {first}`"
                );
                continue;
            }
            let second = words.get(1).map_or("", |word| *word);
            let longer = vec![first.to_owned(), second.to_owned()];
            let command = if known.contains(&longer) {
                vec![first, second]
            } else {
                vec![first]
            };
            let page = help(&command);
            let options = words.iter().filter_map(|word| word.strip_prefix("--"));
            for option in options {
                let option: String = option
                    .chars()
                    .take_while(|c| c.is_ascii_lowercase() || *c == '-')
                    .collect();
                assert!(
                    page.contains(&format!("--{option}")),
                    "{document}: `{line}`: `rialto {}` has no option `--{option}`",
                    command.join(" ")
                );
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 20, "only {looked_at} commands were found");
}

#[test]
fn every_verb_of_the_project_in_the_documents_exists() {
    let mut command = Command::new(binaries::xtask().unwrap());
    let output = command.arg("--help").output().unwrap();
    let known = commands(&String::from_utf8(output.stdout).unwrap());
    assert!(known.len() > 4, "{known:?}");
    let mut looked_at = 0;
    for document in DOCUMENTS.into_iter().chain(["ARCHITECTURE.md"]) {
        for line in told(document, "cargo xtask") {
            let verb = line.split_whitespace().nth(2).unwrap_or_default();
            assert!(
                verb == "help" || verb == "…" || known.iter().any(|name| name == verb),
                "{document}: `{line}`: there is no verb `{verb}`"
            );
            looked_at += 1;
        }
    }
    assert!(looked_at > 8, "only {looked_at} verbs were found");
}

#[test]
fn every_test_that_a_command_in_documents_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [
        "tests/all",
        "tests/all/grpc",
        "tests/all/grpc/section_e",
        "../simulation/tests",
    ];
    let files = folders.map(|folder| std::fs::read_dir(root.join(folder)).unwrap());
    let files = files.into_iter().flatten();
    let files = files.map(|file| file.unwrap().path());
    let tests = files.filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let tests: String = tests
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let names = tests.lines().filter_map(|line| {
        if let Some(module) = line.strip_prefix("mod ") {
            return module.strip_suffix(';');
        }
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")?.split('(').next()
    });
    let commands = DOCUMENTS.map(|document| told(document, "cargo xtask test"));
    let filters: Vec<&str> = commands
        .iter()
        .flatten()
        .filter_map(|line| line.split_whitespace().nth(3))
        .filter(|filter| !filter.starts_with("--"))
        .collect();
    assert!(filters.len() >= 2, "{filters:?}");
    // The suite beside this one is run by its own name.
    let suite = root.join("../conformance/tests/conformance.rs");
    assert!(suite.is_file(), "{}", suite.display());
    for filter in filters.into_iter().filter(|name| *name != "conformance") {
        assert!(
            names.clone().any(|name| name.contains(filter)),
            "no test is named like `{filter}`"
        );
    }
}
