//! Operators at their terminals: `rialto participant`, `funds`, `settlement` and `approve`, with what is refused.
//! `docs/operators.md` has the way through that goes well, which `documents.rs` walks.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::{CliOutput, RunningHost, TestScheme};
use serde_json::Value;

const WHY: [&str; 2] = ["--reason", "as agreed"];

fn by(host: &RunningHost, who: &str, command: &[&str]) -> CliOutput {
    host.cli(&[command, &["--as", who]].concat()).unwrap()
}

/// Anna asks for something. Returns the request's id, the command's only output.
fn asked(host: &RunningHost, command: &[&str]) -> String {
    let output = by(host, "anna", &[command, &WHY].concat());
    assert!(output.stderr.contains("rialto approve"), "{output}");
    let text = output.success().unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    text.trim().to_owned()
}

fn json(output: CliOutput) -> Value {
    serde_json::from_str(&output.success().unwrap()).unwrap()
}

/// Green is in, with an account in dollars.
fn with_green() -> (TestScheme, RunningHost) {
    let scheme = TestScheme::made("empty").unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let add = [
        "participant",
        "add",
        "greenfsp",
        "--name",
        "Green",
        "--callback",
        "http://127.0.0.1:9",
        "--account",
        "USD,cap=5000",
    ];
    let request = asked(&host, &add);
    by(&host, "ben", &["approve", &request]).success().unwrap();
    (scheme, host)
}

#[test]
fn nobody_approves_at_a_terminal_what_they_asked_for() {
    let (_scheme, host) = with_green();
    let deposit = [
        "funds",
        "deposit",
        "greenfsp",
        "USD",
        "100",
        "--reference",
        "B1",
    ];
    let request = asked(&host, &deposit);

    // Anna has not the role; and it goes on waiting.
    let own = by(&host, "anna", &["approve", &request]);
    assert_eq!((own.code, own.stdout.as_str()), (1, ""), "{own}");
    let waiting = by(&host, "ben", &["approve"]).success().unwrap();
    assert_eq!(waiting.lines().count(), 1, "{waiting}");
    for words in [
        &*request,
        "by anna",
        "deposit of 100 USD for greenfsp B1",
        "as agreed",
    ] {
        assert!(waiting.contains(words), "{waiting}");
    }

    let rejected = [
        "approve",
        &*request,
        "--reject",
        "--note",
        "the bank knows nothing",
    ];
    let said = by(&host, "ben", &rejected).success().unwrap();
    assert!(said.starts_with("REJECTED"), "{said}");
    let again = by(&host, "ben", &["approve", &request]);
    assert_eq!(again.code, 1, "{again}");
    let funds = json(by(&host, "ben", &["funds", "show", "greenfsp", "--json"]));
    assert_eq!(funds["accounts"][0]["available"]["amount"], "0", "{funds}");
}

#[test]
fn every_kind_of_change_works_at_a_terminal() {
    let (_scheme, host) = with_green();
    let done = |command: &[&str]| {
        let request = asked(&host, command);
        let said = by(&host, "ben", &["approve", &request]);
        let said = said.success().unwrap();
        assert!(said.starts_with("APPROVED"), "{command:?}: {said}");
    };
    done(&[
        "funds",
        "deposit",
        "greenfsp",
        "USD",
        "1000",
        "--reference",
        "B1",
    ]);
    done(&["funds", "withdraw", "greenfsp", "USD", "200"]);
    done(&["funds", "reserve", "greenfsp", "USD", "25%"]);
    done(&["funds", "reserve", "greenfsp", "USD", "50"]);
    done(&["participant", "limit", "greenfsp", "USD", "none"]);
    done(&["participant", "threshold", "greenfsp", "USD", "10"]);
    done(&["participant", "account", "greenfsp", "RWF,cap=7"]);
    done(&[
        "participant",
        "account-status",
        "greenfsp",
        "RWF",
        "disabled",
    ]);
    done(&["participant", "disable", "greenfsp"]);
    done(&["participant", "enable", "greenfsp"]);

    let shown = json(by(
        &host,
        "anna",
        &["participant", "show", "greenfsp", "--json"],
    ));
    let accounts = shown["accounts"].as_array().unwrap();
    let account = |currency: &str| {
        let found = accounts
            .iter()
            .find(|account| account["currency"] == currency);
        found.unwrap_or_else(|| panic!("no {currency}: {shown}"))
    };
    assert!(account("USD").get("limit").is_none(), "{shown}");
    assert_eq!(account("USD")["threshold"]["amount"], "10", "{shown}");
    assert_eq!(account("RWF")["status"], "DISABLED", "{shown}");
    let funds = json(by(&host, "anna", &["funds", "show", "greenfsp", "--json"]));
    let mut accounts = funds["accounts"].as_array().unwrap().iter();
    let usd = accounts
        .find(|account| account["accountId"] == "USD")
        .unwrap();
    assert_eq!(usd["available"]["amount"], "750", "{funds}");
    assert_eq!(usd["liquidityCover"]["amount"], "50", "{funds}");

    // Also as tables: ids first, and each line of the history with its operator.
    let listed = by(&host, "anna", &["participant", "list"])
        .success()
        .unwrap();
    assert!(listed.starts_with("greenfsp "), "{listed}");
    let changes = by(&host, "anna", &["participant", "changes", "greenfsp"]);
    let changes = changes.success().unwrap();
    assert_eq!(
        changes.matches("anna, decided by ben").count(),
        11,
        "{changes}"
    );
}

#[test]
fn refusals_are_shown_at_the_terminal_and_change_nothing() {
    let (_scheme, host) = with_green();
    for command in [
        &["funds", "withdraw", "greenfsp", "USD", "1"][..],
        &["funds", "deposit", "greenfsp", "EUR", "1"],
        &["funds", "deposit", "greenfsp", "USD", "1.234"],
        &["funds", "deposit", "greenfsp", "USD", "much"],
        &["funds", "deposit", "redfsp", "USD", "1"],
        &["participant", "limit", "greenfsp", "USD", "5000"],
        &["settlement", "settle", "NOTHING-1"],
        &["settlement", "complete", "nothing"],
    ] {
        let refused = by(&host, "anna", &[command, &WHY].concat());
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (1, ""),
            "{command:?}: {refused}"
        );
        assert!(refused.stderr.starts_with("error: "), "{refused}");
    }
    let waiting = by(&host, "ben", &["approve"]);
    assert!(waiting.stderr.contains("no request waits"), "{waiting}");
    for command in [
        &["participant", "show", "../releases"][..],
        &["funds", "deposit", "greenfsp", "USD", "1"],
        &[
            "participant",
            "account",
            "greenfsp",
            "USD,limit=5",
            "--reason",
            "x",
        ],
    ] {
        let refused = by(&host, "anna", command);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (2, ""),
            "{command:?}: {refused}"
        );
    }
}
