//! Each cell of the table of failures: what a kind of failure comes to by the release's word for it, in a drill and in
//! a turn; and rules in quarantine.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::sync::Arc;

use crate::world::{
    FAILURE_CODE, ManualClock, PREPARE, Ready, World, asker, at, built, hostile, release, rule,
    rule_of, transfer, wide,
};
use rialto_components::rules::{Outcome, Violation};
use rialto_components::{
    ComponentSpec, DrilledFailure, Failing, Failings, FailureKind, Limits, QuarantineTerms,
    StepSpec,
};
use serde_json::Value;

const WORDS: [Failing; 3] = [Failing::Refuse, Failing::Allow, Failing::AllowAndFlag];

/// Limits for USD that allow everything from 0.01 to 50.
const FIFTY: &str =
    r#"{"limits":[{"currency":"USD","scenario":"*","minimum":"0.01","maximum":"50"}]}"#;

/// A behaviour that fails by itself in each way that gives a verdict.
const BEHAVIOURS: [(FailureKind, &str); 4] = [
    (FailureKind::Trap, "trap"),
    (FailureKind::Fuel, "loop"),
    (FailureKind::Memory, "eat-memory"),
    (FailureKind::Verdict, "undeclared-code"),
];

/// All kinds refuse, but for one.
fn only(kind: FailureKind, word: Failing) -> Failings {
    let mut table = Failings::from(Failing::Refuse);
    match kind {
        FailureKind::Trap => table.trap = word,
        FailureKind::Fuel => table.fuel = word,
        FailureKind::Memory => table.memory = word,
        FailureKind::Verdict => table.verdict = word,
        FailureKind::Slow | FailureKind::Missing => table.otherwise = word,
    }
    table
}

fn with(step: StepSpec, failing: Failings, quarantine: Option<QuarantineTerms>) -> StepSpec {
    StepSpec {
        failing,
        quarantine,
        ..step
    }
}

fn input(units: u64) -> Value {
    serde_json::from_str(&transfer(units)).unwrap()
}

fn refused_by(rule: &str) -> Vec<Violation> {
    vec![Violation {
        code: FAILURE_CODE.into(),
        message: format!("the scheme rule {rule} could not be evaluated"),
    }]
}

/// Drill the good rule at the step, alone.
fn drilled(ready: &Ready, kind: FailureKind, input: Option<&Value>) -> DrilledFailure<'static> {
    let wanted = |rule: &str| rule == "amount-limits";
    let drilled = ready.drill(
        (PREPARE, 0),
        ("draft", input),
        &[kind],
        (wanted, |_: &str| true),
    );
    let [one] = <[_; 1]>::try_from(drilled.unwrap()).ok().unwrap();
    let [failure] = <[_; 1]>::try_from(one.failures).ok().unwrap();
    DrilledFailure {
        kind: failure.kind,
        outcome: failure.outcome,
        refusal: failure.refusal.map(|(rule, all)| {
            let rule: &'static str = String::from(rule).leak();
            (rule, all)
        }),
        prevented: failure.prevented,
        last_good: failure.last_good,
    }
}

#[test]
fn each_kind_of_failure_is_drilled_with_each_word() {
    for kind in FailureKind::ALL {
        for word in WORDS {
            let about = format!("{kind:?}, {word:?}");
            let limits = at(PREPARE, "amount-limits", FIFTY, Failing::Refuse);
            let steps = vec![with(limits, only(kind, word), None)];
            let ready = Ready::new(&release(vec![asker(), rule("amount-limits")], steps));
            for input in [None, Some(input(100))] {
                let drilled = drilled(&ready, kind, input.as_ref());
                match kind {
                    FailureKind::Slow | FailureKind::Missing => {
                        let why = drilled.outcome.unwrap_err();
                        let prevented = format!("amount-limits: {why}");
                        assert_eq!(drilled.prevented, Some(prevented), "{about}");
                        assert_eq!(drilled.refusal, None, "{about}");
                        let is_slow = why == "ran past its deadline of 2000 ms";
                        assert_eq!(is_slow, kind == FailureKind::Slow, "{about}: {why}");
                    }
                    _ => {
                        let Ok(Outcome::Failed {
                            means,
                            kind: met,
                            reason,
                        }) = drilled.outcome
                        else {
                            panic!("{about}: {:?}", drilled.outcome)
                        };
                        assert_eq!((means, met), (word, Some(kind)), "{about}: {reason}");
                        let refusal = refused_by("amount-limits");
                        let refusal =
                            (word == Failing::Refuse).then_some(("amount-limits", refusal));
                        assert_eq!(drilled.refusal, refusal, "{about}");
                        assert_eq!(drilled.prevented, None, "{about}");
                    }
                }
                // The release still serves as before.
                assert_eq!(ready.verdict(0), Ok(Outcome::Allow), "{about}");
            }
        }
    }
}

