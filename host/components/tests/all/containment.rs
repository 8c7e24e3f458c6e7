//! A misbehaving component harms only itself: its turn or verdict fails with a reason for operators and without
//! effect, and everything else works.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use crate::world::{
    FAILURE_CODE, PREPARE, QUOTE, Ready, World, asker, at, built, friend, hostile, release, rule,
    rule_of, wide, without_location,
};
use rialto_components::rules::{NoVerdict, Outcome};
use rialto_components::{Failing, FailureKind, Limits};

const RULE_PANIC: &str = "trapped: panicked: the rule traps, as it was told";
const CONTEXT_PANIC: &str = "trapped: panicked: the context traps, as it was told";
const FRIEND_PANIC: &str = "trapped: panicked: the friend traps, as it was told";

/// Each way to misbehave, and the reason that the receipt gives.
const MISBEHAVIOURS: [(&str, &str); 9] = [
    ("trap", RULE_PANIC),
    ("loop", "used up its fuel of 100000000 instructions"),
    ("recurse", "recursed beyond its stack"),
    ("huge", "gave the host more than 8388608 bytes in one call"),
    (
        "undeclared-code",
        "gave the code \"4200\", which it does not declare",
    ),
    ("empty-refusal", "refused without a violation"),
    (
        "long-message",
        "gave a message of 129 characters, where 1 to 128 are allowed",
    ),
    (
        "no-message",
        "gave a message of 0 characters, where 1 to 128 are allowed",
    ),
    (
        "too-many-violations",
        "gave 17 violations, where 1 to 16 are allowed",
    ),
];

/// The kind of failure that a misbehaviour is.
fn kind_of(behaviour: &str) -> FailureKind {
    match behaviour {
        "trap" | "recurse" | "huge" => FailureKind::Trap,
        "loop" => FailureKind::Fuel,
        "eat-memory" => FailureKind::Memory,
        _ => FailureKind::Verdict,
    }
}

/// Limits for USD that allow everything from 0.01 to 50.
const FIFTY: &str =
    r#"{"limits":[{"currency":"USD","scenario":"*","minimum":"0.01","maximum":"50"}]}"#;

#[test]
fn each_misbehaviour_of_a_rule_fails_with_its_reason() {
    let mut steps: Vec<_> = MISBEHAVIOURS
        .iter()
        .map(|(behaviour, _)| hostile(behaviour, Failing::Refuse))
        .collect();
    steps.push(at(PREPARE, "amount-limits", FIFTY, Failing::Refuse));
    steps.push(hostile("allow", Failing::Refuse));
    let components = vec![asker(), rule("hostile-rule"), rule("amount-limits")];
    let ready = Ready::new(&release(components, steps));
    for (nth, (behaviour, reason)) in MISBEHAVIOURS.iter().enumerate() {
        let failed = ready.verdict(nth).unwrap_err();
        assert_eq!(without_location(&failed), *reason, "{behaviour}");
        let good = MISBEHAVIOURS.len();
        assert_eq!(ready.verdict(good), Ok(Outcome::Allow), "after {behaviour}");
        assert_eq!(
            ready.verdict(good + 1),
            Ok(Outcome::Allow),
            "the same rule after {behaviour}"
        );
    }
}

#[test]
fn a_rule_beyond_its_memory_fails_with_both_numbers() {
    let components = vec![asker(), rule("hostile-rule")];
    let steps = vec![
        hostile("eat-memory", Failing::Refuse),
        hostile("allow", Failing::Refuse),
    ];
    let ready = Ready::new(&release(components, steps));
    let reason = ready.verdict(0).unwrap_err();
    let wanted = reason.strip_prefix("wants ").and_then(|rest| {
        let (bytes, rest) = rest.split_once(' ')?;
        assert_eq!(rest, "bytes of memory and may have 33554432");
        bytes.parse::<usize>().ok()
    });
    assert!(wanted > Some(32 << 20), "{reason}");
    assert_eq!(ready.verdict(1), Ok(Outcome::Allow));
}

