//! The demonstration: one payment, for programs and for people.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use rialto_tests::binaries::rialto_demo;
use rialto_tests::handbook::{blocks, read};
use rialto_tests::{CliOutput, TestScheme, binaries};
use serde_json::Value;

const CONTEXTS: [&str; 9] = [
    "fsp-interop-api",
    "account-lookup",
    "quoting",
    "transfers",
    "settlements",
    "accounts-and-balances",
    "participant-lifecycle-management",
    "notifications-and-alerts",
    "scheduling",
];

/// The demonstration of a scheme, with a store that has compiled components already.
fn on<'a>(scheme: &TestScheme, command: &'a mut Command) -> &'a mut Command {
    command
        .arg(scheme.path())
        .arg("--state")
        .arg(scheme.state())
}

fn demo(options: &[&str]) -> CliOutput {
    let scheme = TestScheme::demo().unwrap();
    let output = CliOutput::of(rialto_demo().unwrap(), |command| {
        on(&scheme, command).args(options);
    });
    let output = output.unwrap();
    assert_eq!(output.code, 0, "{output}");
    output
}

#[test]
fn the_demonstration_as_json_ends_with_a_committed_transfer() {
    let output = demo(&["--json"]);
    let lines: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in `{line}`")))
        .collect();
    let last = lines.last().unwrap();
    assert_eq!(last["transferState"], "COMMITTED", "{last}");
    let ledger = |name: &str| {
        let found = lines.iter().find_map(|line| line.get(name));
        found
            .unwrap_or_else(|| panic!("no line has {name}"))
            .clone()
    };
    let (before, after) = (ledger("ledgerBefore"), ledger("ledgerAfter"));
    let balance = |ledger: &Value, account: &str| -> i128 {
        let side =
            |side: &str| -> i128 { ledger[account][side].as_str().unwrap().parse().unwrap() };
        side("credits") - side("debits")
    };
    let moved = |account: &str| balance(&after, account) - balance(&before, account);
    assert_eq!(moved("payerfsp:USD:LIQUIDITY"), -1250);
    assert_eq!(moved("payerfsp:USD:POSITION"), 0);
    assert_eq!(moved("payeefsp:USD:LIQUIDITY"), 1250);
}

#[test]
fn secure_demonstration_pays_with_certificates_and_signatures() {
    let output = demo(&["--secure", "--json"]);
    let lines = output.stdout.lines();
    let lines: Vec<Value> = lines.map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["transferState"], "COMMITTED");
    // Three pairs of keys: for access tokens, the hub's messages, and the audit log.
    let token = lines.iter().find(|line| line.get("token").is_some());
    assert_eq!(token.unwrap()["token"]["objects"], 6);
    let audit = lines.iter().find_map(|line| line.get("audit")).unwrap();
    assert_eq!(audit["findings"], serde_json::json!([]), "{audit}");
    let attacks = audit["attacks"].as_array().unwrap();
    for (attack, found) in attacks
        .iter()
        .zip(["was changed", "is missing", "was moved"])
    {
        let findings = attack["findings"].as_array().unwrap();
        let finds = |finding: &Value| finding.as_str().is_some_and(|text| text.contains(found));
        assert!(findings.iter().any(finds), "{attack}");
    }
    assert_eq!(attacks.len(), 3);
    let sent = |method: &str, from: &str| {
        let found = lines
            .iter()
            .filter(|line| line["message"]["method"] == method && line["from"] == from);
        found.collect::<Vec<_>>()
    };
    for from in ["payerfsp", "hub"] {
        let posts = sent("POST", from);
        assert_eq!(posts.len(), 2, "{posts:?}");
        for post in posts {
            let signature = &post["message"]["headers"]["fspiop-signature"];
            assert!(signature.is_string(), "{post}");
        }
    }
    let all = output.stdout.matches("https://127.0.0.1").count();
    assert!(
        all > 0 && !output.stdout.contains("http://127.0.0.1"),
        "{all}"
    );
    assert!(!output.stderr.contains("SANDBOX"), "{output}");
}

#[test]
fn demonstration_shows_every_context_and_the_ledger() {
    let text = demo(&[]).stdout;
    for context in CONTEXTS {
        assert!(
            text.contains(context),
            "{context} is not in the story:\n{text}"
        );
    }
    let ledger = text.split("The ledger, before and after").nth(1);
    let ledger = ledger.unwrap_or_else(|| panic!("no ledger in the story:\n{text}"));
    for (account, change) in [
        ("payerfsp:USD:LIQUIDITY", "-1250"),
        ("payeefsp:USD:LIQUIDITY", "+1250"),
    ] {
        let row = ledger.lines().find(|line| line.contains(account));
        assert!(
            row.is_some_and(|row| row.trim_end().ends_with(change)),
            "{account}: {row:?}"
        );
    }
}

