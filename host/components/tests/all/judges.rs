//! By which release's rules a request is judged: the current one's, or those under which it was agreed.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use crate::world::{FAILURE_CODE, PREPARE, World, asker, at, hostile, release, rule};
use rialto_components::earlier::KEPT_MAX;
use rialto_components::judges::{AgreedUnder, JudgedBy};
use rialto_components::{Effective, Failing, ReleaseSpec, StepSpec};

/// Longer than any clock here says.
const LATER: u64 = 4_000_000_000_000;

fn limits(maximum: &str) -> StepSpec {
    let settings =
        format!(r#"{{"limits":[{{"currency":"USD","scenario":"*","maximum":"{maximum}"}}]}}"#);
    at(PREPARE, "amount-limits", &settings, Failing::Refuse)
}

/// A release with rules at the step.
fn numbered(number: u64, steps: Vec<StepSpec>) -> ReleaseSpec {
    let components = vec![asker(), rule("amount-limits"), rule("hostile-rule")];
    ReleaseSpec {
        number,
        ..release(components, steps)
    }
}

/// Ask about 50.00 as it was agreed under a release at an instant. Returns whether it is allowed.
fn allows(world: &World, under: u64, at: u64) -> bool {
    let answer = world.order(&format!("agreed {under} {at} prepare 5000"));
    match answer.unwrap().as_str() {
        "allow" => true,
        refused => {
            assert!(refused.starts_with("refuse "), "{refused}");
            false
        }
    }
}

/// The releases of the receipts since a number of them, and why they judged.
fn judged(world: &World, since: usize) -> Vec<(u64, Option<JudgedBy>)> {
    let receipts = world.receipts().into_iter().skip(since);
    let judged = receipts.map(|one| (one.release, one.agreed.map(|agreed| agreed.judged)));
    judged.collect()
}

#[test]
fn what_was_agreed_is_judged_by_the_rules_of_then() {
    let world = World::new(&numbered(1, vec![limits("50")]), 16);
    assert_eq!(world.order("release").unwrap(), "1");
    world.make_current(&numbered(2, vec![limits("20")]));
    assert_eq!(world.order("release").unwrap(), "2");
    assert!(!allows(&world, 0, 0));
    assert!(allows(&world, 1, 7));
    assert!(!allows(&world, 2, 7));
    let known = world.receipts();
    let agreed = AgreedUnder {
        release: 1,
        at: 7,
        judged: JudgedBy::Agreed,
    };
    let found: Vec<_> = known
        .iter()
        .map(|one| (one.release, one.agreed.clone()))
        .collect();
    assert_eq!(found, [(2, None), (1, Some(agreed)), (2, None)]);
    // It holds for one call, and not for the next one.
    assert_eq!(world.order("calls 1 nothing").unwrap(), "done");
    assert!(!allows(&world, 0, 0));
}

#[test]
fn what_was_rolled_back_never_judges_again() {
    let world = World::new(&numbered(1, vec![limits("20")]), 16);
    world.make_current(&numbered(2, vec![limits("50")]));
    world.make_current(&numbered(1, vec![limits("20")]));
    assert!(!allows(&world, 2, 0));
    world.make_current(&numbered(3, vec![limits("20")]));
    assert!(!allows(&world, 2, 0));
    let why = JudgedBy::RolledBack;
    assert_eq!(judged(&world, 0), [(1, Some(why)), (3, Some(why))]);
    // It is current once more, and judges again.
    world.make_current(&numbered(2, vec![limits("50")]));
    assert!(allows(&world, 2, 0));
}

#[test]
fn releases_are_kept_up_to_a_bound() {
    let world = World::new(&numbered(1, vec![limits("50")]), 16);
    let last = 2 + KEPT_MAX as u64;
    for number in 2..=last {
        world.make_current(&numbered(number, vec![limits("20")]));
    }
    assert!(!allows(&world, 1, 0));
    assert!(!allows(&world, 2, 0));
    assert!(!allows(&world, last + 1, 0));
    let (not_kept, agreed) = (Some(JudgedBy::NotKept), Some(JudgedBy::Agreed));
    assert_eq!(
        judged(&world, 0),
        [(last, not_kept), (2, agreed), (last, not_kept)]
    );
}

#[test]
fn rule_that_is_always_the_newest_judges_as_it_is_now_and_first() {
    let sanctions = |behaviour: &str| StepSpec {
        always_newest: true,
        ..hostile(behaviour, Failing::Refuse)
    };
    let world = World::new(&numbered(1, vec![limits("50"), sanctions("allow")]), 16);
    world.make_current(&numbered(2, vec![limits("20"), sanctions("allow")]));
    assert!(allows(&world, 1, 0));
    let (newest, agreed) = (Some(JudgedBy::AlwaysNewest), Some(JudgedBy::Agreed));
    assert_eq!(judged(&world, 0), [(2, newest), (1, agreed)]);
    world.make_current(&numbered(3, vec![limits("20"), sanctions("trap")]));
    let known = world.receipts().len();
    let answer = world.order("agreed 1 0 prepare 5000").unwrap();
    assert!(answer.contains(FAILURE_CODE), "{answer}");
    assert_eq!(judged(&world, known), [(3, newest)]);
    // Also if it has become so since, or only was so then.
    world.make_current(&numbered(
        4,
        vec![hostile("allow", Failing::Refuse), limits("20")],
    ));
    let known = world.receipts().len();
    assert!(allows(&world, 1, 0));
    assert_eq!(judged(&world, known), [(4, newest), (1, agreed)]);
    // What the current release does not ask at all, nobody asks.
    world.make_current(&numbered(5, vec![limits("20")]));
    let known = world.receipts().len();
    assert!(!allows(&world, 3, 0));
    assert_eq!(judged(&world, known), [(3, agreed)]);
}

#[test]
fn dates_of_rules_are_those_of_the_agreement() {
    let until = |maximum: &str, from: Option<u64>, until: Option<u64>| StepSpec {
        effective: Effective { from, until },
        ..limits(maximum)
    };
    let steps = || {
        vec![
            until("50", None, Some(1_000)),
            until("20", Some(1_000), None),
        ]
    };
    let world = World::new(&numbered(1, steps()), 16);
    assert!(allows(&world, 1, 999));
    assert!(!allows(&world, 1, 1_000));
    assert!(!allows(&world, 0, 0));
    world.make_current(&numbered(2, vec![limits("1")]));
    assert!(allows(&world, 1, 999));
    assert!(!allows(&world, 1, LATER));
}
