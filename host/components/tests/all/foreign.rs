//! A rule that another project's tool built, without Rialto's SDK, works like any other rule.
//!
//! `cargo xtask test --foreign` builds it with cargo-component, which takes minutes to install: so
//! `cargo xtask test` leaves it out.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::path::Path;
use std::sync::Arc;

use crate::world::{PREPARE, Ready, World, asker, at, problems, release, rule_of, wide};
use rialto_components::rules::{Outcome, Violation};
use rialto_components::{Failing, ReleaseSpec};

const WHOLE_DOLLARS: &str = r#"{"currencies":["RWF","USD"]}"#;

/// The rule at the step for transfers.
fn with(settings: &str) -> ReleaseSpec {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/foreign/whole-amounts.wasm");
    let bytes = std::fs::read(&path);
    let bytes = bytes
        .unwrap_or_else(|e| panic!("{}: {e}: run `cargo xtask test --foreign`", path.display()));
    let rule = rule_of("whole-amounts", Arc::from(bytes), wide());
    let steps = vec![at(PREPARE, "whole-amounts", settings, Failing::Refuse)];
    release(vec![asker(), rule], steps)
}

#[test]
#[ignore = "needs a component of cargo-component's: `cargo xtask test --foreign`"]
fn it_describes_itself_and_sees_nothing_of_the_machine() {
    let ready = Ready::new(&with(WHOLE_DOLLARS));
    let member = ready.member("whole-amounts").unwrap();
    let described = member.description.as_ref().unwrap();
    assert_eq!(described.name, "whole-amounts");
    let imports: Vec<String> = member
        .shape
        .imports
        .iter()
        .map(|i| i.name.to_string())
        .collect();
    let wasi = imports.iter().filter(|name| name.starts_with("wasi:"));
    assert!(
        wasi.count() > 0,
        "its tool makes components that import WASI: {imports:?}"
    );
    let none = |settings| format!("{:?}", problems(&with(settings)));
    assert!(none("{}").contains("settings/currencies: This must be a list of currencies."));
    assert!(none(r#"{"currencies":[1]}"#).contains("A currency must be a text."));
}

#[test]
#[ignore = "needs a component of cargo-component's: `cargo xtask test --foreign`"]
fn the_same_input_gets_the_same_verdict_and_fuel() {
    let refusal = Outcome::Refuse {
        violations: vec![Violation {
            code: "3100".to_owned(),
            message: "amounts in USD have no decimals".to_owned(),
        }],
    };
    for (units, expected) in [(100, Outcome::Allow), (101, refusal)] {
        // Its hash set has random keys: they are another host's, too.
        let asked = (0..3).flat_map(|_| {
            let ready = Ready::new(&with(WHOLE_DOLLARS));
            [ready.ask_about(0, units), ready.ask_about(0, units)]
        });
        let asked: Vec<_> = asked.collect();
        assert!(asked.iter().all(|a| a.outcome.as_ref() == Ok(&expected)));
        assert!(asked.iter().all(|a| a.fuel == asked[0].fuel));
    }
    let free = Ready::new(&with(r#"{"currencies":["RWF"]}"#));
    assert_eq!(free.ask_about(0, 101).outcome, Ok(Outcome::Allow));
}

#[test]
#[ignore = "needs a component of cargo-component's: `cargo xtask test --foreign`"]
fn it_is_asked_in_a_turn_and_leaves_its_receipt() {
    let world = World::new(&with(WHOLE_DOLLARS), 32);
    assert_eq!(world.order("prepare 200").unwrap(), "allow");
    let refused = "refuse 3100 amounts in USD have no decimals";
    assert_eq!(world.order("prepare 201").unwrap(), refused);
    let receipts = world.receipts();
    assert_eq!(receipts.len(), 2, "{receipts:?}");
    assert!(receipts.iter().all(|r| &*r.rule == "whole-amounts"));
}
