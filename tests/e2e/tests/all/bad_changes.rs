//! Changes that cannot be: each is refused with a message that says what is wrong, and the release that serves goes on.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;

use rialto_tests::scenes::committed;
use rialto_tests::{TestScheme, World};

const STEP: &str = "[[steps.quote-request-check]]\nrule = \"amount-limits\"\n";
const CANARY: &str = "canary = { rule = \"amount-limits\", to = { hash = \"5 %\" }, hold-back = { failures = 3 } }\n";

/// Makes a scheme's folder one that cannot be.
type Change = fn(&TestScheme);

/// Rewrites the component of the rule `amount-limits`, and pins it.
fn rewrite(scheme: &TestScheme, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let file = scheme.component("amount-limits");
    let bytes = change(fs::read(&file).unwrap());
    fs::write(file, bytes).unwrap();
    scheme.lock().unwrap();
}

/// A component with another version of the contracts of a step.
fn of_version(bytes: &[u8], version: &str) -> Vec<u8> {
    let (old, new) = (
        "rialto:rules/transfer-prepare-check@0.1.0",
        format!("rialto:rules/transfer-prepare-check@{version}"),
    );
    assert_eq!(old.len(), new.len());
    let mut bytes = bytes.to_vec();
    let found: Vec<usize> = (0..bytes.len() - old.len())
        .filter(|at| bytes[*at..].starts_with(old.as_bytes()))
        .collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
    bytes
}

/// Each with words of its message.
const CHANGES: [(&str, Change, &[&str]); 6] = [
    (
        "a component of 200 MB",
        |scheme| {
            let file = fs::File::options()
                .write(true)
                .open(scheme.component("amount-limits"));
            file.unwrap().set_len(200_000_000).unwrap();
        },
        &["amount-limits.wasm", "longer than 64 MiB"],
    ),
    (
        "a component whose contracts are of the future",
        |scheme| rewrite(scheme, |bytes| of_version(&bytes, "9.1.0")),
        &[
            "`amount-limits` is built for 9.1.0",
            "0.2.0 is the newest that is known",
        ],
    ),
    (
        "two canaries on one rule",
        |scheme| {
            let twice = format!("{STEP}{CANARY}{CANARY}");
            scheme.edit(STEP, &twice).unwrap();
        },
        &["duplicate key", "canary"],
    ),
    (
        "a canary beside a shadow",
        |scheme| {
            let shadow = "shadow = { rule = \"amount-limits\", cpu = \"10 %\" }\n";
            let both = format!("{STEP}{CANARY}{shadow}");
            scheme.edit(STEP, &both).unwrap();
        },
        &["amount-limits", "canary", "shadow"],
    ),
    (
        "a date that has passed",
        |scheme| {
            let with = format!("{STEP}effective-from = \"2020-01-01T00:00:00Z\"\n");
            scheme.edit(STEP, &with).unwrap();
        },
        &["effective-from = \"2020-01-01T00:00:00Z\"", "has passed"],
    ),
    (
        "settings that do not fit",
        |scheme| {
            let wrong = |text: String| text.replace("\"10000\"", "\"ten\"");
            scheme.edit_with(wrong).unwrap();
        },
        &["amount-limits", "maximum", "ten"],
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_that_cannot_be_is_refused_and_the_release_serves_on() {
    let world = World::demo().await.unwrap();
    let before = world.host.cli(&["release", "list"]).unwrap();
    let before = before.success().unwrap();
    for (what, change, words) in CHANGES {
        let folder = world.scheme.twin().unwrap();
        change(&folder);
        let folder = folder.path().to_str().unwrap();
        for verb in ["plan", "apply"] {
            let said = world.host.cli(&["release", verb, folder]).unwrap();
            assert_ne!(said.code, 0, "{what}: {said}");
            for word in words {
                assert!(said.stderr.contains(word), "{what}: {word}: {said}");
            }
        }
        let after = world.host.cli(&["release", "list"]).unwrap();
        assert_eq!(after.success().unwrap(), before, "{what}");
        committed(&world.pay("1", "USD").await).unwrap();
    }
    world.no_complaints().unwrap();
}
