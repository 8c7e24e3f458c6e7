//! The last good release of a rule decides when the rule fails.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::sync::Arc;

use crate::world::{
    FAILURE_CODE, ManualClock, PREPARE, QUOTE, World, asker, at, hostile, release, rule, transfer,
};
use rialto_components::last_good::NotGood;
use rialto_components::rules::{Outcome, Receipt};
use rialto_components::{Failing, FailureKind, QuarantineTerms, Release, ReleaseSpec, StepSpec};
use serde_json::Value;

/// A rule of release 2 that traps, and whose failures mean that the last good release decides.
fn trapping(quarantine: Option<QuarantineTerms>) -> ReleaseSpec {
    let step = StepSpec {
        quarantine,
        ..hostile("trap", Failing::LastGood)
    };
    let mut spec = release(vec![asker(), rule("hostile-rule")], vec![step]);
    spec.number = 2;
    spec
}

/// The rule of release 1 alone, with other steps.
fn earlier(world: &World, steps: Vec<StepSpec>) -> Release {
    let spec = release(vec![rule("hostile-rule")], steps).rules_alone();
    let prepared = world.runtime().prepare(&spec);
    prepared.unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// A world in which the rule of release 1 that behaves so is the last good one.
fn world(behaviour: &str, quarantine: Option<QuarantineTerms>) -> World {
    let clock = Arc::new(ManualClock::default());
    let world = World::at(&trapping(quarantine), 16, &clock);
    let good = earlier(&world, vec![hostile(behaviour, Failing::Refuse)]);
    let current = world.runtime().current().unwrap();
    current.set_last_good(PREPARE, 0, good).unwrap();
    world
}

fn means(receipt: &Receipt) -> Option<Failing> {
    match receipt.verdict {
        Outcome::Failed { means, .. } => Some(means),
        _ => None,
    }
}

fn could_not() -> String {
    format!("refuse {FAILURE_CODE} the scheme rule hostile-rule could not be evaluated")
}

#[test]
fn last_good_release_decides_when_the_rule_fails() {
    for behaviour in ["allow", "refuse"] {
        let world = world(behaviour, None);
        let answer = world.order("prepare 1").unwrap();
        assert!(answer.starts_with(behaviour), "{answer}");
        assert!(!answer.contains(FAILURE_CODE), "{answer}");
        let receipts = world.receipts();
        let [failed, decided] = &receipts[..] else {
            panic!("{receipts:?}")
        };
        assert_eq!(means(failed), Some(Failing::LastGood));
        assert_eq!((failed.release, failed.last_good_for), (2, None));
        assert_eq!(means(decided), None);
        assert_eq!((decided.release, decided.last_good_for), (1, Some(2)));
        assert_ne!(failed.settings_digest, decided.settings_digest);
        assert!(!failed.flagged && !decided.flagged && decided.fuel > 0);
    }
}

#[test]
fn request_is_refused_if_the_last_good_release_fails_too() {
    let world = world("loop", None);
    assert_eq!(world.order("prepare 1").unwrap(), could_not());
    let receipts = world.receipts();
    let all: Vec<_> = receipts.iter().map(means).collect();
    assert_eq!(all, [Some(Failing::LastGood), Some(Failing::Refuse)]);
}

#[test]
fn request_is_refused_without_a_last_good_release() {
    let clock = Arc::new(ManualClock::default());
    let world = World::at(&trapping(None), 16, &clock);
    assert_eq!(world.order("prepare 1").unwrap(), could_not());
    let receipts = world.receipts();
    let all: Vec<_> = receipts.iter().map(means).collect();
    assert_eq!(all, [Some(Failing::Refuse)]);
}

#[test]
fn last_good_release_decides_in_quarantine() {
    let terms = QuarantineTerms {
        failures: 1,
        pause_ms: 1_000,
        longest_ms: 1_000,
    };
    let world = world("allow", Some(terms));
    for _ in 0..2 {
        assert_eq!(world.order("prepare 1").unwrap(), "allow");
    }
    let receipts = world.receipts();
    let told: Vec<_> = receipts
        .iter()
        .map(|one| (one.quarantined, one.last_good_for))
        .collect();
    let expected = [
        (false, None),
        (false, Some(2)),
        (true, None),
        (false, Some(2)),
    ];
    assert_eq!(told, expected);
}

#[test]
fn drills_and_drafts_ask_the_last_good_release() {
    let world = world("refuse", None);
    let current = world.runtime().current().unwrap();
    let input: Value = serde_json::from_str(&transfer(1)).unwrap();
    let verdicts = current.judge_step((PREPARE, 0), "draft", &input).unwrap();
    let refuses: Vec<bool> = verdicts.iter().map(|one| one.refuses()).collect();
    assert_eq!(refuses, [false, true]);
    for with_input in [false, true] {
        let input = with_input.then_some(&input);
        let kinds = [FailureKind::Fuel];
        let all = (|_: &str| true, |_: &str| true);
        let drilled = current.drill((PREPARE, 0), ("drill", input), &kinds, all);
        let drilled = drilled.unwrap();
        let failure = &drilled[0].failures[0];
        let (number, judged) = failure.last_good.as_ref().unwrap();
        assert_eq!((*number, judged.is_some()), (1, with_input));
        assert_eq!(failure.refusal.is_some(), with_input);
    }
    assert_eq!(world.receipts().len(), 0);
}

#[test]
fn release_that_is_not_of_the_rule_alone_is_not_taken() {
    let world = world("allow", None);
    let current = world.runtime().current().unwrap();
    let allow = || hostile("allow", Failing::Refuse);
    let taken = |step, nth, steps| current.set_last_good(step, nth, earlier(&world, steps));
    assert_eq!(taken(PREPARE, 0, vec![allow()]), Err(NotGood::Taken));
    assert_eq!(taken(PREPARE, 1, vec![allow()]), Err(NotGood::NotAlone));
    assert_eq!(taken(QUOTE, 0, vec![allow()]), Err(NotGood::NotAlone));
    let two = vec![allow(), hostile("refuse", Failing::Refuse)];
    assert_eq!(taken(PREPARE, 0, two), Err(NotGood::NotAlone));
    let settings = r#"{"do":"allow"}"#;
    let elsewhere = vec![at(QUOTE, "hostile-rule", settings, Failing::Refuse)];
    assert_eq!(taken(PREPARE, 0, elsewhere), Err(NotGood::NotAlone));
}
