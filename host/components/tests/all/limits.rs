//! Each limit ends a component exactly at its value, and the reason has the number.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::time::{Duration, Instant};

use crate::world::{
    Ready, World, asker, built, hostile, problems, release, rule_of, runtime, wide,
};
use rialto_components::rules::{NoVerdict, Outcome, Violation};
use rialto_components::{ComponentSpec, Failing, FailureKind, Limits};

/// The hostile rule under these limits, at the step for transfers with each behaviour.
fn ready(limits: Limits, behaviours: &[&str]) -> Ready {
    let rule = rule_of("hostile-rule", built("hostile-rule"), limits);
    let steps = behaviours.iter().map(|b| hostile(b, Failing::Refuse));
    Ready::new(&release(vec![asker(), rule], steps.collect()))
}

#[test]
fn fuel_is_reproducible_and_ends_a_rule_with_less() {
    let rich = ready(wide(), &["refuse"]);
    let used = rich.ask(0).fuel;
    assert!(used > 0);
    for _ in 0..20 {
        assert_eq!(rich.ask(0).fuel, used);
    }
    let enough = Limits {
        // Describing itself and judging settings cost fuel of their own, each from a full tank.
        fuel: Some(used.max(1_000_000)),
        ..wide()
    };
    let just = ready(enough, &["refuse", "loop"]);
    assert!(just.verdict(0).is_ok());
    let fuel = used.max(1_000_000);
    assert_eq!(
        just.verdict(1),
        Err(format!("used up its fuel of {fuel} instructions"))
    );
    assert_eq!(just.ask(1).fuel, fuel, "all of it is used");
}

#[test]
fn a_rule_without_fuel_to_describe_itself_is_refused() {
    let limits = Limits {
        fuel: Some(10),
        ..wide()
    };
    let rule = rule_of("hostile-rule", built("hostile-rule"), limits);
    let steps = vec![hostile("allow", Failing::Refuse)];
    let found = problems(&release(vec![asker(), rule], steps));
    let what: Vec<&str> = found.iter().map(|p| p.what.as_str()).collect();
    assert!(
        what.contains(&"fails when it is started: used up its fuel of 10 instructions"),
        "{what:?}"
    );
}

#[test]
fn memory_ends_a_rule_at_each_size_that_is_set() {
    for mebibytes in [2_usize, 8, 32] {
        let limits = Limits {
            memory_bytes: mebibytes << 20,
            ..wide()
        };
        let reason = ready(limits, &["eat-memory"]).verdict(0).unwrap_err();
        let end = format!("bytes of memory and may have {}", mebibytes << 20);
        assert!(
            reason.starts_with("wants ") && reason.ends_with(&end),
            "{reason}"
        );
    }
}

#[test]
fn a_component_that_starts_beyond_its_memory_is_refused() {
    let mut context = asker();
    context.limits.memory_bytes = 64 << 10;
    let found = problems(&release(vec![context], Vec::new()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].about, "asker");
    let what = &found[0].what;
    assert!(
        what.starts_with("fails when it is started: wants ")
            && what.ends_with("bytes of memory and may have 65536"),
        "{what}"
    );
    let help = &found[0].help;
    assert!(help.contains("`limits.memory`"), "{help}");
}

/// A component of so many core modules, each with its instance, and nothing else.
fn of_core_modules(count: usize) -> ComponentSpec {
    let instances = "(core instance (instantiate $m))".repeat(count);
    let text = format!("(component (core module $m) {instances})");
    let bytes: std::sync::Arc<[u8]> = wat::parse_str(text).unwrap().into();
    let mut context = asker();
    context.digest = rialto_components::Digest::of(&bytes);
    context.bytes = bytes;
    context
}

#[test]
fn a_component_of_many_modules_is_refused_naming_the_ceiling() {
    let refused = |count| -> Vec<String> {
        let spec = release(vec![of_core_modules(count)], Vec::new());
        let found = match runtime(16).prepare(&spec) {
            Ok(_) => Vec::new(),
            Err(found) => found,
        };
        let of_modules = found.into_iter().filter(|p| p.code == "no-component");
        of_modules.map(|p| p.help).collect()
    };
    assert!(refused(38).is_empty(), "as many as Python's have");
    assert!(refused(64).is_empty());
    let help = refused(65);
    assert_eq!(help.len(), 1, "{help:?}");
    assert!(help[0].contains("`ceilings.core-modules`"), "{help:?}");
}

