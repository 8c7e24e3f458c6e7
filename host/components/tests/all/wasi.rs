//! WASI gives a component no access to the machine. A rule's clock and randomness depend only on its input. A
//! context's are its turn's and need grants. Nothing waits.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::world::{PREPARE, Ready, World, asker, at, built, problems, release, rule};
use rialto_components::rules::{NoVerdict, Outcome};
use rialto_components::wiring::Problem;
use rialto_components::{ComponentSpec, Digest, Failing, FailureKind, ReleaseSpec};

const WAITS: &str = "`asker` called wasi:clocks/monotonic-clock.subscribe-duration, and nothing in a turn waits; what must happen later is a reminder (rialto:host/scheduling)";

/// The guest as a rule that does this, asked by a context.
fn as_rule(order: &str) -> ReleaseSpec {
    let settings = format!(r#"{{"do":"{order}"}}"#);
    let steps = vec![at(PREPARE, "wasi-guest", &settings, Failing::Refuse)];
    release(vec![asker(), rule("wasi-guest")], steps)
}

/// The guest as the context that serves orders, granted what it can be.
fn as_context() -> ComponentSpec {
    let bytes = built("wasi-guest");
    let mut context = ComponentSpec {
        digest: Digest::of(&bytes),
        bytes,
        ..asker()
    };
    context.grants.host = ["configuration", "logging", "clock", "random"]
        .map(str::to_owned)
        .to_vec();
    context
}

/// What the rule says about an amount.
fn says(order: &str, units: u64) -> String {
    match Ready::new(&as_rule(order)).ask_about(0, units).outcome {
        Ok(Outcome::Refuse { violations }) => violations[0].message.clone(),
        other => panic!("`{order}` gave {other:?}"),
    }
}

#[test]
fn a_rule_reads_the_epoch_and_bytes_of_its_input() {
    assert_eq!(says("now", 100), "0 0");
    for order in ["random", "seed"] {
        let first = says(order, 100);
        assert_eq!(says(order, 100), first, "the same input, another host");
        assert_ne!(says(order, 101), first, "another input");
    }
    assert_eq!(says("environment", 100), "0 0");
    assert_eq!(says("read", 100), "0 bytes");
    assert_eq!(says("write", 100), "true true");
}

#[test]
fn a_rule_that_would_wait_or_exits_fails_at_once() {
    let slept = Ready::new(&as_rule("sleep")).ask(0).outcome;
    let waits = WAITS.replace("asker", "wasi-guest");
    assert_eq!(slept, Err(NoVerdict::Failed(FailureKind::Trap, waits)));
    let ended = Ready::new(&as_rule("exit")).ask(0).outcome;
    assert!(
        matches!(ended, Err(NoVerdict::Failed(FailureKind::Trap, _))),
        "{ended:?}"
    );
}

#[test]
fn a_context_reads_its_turns_instant_and_engine_randomness() {
    let world = World::new(&release(vec![as_context()], Vec::new()), 16);
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let before = clock().as_millis();
    let said = world.order("now").unwrap();
    let after = clock().as_millis();
    let (now, passed) = said.split_once(' ').unwrap();
    let now: u128 = now.parse().unwrap();
    assert!((before..=after).contains(&now), "{before} {now} {after}");
    assert_eq!(passed, "0", "the instant is the same for the whole turn");
    for order in ["random", "seed"] {
        let first = world.order(order).unwrap();
        assert_ne!(world.order(order).unwrap(), first, "{order}");
    }
    assert_eq!(world.order("environment").unwrap(), "0 0");
    assert_eq!(world.order("read").unwrap(), "0 bytes");
    assert_eq!(world.order("write").unwrap(), "true true");
}

#[test]
fn a_context_that_would_wait_fails_at_once() {
    let world = World::new(&release(vec![as_context()], Vec::new()), 16);
    assert_eq!(world.failure("sleep"), ("asker".into(), WAITS.into()));
    assert_eq!(world.order("environment").unwrap(), "0 0");
}

const PANIC: &str =
    "trapped: thread 'main' (1) panicked at src/lib.rs:7:9: division by zero, in the third share";
const TRAP: &str =
    "trapped: it reached code that it calls unreachable (a panic, in most languages)";

#[test]
fn a_panic_without_the_sdk_is_the_failures_reason() {
    let world = World::new(&release(vec![as_context()], Vec::new()), 16);
    // An instance is kept after a call that went well, and what it said in that one is forgotten.
    assert_eq!(world.order("mutter").unwrap(), "muttered");
    assert_eq!(world.failure("trap"), ("asker".into(), TRAP.into()));
    assert_eq!(world.failure("panic"), ("asker".into(), PANIC.into()));
    let gave_up = "ended itself: no third share";
    assert_eq!(world.failure("give-up"), ("asker".into(), gave_up.into()));
}

#[test]
fn a_panic_without_the_sdk_is_in_the_receipt() {
    let panicked = Ready::new(&as_rule("panic")).ask(0).outcome;
    assert_eq!(
        panicked,
        Err(NoVerdict::Failed(FailureKind::Trap, PANIC.to_owned()))
    );
}

/// What a problem of the asker says.
fn not_granted(interface: &str, grant: &str) -> String {
    let help =
        format!("add \"{grant}\" to its `grants.host`, or use a component without this import");
    format!("asker: imports wasi:{interface}@0.2.0 and is not granted it\n  help: {help}")
}

fn said(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(Problem::to_string).collect()
}

/// The twin of each grant: the same context without it.
#[test]
fn wasi_clock_and_randomness_need_the_hosts_grants() {
    let _ready = Ready::new(&release(vec![as_context()], Vec::new()));
    let without = |surface: &str| {
        let mut context = as_context();
        context.grants.host.retain(|grant| grant != surface);
        said(&problems(&release(vec![context], Vec::new())))
    };
    assert_eq!(
        without("clock"),
        [
            not_granted("clocks/monotonic-clock", "clock"),
            not_granted("clocks/wall-clock", "clock"),
        ]
    );
    assert_eq!(
        without("random"),
        [
            not_granted("random/insecure-seed", "random"),
            not_granted("random/random", "random"),
        ]
    );
}

#[test]
fn what_of_wasi_would_give_something_cannot_be_imported() {
    for interface in [
        "wasi:sockets/instance-network@0.2.0",
        "wasi:http/outgoing-handler@0.2.0",
        "wasi:cli/stdout@0.3.0",
    ] {
        let text = format!(r#"(component (import "{interface}" (instance (export "f" (func)))))"#);
        let bytes: Arc<[u8]> = wat::parse_str(text).unwrap().into();
        let mut context = as_context();
        context.digest = Digest::of(&bytes);
        context.bytes = bytes;
        context.listener = None;
        let help = "of WASI there are cli, clocks, filesystem, io and random, in their versions 0.2; a context sends requests with `rialto:host/http`";
        let expected =
            format!("asker: imports {interface}, which this host does not have\n  help: {help}");
        let found = problems(&release(vec![context], Vec::new()));
        assert_eq!(said(&found), [expected]);
    }
}