/// A story that `rialto-demo schemes/demo --json` has written: no two runs are the same.
const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../demo/one-payment.jsonl");

/// The longest line of a text, in characters.
fn widest(text: &str) -> usize {
    let lines = text.lines().map(|line| line.chars().count());
    lines.max().unwrap_or(0)
}

#[test]
fn a_story_fits_into_80_and_into_120_columns() {
    for columns in ["80", "120"] {
        let told = CliOutput::of(rialto_demo().unwrap(), |command| {
            let command = command.args(["schemes/demo", "--columns", columns]);
            command.args(["--again", RECORDED]);
        });
        let text = told.unwrap().success().unwrap();
        assert!(widest(&text) <= columns.parse().unwrap(), "{text}");
        insta::assert_snapshot!(format!("a_story_in_{columns}_columns"), text);
    }
}

#[test]
fn recorded_story_is_the_same_json_again() {
    let again = CliOutput::of(rialto_demo().unwrap(), |command| {
        command.args(["schemes/demo", "--json", "--again", RECORDED]);
    });
    let again = again.unwrap().success().unwrap();
    let recorded = std::fs::read_to_string(RECORDED).unwrap();
    let lines = |text: &str| -> Vec<Value> {
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    };
    assert_eq!(lines(&again), lines(&recorded));
}

/// The sequence diagram of the README.
fn diagram_of_the_readme() -> String {
    let blocks = blocks(&read("README.md").unwrap()).unwrap();
    let mut texts = blocks.into_iter().map(|block| block.text);
    texts
        .find(|text| text.starts_with("sequenceDiagram\n"))
        .unwrap()
}

#[test]
fn the_diagram_of_the_readme_is_of_the_recorded_run() {
    let drawn = CliOutput::of(rialto_demo().unwrap(), |command| {
        command.args(["schemes/demo", "--mermaid", "--again", RECORDED]);
    });
    let drawn = drawn.unwrap().success().unwrap();
    assert_eq!(drawn, diagram_of_the_readme());
}

#[test]
fn the_diagram_of_the_readme_is_of_a_new_run() {
    let drawn = demo(&["--mermaid"]).stdout;
    assert_eq!(drawn, diagram_of_the_readme());
}

#[test]
fn the_diagram_of_a_refused_payment_ends_with_the_refusal() {
    let scheme = TestScheme::demo().unwrap();
    let output = CliOutput::of(rialto_demo().unwrap(), |command| {
        on(&scheme, command).args(["--mermaid", "--amount", "10001"]);
    });
    let output = output.unwrap();
    assert_ne!(output.code, 0, "{output}");
    let drawn = &output.stdout;
    assert!(
        drawn.contains("rule amount-limits: refuse 4200"),
        "{output}"
    );
    let last = drawn.lines().last().unwrap_or_default();
    let refusal = "->>payerfsp: PUT /quotes/{quoteId}/error (200)";
    assert!(last.ends_with(refusal), "{output}");
    assert!(!drawn.contains("/transfers"), "{output}");
}

#[test]
fn a_real_story_fits_and_says_what_to_try_next() {
    let text = demo(&["--columns", "80"]).stdout;
    assert!(widest(&text) <= 80, "{text}");
    let (_, ledger) = text.split_once("The ledger, before and after").unwrap();
    // What has not changed is counted, not listed.
    assert!(!ledger.contains("payerfsp:RWF:LIQUIDITY"), "{ledger}");
    assert!(
        ledger.contains("accounts that have not changed"),
        "{ledger}"
    );
    let (_, next) = text.split_once("What to try next").unwrap();
    assert!(next.contains("cargo xtask demo --keep"), "{next}");
}

#[test]
fn the_demonstration_says_what_it_does_before_it_reads_anything() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = folder.path().join("nothing");
    let output = CliOutput::of(rialto_demo().unwrap(), |command| {
        command.arg(&nothing);
    });
    let output = output.unwrap();
    assert_ne!(output.code, 0, "{output}");
    let mut said = output.stderr.lines();
    let first = said.next().unwrap();
    assert!(
        first.starts_with("one payment of 12.5 in the scheme "),
        "{output}"
    );
    assert!(said.any(|line| line.contains("cannot be run")), "{output}");
}

/// A demonstration that runs on; it ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A demonstration that is kept, and the lines that it prints until one that is the last.
fn kept(options: &[&str], last: impl Fn(&str) -> bool) -> (Running, TestScheme, Vec<String>) {
    let scheme = TestScheme::demo().unwrap();
    let mut command = Command::new(rialto_demo().unwrap());
    let child = on(&scheme, &mut command)
        .arg("--keep")
        .args(options)
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .spawn();
    let mut running = Running(child.unwrap());
    let out = running.0.stdout.take().unwrap();
    let mut lines = Vec::new();
    for line in BufReader::new(out).lines() {
        lines.push(line.unwrap());
        if last(&lines[lines.len() - 1]) {
            return (running, scheme, lines);
        }
    }
    panic!("the demonstration ended before its last line: {lines:#?}");
}