#[test]
fn rules_beside_the_drilled_one_judge_the_input() {
    let steps = vec![
        at(PREPARE, "amount-limits", FIFTY, Failing::Allow),
        hostile("refuse", Failing::Refuse),
    ];
    let components = vec![asker(), rule("amount-limits"), rule("hostile-rule")];
    let ready = Ready::new(&release(components, steps));
    // Without an input, the others allow.
    assert_eq!(drilled(&ready, FailureKind::Trap, None).refusal, None);
    let drilled = drilled(&ready, FailureKind::Trap, Some(&input(100)));
    let (rule, violations) = drilled.refusal.unwrap();
    assert_eq!((rule, &*violations[0].code), ("hostile-rule", "3100"));
    // Those that must not be asked allow.
    let kinds = [FailureKind::Trap];
    let wanted = (|_: &str| true, |rule: &str| rule != "hostile-rule");
    let input = input(100);
    let all = ready.drill((PREPARE, 0), ("draft", Some(&input)), &kinds, wanted);
    let all = all.unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(all[0].failures[0].refusal, None);
    assert_eq!(
        all[1].failures[0].refusal,
        Some(("hostile-rule", refused_by("hostile-rule")))
    );
    let misfit = Value::from(7);
    let wanted = (|_: &str| true, |_: &str| true);
    let refused = ready.drill((PREPARE, 0), ("draft", Some(&misfit)), &kinds, wanted);
    assert!(refused.is_err());
}

#[test]
fn each_kind_of_failure_means_its_own_word_in_a_turn() {
    for (kind, behaviour) in BEHAVIOURS {
        for word in WORDS {
            let about = format!("{kind:?}, {word:?}");
            let components = vec![asker(), rule("hostile-rule")];
            let step = with(hostile(behaviour, Failing::Refuse), only(kind, word), None);
            let world = World::new(&release(components, vec![step]), 16);
            let answer = world.order("prepare 5000").unwrap();
            let expected = match word {
                Failing::Refuse => {
                    let [refusal] = &refused_by("hostile-rule")[..] else {
                        panic!("one")
                    };
                    format!("refuse {} {}", refusal.code, refusal.message)
                }
                _ => "allow".to_owned(),
            };
            assert_eq!(answer, expected, "{about}");
            let receipt = &world.receipts()[0];
            assert_eq!(receipt.flagged, word == Failing::AllowAndFlag, "{about}");
            let Outcome::Failed {
                means, kind: met, ..
            } = receipt.verdict
            else {
                panic!("{about}: {:?}", receipt.verdict)
            };
            assert_eq!((means, met), (word, Some(kind)), "{about}");
            assert!(!receipt.quarantined, "{about}");
        }
    }
}

/// Quarantine after this many failures in a row, for a second, then two, then three.
fn after(failures: u32) -> Option<QuarantineTerms> {
    Some(QuarantineTerms {
        failures,
        pause_ms: 1_000,
        longest_ms: 3_000,
    })
}

#[test]
fn rule_in_quarantine_is_not_asked_and_its_word_decides() {
    for (kind, behaviour) in BEHAVIOURS {
        for word in WORDS {
            let about = format!("{kind:?}, {word:?}");
            let components = vec![asker(), rule("hostile-rule")];
            let step = hostile(behaviour, Failing::Refuse);
            let step = with(step, only(kind, word), after(2));
            let clock = Arc::new(ManualClock::default());
            let world = World::at(&release(components, vec![step]), 16, &clock);
            let mut answers = Vec::new();
            for _ in 0..3 {
                answers.push(world.order("prepare 5000").unwrap());
            }
            clock.pass(1_000);
            // The probe, and another request after it.
            for _ in 0..2 {
                answers.push(world.order("prepare 5000").unwrap());
            }
            let first = answers[0].clone();
            assert_eq!(first == "allow", word != Failing::Refuse, "{about}");
            assert!(answers.iter().all(|answer| *answer == first), "{answers:?}");
            let receipts = world.receipts();
            let quarantined: Vec<bool> = receipts.iter().map(|one| one.quarantined).collect();
            assert_eq!(quarantined, [false, false, true, false, true], "{about}");
            for receipt in &receipts {
                let Outcome::Failed {
                    means, kind: met, ..
                } = receipt.verdict
                else {
                    panic!("{about}: {:?}", receipt.verdict)
                };
                assert_eq!((means, met), (word, Some(kind)), "{about}");
                assert_eq!(receipt.flagged, word == Failing::AllowAndFlag, "{about}");
                assert_eq!(receipt.fuel == 0, receipt.quarantined, "{about}");
            }
            let (_, quarantine) = world.runtime().quarantines().list().remove(0);
            assert_eq!((quarantine.until, quarantine.pause_ms), (3_000, 2_000));
            assert_eq!((quarantine.failures, quarantine.decided), (3, 2), "{about}");
        }
    }
}