/// The release says what a rule's failure means; the receipt says that it failed, in every case.
#[test]
fn on_failure_means_what_it_says_for_every_misbehaviour() {
    for (behaviour, reason) in MISBEHAVIOURS {
        for failing in [Failing::Refuse, Failing::Allow, Failing::AllowAndFlag] {
            let components = vec![asker(), rule("hostile-rule"), rule("amount-limits")];
            let steps = vec![
                hostile(behaviour, failing),
                at(PREPARE, "amount-limits", FIFTY, Failing::Refuse),
                at(QUOTE, "amount-limits", FIFTY, Failing::Refuse),
            ];
            let world = World::new(&release(components, steps), 16);
            let answer = world.order("prepare 5000").unwrap();
            let about = format!("{behaviour}, {failing:?}");
            let refused = failing == Failing::Refuse;
            let expected = if refused {
                format!("refuse {FAILURE_CODE} the scheme rule hostile-rule could not be evaluated")
            } else {
                "allow".to_owned()
            };
            assert_eq!(answer, expected, "{about}");
            let receipts = world.receipts();
            // A refusal ends the asking; a failure that allows does not.
            assert_eq!(receipts.len(), if refused { 1 } else { 2 }, "{about}");
            let failed = &receipts[0];
            let Outcome::Failed {
                reason: why,
                means,
                kind,
            } = &failed.verdict
            else {
                panic!("{about}: {:?}", failed.verdict)
            };
            assert_eq!(
                (without_location(why), *means),
                (reason, failing),
                "{about}"
            );
            assert_eq!(*kind, Some(kind_of(behaviour)), "{about}");
            assert_eq!(failed.flagged, failing == Failing::AllowAndFlag, "{about}");
            assert_eq!(&*failed.rule, "hostile-rule");
            // The good rules of this and of the other step are asked as if nothing had been.
            assert_eq!(world.order("quote 5000").unwrap(), "allow", "{about}");
            assert_eq!(
                world.order("quote 5001").unwrap(),
                "refuse 4200 50.01 USD is more than the maximum 50",
                "{about}"
            );
        }
    }
}

/// What the clock decides would not be decided so again: it is no verdict, whatever the release says
/// of the rule's failures.
#[test]
fn a_rule_stopped_by_the_clock_leaves_no_receipt() {
    let limits = Limits {
        deadline_ms: 50,
        fuel: Some(1 << 50),
        ..wide()
    };
    for failing in [Failing::Refuse, Failing::Allow, Failing::AllowAndFlag] {
        let slow = rule_of("hostile-rule", built("hostile-rule"), limits);
        let steps = vec![hostile("loop", failing)];
        let world = World::new(&release(vec![asker(), slow], steps), 16);
        let expected = (
            "hostile-rule".to_owned(),
            "ran past its deadline of 50 ms".to_owned(),
        );
        assert_eq!(world.failure("prepare 1"), expected);
        assert_eq!(world.receipts().len(), 0);
        assert_eq!(world.order("nothing").unwrap(), "done");
    }
}

#[test]
fn a_rule_without_a_free_instance_has_not_failed() {
    let components = vec![asker(), rule("hostile-rule")];
    let steps = vec![hostile("allow", Failing::Refuse)];
    let ready = Ready::with_room(&release(components, steps), 1);
    let bound = &ready.steps[PREPARE][0];
    let held = ready.members[bound.member].instantiate(&bound.identity);
    let outcome = ready.ask(0).outcome;
    assert!(
        matches!(outcome, Err(NoVerdict::Prevented(FailureKind::Missing, _))),
        "{outcome:?}"
    );
    drop(held);
    assert_eq!(ready.verdict(0), Ok(Outcome::Allow));
}

/// A context and its friend, with this deadline for both.
fn lonely(deadline_ms: u64) -> World {
    let (mut context, mut friend) = (asker(), friend());
    context.limits.deadline_ms = deadline_ms;
    friend.limits.deadline_ms = deadline_ms;
    World::new(&release(vec![context, friend], Vec::new()), 32)
}