/// Whether this base address accepts connections.
fn answers(url: &str) -> bool {
    TcpStream::connect(url.trim_start_matches("http://").trim_end_matches('/')).is_ok()
}

#[test]
fn kept_demonstration_names_host_and_fsps_which_answer() {
    let (_running, scheme, lines) = kept(&[], |line| line == "stop with Ctrl-C");
    for name in ["fsps", "operators", "payerfsp", "payeefsp"] {
        let prefix = format!("{name:<12} http://");
        let line = lines.iter().find(|line| line.starts_with(&prefix));
        let line = line.unwrap_or_else(|| panic!("{name} is not named: {lines:#?}"));
        let url = line.split_whitespace().nth(1).unwrap();
        assert!(answers(url), "nobody is at {url}");
        if let Some(port) = scheme.callbacks().get(name) {
            assert!(url.contains(&format!(":{port}")), "{url}");
        }
    }
}

#[test]
fn commands_of_a_kept_secure_demonstration_work() {
    let (_running, _scheme, lines) = kept(&["--secure"], |line| line == "stop with Ctrl-C");
    let command = |begin: &str| {
        let found = lines.iter().map(|line| line.trim());
        let mut found = found.filter(|line| line.starts_with(begin));
        found
            .next()
            .unwrap_or_else(|| panic!("{begin}: {lines:#?}"))
    };
    let script = format!(
        "set -e\n{}\nrialto release list\n{}\n",
        command("export PATH"),
        command("curl -si")
    );
    let said = Command::new("sh").args(["-c", &script]).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success(), "{script}\n{said:?}");
    assert!(text.contains("current"), "{text}");
    assert!(text.contains("HTTP/1.1 202"), "{text}");
    // The same message in another's name.
    let other = script.replace("fspiop-source: payerfsp", "fspiop-source: payeefsp");
    let said = Command::new("sh").args(["-c", &other]).output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(
        text.contains("HTTP/1.1 400") && text.contains("3100"),
        "{text}"
    );
}

#[test]
fn kept_demonstration_as_json_ends_with_the_outcome() {
    let (mut running, _scheme, lines) = kept(&["--json"], |line| {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(line.is_object(), "{line}");
        line.get("transferState").is_some()
    });
    let last: Value = serde_json::from_str(&lines[lines.len() - 1]).unwrap();
    assert_eq!(last["transferState"], "COMMITTED", "{last}");
    let before: Value = serde_json::from_str(&lines[lines.len() - 2]).unwrap();
    for group in ["listeners", "fsps"] {
        let urls = before["kept"][group].as_object().unwrap();
        assert_eq!(urls.len(), 2, "{before}");
        assert!(urls.values().all(|url| answers(url.as_str().unwrap())));
    }
    assert!(running.0.try_wait().unwrap().is_none(), "it runs on");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_demonstration_quietly() {
    let scheme = TestScheme::demo().unwrap();
    let mut command = Command::new(rialto_demo().unwrap());
    let mut child = on(&scheme, &mut command)
        .arg("--json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut errors = String::new();
    let mut stderr = child.stderr.take().unwrap();
    stderr.read_to_string(&mut errors).unwrap();
    assert!(child.wait().unwrap().success(), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
}

#[test]
fn demonstration_of_several_hosts_pays_before_and_after_a_kill() {
    let scheme = TestScheme::demo().unwrap();
    let output = CliOutput::of(rialto_demo().unwrap(), |command| {
        command
            .arg(scheme.path())
            .args(["--cluster", "--json"])
            .env("RIALTO_NATS_SERVER", binaries::nats_server());
    });
    let output = output.unwrap();
    assert_eq!(output.code, 0, "{output}");
    let lines = output.stdout.lines();
    let lines: Vec<Value> = lines.map(|l| serde_json::from_str(l).unwrap()).collect();
    let [hosts, first, killed, second, last] = &lines[..] else {
        panic!("{output}");
    };
    assert_eq!(hosts["hosts"].as_array().unwrap().len(), 3, "{hosts}");
    let place = |line: &Value, name: &str| line[name].as_str().unwrap().to_owned();
    assert_eq!(place(first, "sentTo"), "host-2");
    assert_eq!(place(first, "servedBy"), "host-1");
    assert_eq!(place(killed, "killed"), "host-1");
    assert_ne!(place(second, "servedBy"), "host-1");
    assert_eq!(place(second, "servedBy"), place(killed, "takenOverBy"));
    assert!(last["eventsAtNats"].as_u64().unwrap() > 0, "{last}");
    assert_eq!(last["transfers"].as_array().unwrap().len(), 2, "{last}");
    assert_eq!(last["transferState"], "COMMITTED", "{last}");
}