/// A rule that the host cannot run gives no verdict, and turns fail. That is no fault of the rule.
#[test]
fn rule_without_an_instance_is_never_in_quarantine() {
    let components = vec![asker(), rule("hostile-rule")];
    let step = hostile("allow", Failing::Refuse);
    let step = with(step, only(FailureKind::Missing, Failing::Allow), after(2));
    let clock = Arc::new(ManualClock::default());
    let world = World::at(&release(components, vec![step]), 2, &clock);
    let current = world.runtime().current().unwrap();
    let bound = &current.steps[PREPARE][0];
    let take = || current.members[bound.member].instantiate(&bound.identity);
    let held: Vec<_> = (0..2).map(|_| take().unwrap()).collect();
    for _ in 0..4 {
        world.failure("prepare 1");
    }
    drop(held);
    assert_eq!(world.order("prepare 1").unwrap(), "allow");
    assert_eq!(world.runtime().quarantines().begun(), 0);
    assert!(!world.receipts()[0].quarantined);
}

#[test]
fn slow_rule_is_in_quarantine_after_its_turns_have_failed() {
    let limits = Limits {
        deadline_ms: 30,
        fuel: Some(1 << 50),
        ..wide()
    };
    let slow: ComponentSpec = rule_of("hostile-rule", built("hostile-rule"), limits);
    let step = hostile("loop", Failing::Refuse);
    let word = only(FailureKind::Slow, Failing::AllowAndFlag);
    let clock = Arc::new(ManualClock::default());
    let of = |failures| {
        let step = with(step.clone(), word, after(failures));
        World::at(
            &release(vec![asker(), slow.clone()], vec![step]),
            16,
            &clock,
        )
    };
    // The same request that is tried again and again counts once.
    let world = of(2);
    for _ in 0..4 {
        world.failure("prepare 1");
    }
    assert_eq!(world.runtime().quarantines().begun(), 0);
    let world = of(1);
    world.failure("prepare 1");
    assert_eq!(world.receipts().len(), 0);
    assert_eq!(world.order("prepare 1").unwrap(), "allow");
    let receipts = world.receipts();
    assert!(receipts[0].quarantined && receipts[0].flagged);
}

#[test]
fn concurrent_turns_begin_one_quarantine() {
    let components = vec![asker(), rule("hostile-rule")];
    let step = hostile("trap", Failing::Allow);
    let step = with(step, Failing::Allow.into(), after(5));
    let clock = Arc::new(ManualClock::default());
    let world = World::at(&release(components, vec![step]), 16, &clock);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..20 {
                    assert_eq!(world.order("prepare 1").unwrap(), "allow");
                }
            });
        }
    });
    let receipts = world.receipts();
    let asked = receipts.iter().filter(|one| !one.quarantined).count();
    // Those under way when the quarantine began are asked too.
    assert!((5..=8).contains(&asked), "{asked}");
    assert_eq!(receipts.len(), 80);
    let quarantines = world.runtime().quarantines();
    assert_eq!(quarantines.begun(), 1);
    assert_eq!(quarantines.decided(), 80 - asked as u64);
}

#[test]
fn quarantine_goes_on_in_a_release_that_binds_the_same() {
    let components = vec![asker(), rule("hostile-rule")];
    let step = hostile("trap", Failing::Refuse);
    let step = with(step, Failing::Allow.into(), after(1));
    let mut spec = release(components, vec![step]);
    let clock = Arc::new(ManualClock::default());
    let world = World::at(&spec, 16, &clock);
    world.order("prepare 1").unwrap();
    spec.number = 2;
    world.make_current(&spec);
    world.order("prepare 1").unwrap();
    let current = || world.runtime().current().unwrap().quarantines().len();
    assert_eq!(current(), 1);
    // Other settings are another rule.
    spec.number = 3;
    spec.steps[0].settings = r#"{"do":"allow"}"#.into();
    world.make_current(&spec);
    world.order("prepare 1").unwrap();
    let quarantined: Vec<bool> = world.receipts().iter().map(|r| r.quarantined).collect();
    assert_eq!(quarantined, [false, true, false]);
    assert_eq!(current(), 0, "no rule of the current release");
    assert_eq!(
        world.runtime().quarantines().list().len(),
        1,
        "one that is ready"
    );
    // Other limits are another rule too.
    spec.number = 4;
    spec.steps[0].settings = r#"{"do":"trap"}"#.into();
    spec.components[1].limits.fuel = Some(99_000_000);
    world.make_current(&spec);
    world.order("prepare 1").unwrap();
    assert!(!world.receipts().last().unwrap().quarantined);
}
