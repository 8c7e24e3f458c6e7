//! The demonstration: one payment, told for programs and for people.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_tests::binaries::rialto_demo;
use rialto_tests::{CliOutput, TestScheme};
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

fn demo(options: &[&str]) -> CliOutput {
    let scheme = TestScheme::demo().unwrap();
    let output = CliOutput::of(rialto_demo().unwrap(), |command| {
        command.arg(scheme.path()).args(options);
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
fn the_demonstration_tells_people_of_every_context_and_of_the_ledger() {
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