#[test]
fn a_misbehaving_context_loses_its_turn_and_the_next_works() {
    let world = lonely(200);
    let cases = [
        ("trap", CONTEXT_PANIC),
        ("loop", "ran past its deadline of 200 ms"),
        (
            "recurse",
            "touched memory that it does not have (a stack that grew too large, in most languages)",
        ),
        ("dance", "trapped: panicked: \"dance\" is no order"),
    ];
    for (order, reason) in cases {
        let (component, found) = world.failure(&format!("write-then {order}"));
        assert_eq!(
            (&*component, without_location(&found)),
            ("asker", reason),
            "{order}"
        );
        assert_eq!(world.order("nothing").unwrap(), "done", "after {order}");
        assert_eq!(world.store.ids(), [""; 0], "{order} left something behind");
    }
    let (_, reason) = world.failure("write-then eat-memory");
    assert!(
        reason.ends_with("bytes of memory and may have 33554432"),
        "{reason}"
    );
    assert_eq!(world.order("write-then nothing").unwrap(), "done");
    assert_eq!(world.store.ids(), ["written"]);
}

#[test]
fn a_failure_in_a_called_component_ends_the_callers_turn() {
    let world = lonely(200);
    let (component, reason) = world.failure("write-then call trap");
    assert_eq!(
        (&*component, without_location(&reason)),
        ("friend", FRIEND_PANIC)
    );
    let (component, reason) = world.failure("write-then call loop");
    let deadline = "ran past its deadline of 200 ms";
    assert_eq!((&*component, &*reason), ("friend", deadline));
    assert_eq!(world.store.ids(), [""; 0]);
    assert_eq!(world.order("call write-then nothing").unwrap(), "done");
    assert_eq!(world.store.ids(), ["written"]);
}

#[test]
fn a_failing_consumer_parks_its_event_without_touching_the_publisher() {
    let world = lonely(200);
    assert_eq!(world.order("write-then publish trap").unwrap(), "done");
    world.wait_until("a dead letter", |world| {
        !world.store.dead_letters.lock().unwrap().is_empty()
    });
    let letters = world.store.dead_letters.lock().unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].attempts, 2);
    assert!(
        letters[0].error.contains(CONTEXT_PANIC),
        "{}",
        letters[0].error
    );
    assert_eq!(world.store.ids(), ["written"]);
    drop(letters);
    assert_eq!(world.order("publish write a {}").unwrap(), "done");
    world.wait_until("the event's turn", |world| world.store.ids().len() == 2);
}

#[test]
fn an_activation_is_done_by_all_components_or_by_none() {
    let world = World::new(&release(vec![asker()], vec![]), 16);
    world.order("call trap-when-activated").unwrap();
    let refused = world.activate().unwrap_err().to_string();
    let why = "friend failed: trapped: panicked: the friend does not want release 1 (";
    assert!(refused.starts_with(why), "{refused}");
    assert_eq!(activated(&world), 0);

    world.order("call be-good-when-activated").unwrap();
    assert_eq!(world.activate().unwrap(), 1);
    assert_eq!(activated(&world), 2);
}

#[test]
fn an_activation_continues_for_unfinished_components() {
    let world = World::new(&release(vec![asker()], vec![]), 16);
    world.order("call activate-in-steps 3").unwrap();
    assert_eq!(world.activate().unwrap(), 3);
    let noted = |id: &str| world.store.ids().iter().filter(|of| *of == id).count();
    // Step 0 is everybody's, the others are of the one that has more to do.
    let steps = ["activated", "activated-1", "activated-2", "activated-3"];
    assert_eq!(steps.map(noted), [2, 1, 1, 0]);
}

/// How many components have noted an activation.
fn activated(world: &World) -> usize {
    let ids = world.store.ids();
    ids.iter().filter(|id| *id == "activated").count()
}