#[test]
fn a_deadline_is_kept_neither_early_nor_much_too_late() {
    for deadline_ms in [20, 100, 300] {
        let limits = Limits {
            deadline_ms,
            fuel: Some(1 << 50),
            ..wide()
        };
        let ready = ready(limits, &["loop"]);
        let started = Instant::now();
        let verdict = ready.ask(0).outcome;
        let took = started.elapsed();
        let expected = format!("ran past its deadline of {deadline_ms} ms");
        assert_eq!(
            verdict,
            Err(NoVerdict::Prevented(FailureKind::Slow, expected))
        );
        let deadline = Duration::from_millis(deadline_ms);
        assert!(took >= deadline, "{took:?} is before {deadline:?}");
        // The machine that runs tests is busy; what matters is that it ends at all, and soon.
        assert!(took < deadline + Duration::from_secs(5), "{took:?}");
    }
}

#[test]
fn waiting_for_the_store_uses_no_time_of_a_call() {
    let mut context = asker();
    context.limits.deadline_ms = 20;
    let world = World::new(&release(vec![context], Vec::new()), 16);
    // A collection without documents is not read.
    world.order("write first {}").unwrap();
    *world.store.reading_takes.lock().unwrap() = Duration::from_millis(200);
    // It reads two documents: the first look at its time is after the first of them.
    assert_eq!(world.order("write-then write second {}").unwrap(), "done");
    assert_eq!(world.store.ids(), ["first", "second", "written"]);
}

#[test]
fn all_instances_in_use_is_said_after_the_deadline() {
    let mut context = asker();
    context.limits.instances = 2;
    context.limits.deadline_ms = 100;
    let ready = Ready::new(&release(vec![context], Vec::new()));
    let member = ready.member("asker").unwrap();
    let held = [member.lease().unwrap(), member.lease().unwrap()];
    let error = member.lease().err().expect("no third instance");
    assert_eq!(
        member.explain(&error).reason,
        "all 2 instances were in use for 100 ms"
    );
    assert_eq!(member.instances(), (2, 0));
    for lease in held {
        lease.give_back();
    }
    assert_eq!(member.instances(), (0, 2));
    assert!(member.lease().is_ok());
    assert_eq!(member.instances(), (0, 1), "one was thrown away");
}

#[test]
fn a_panic_of_the_host_leaves_no_slot_taken() {
    let mut context = asker();
    context.limits.instances = 1;
    let world = World::new(&release(vec![context], Vec::new()), 16);
    for _ in 0..3 {
        let (component, reason) = world.failure("write panic {}");
        assert_eq!(component, "asker");
        assert_eq!(
            reason,
            "the host panicked: the store panics, as it was told"
        );
        assert_eq!(world.order("nothing").unwrap(), "done");
    }
    // Also where it happens in a call of another component.
    let (_, reason) = world.failure("call scan 1 panic *");
    assert_eq!(
        reason,
        "the host panicked: the store panics, as it was told"
    );
    assert_eq!(world.order("call nothing").unwrap(), "done");
}

#[test]
fn instances_unused_since_the_last_look_are_dropped() {
    let ready = Ready::new(&release(vec![asker()], Vec::new()));
    let member = ready.member("asker").unwrap();
    let burst: Vec<_> = (0..4).map(|_| member.lease().unwrap()).collect();
    for lease in burst {
        lease.give_back();
    }
    assert_eq!(member.give_up_unused(), 0, "they were used a moment ago");
    for _ in 0..3 {
        // One after the other, which takes one instance.
        member.lease().unwrap().give_back();
    }
    assert_eq!(member.instances(), (0, 4));
    assert_eq!(member.give_up_unused(), 3);
    assert_eq!(member.instances(), (0, 1));
    assert_eq!(member.give_up_unused(), 1, "nobody used it either");
    assert_eq!(member.give_up_unused(), 0);
    member.lease().unwrap().give_back();
    assert_eq!(member.instances(), (0, 1), "the next one is made anew");
}

#[test]
fn instances_of_a_rule_share_no_memory() {
    let ready = ready(wide(), &["count"]);
    let first = Outcome::Refuse {
        violations: vec![Violation {
            code: "3100".into(),
            message: "1".into(),
        }],
    };
    for _ in 0..100 {
        assert_eq!(ready.verdict(0), Ok(first.clone()));
    }
}
