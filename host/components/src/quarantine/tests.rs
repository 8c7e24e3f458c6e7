//! When a quarantine begins, how long it lasts, and when it ends.

use super::*;

const TERMS: QuarantineTerms = QuarantineTerms {
    failures: 3,
    pause_ms: 100,
    longest_ms: 350,
};

fn key(rule: &str) -> QuarantineKey {
    QuarantineKey {
        step: "a-check".into(),
        rule: rule.into(),
        digest: Digest::of(rule),
        settings: Digest::of("{}"),
        scheme: Digest::of("{}"),
        limits: Limits {
            memory_bytes: 1 << 20,
            deadline_ms: 100,
            fuel: Some(1_000_000),
            instances: 16,
        },
    }
}

fn asked(bound: &BoundQuarantine, now: u64) -> Asking<'_> {
    match bound.admit(now) {
        Admission::Asked(asking) => asking,
        Admission::Held(held) => panic!("held at {now}: {held:?}"),
    }
}

fn is_held(bound: &BoundQuarantine, now: u64) -> bool {
    matches!(bound.admit(now), Admission::Held(_))
}

fn fail(bound: &BoundQuarantine, now: u64) {
    asked(bound, now).failed(
        (FailureKind::Trap, Failing::Refuse.into()),
        ("trapped", "s"),
        now,
    );
}

fn begun(quarantines: &Quarantines) -> BoundQuarantine {
    let bound = quarantines.watch(key("limits"), TERMS);
    for now in 0..3 {
        fail(&bound, now);
    }
    bound
}

#[test]
fn only_failures_in_a_row_begin_a_quarantine() {
    let quarantines = Quarantines::default();
    let bound = quarantines.watch(key("limits"), TERMS);
    for now in 0..10 {
        fail(&bound, now);
        fail(&bound, now);
        asked(&bound, now).succeeded(now);
    }
    assert_eq!((quarantines.begun(), quarantines.list()), (0, Vec::new()));
    for now in 20..23 {
        fail(&bound, now);
    }
    assert!(is_held(&bound, 22) && is_held(&bound, 121));
    let list = quarantines.list();
    assert_eq!((list[0].1.since, list[0].1.until), (22, 122));
    assert_eq!((list[0].1.decided, quarantines.decided()), (2, 2));
}

#[test]
fn pause_doubles_with_each_probe_that_fails_up_to_the_longest() {
    let quarantines = Quarantines::default();
    let bound = begun(&quarantines);
    let mut now = 2;
    for pause in [100, 200, 350, 350] {
        assert!(is_held(&bound, now + pause - 1), "{pause}");
        now += pause;
        fail(&bound, now);
    }
    assert_eq!(quarantines.list()[0].1.failures, 7);
    now += 350;
    let probe = asked(&bound, now);
    assert!(is_held(&bound, now), "one request probes it");
    probe.succeeded(now);
    asked(&bound, now).succeeded(now);
    assert_eq!(quarantines.list(), Vec::new());
    let (changes, left_out) = quarantines.take_changes();
    let stages: Vec<_> = changes.iter().map(|change| change.stage).collect();
    assert_eq!(
        (stages, left_out),
        (vec![QuarantineStage::Begun, QuarantineStage::Ended(now)], 0)
    );
    // It begins anew with the first pause.
    for at in 0..3 {
        fail(&bound, now + at);
    }
    assert_eq!(quarantines.list()[0].1.pause_ms, 100);
}

#[test]
fn ended_quarantine_has_the_rule_asked_at_once_and_begins_anew() {
    let quarantines = Quarantines::default();
    let bound = begun(&quarantines);
    let now = 102;
    fail(&bound, now);
    assert!(is_held(&bound, now));
    let nobody = quarantines.end(|key| *key.rule == *"fees", now);
    assert_eq!(nobody, Vec::new());
    let ended = quarantines.end(|key| *key.rule == *"limits", now);
    assert_eq!((ended[0].1.failures, ended[0].1.pause_ms), (4, 200));
    assert_eq!(quarantines.list(), Vec::new());
    // It is asked as often as at first, and the first pause is short again.
    for at in 0..3 {
        assert!(!is_held(&bound, now + at));
        fail(&bound, now + at);
    }
    assert_eq!(quarantines.list()[0].1.pause_ms, 100);
    let (changes, _) = quarantines.take_changes();
    let stages: Vec<_> = changes.iter().map(|change| change.stage).collect();
    let expected = [
        QuarantineStage::Begun,
        QuarantineStage::Lifted(now),
        QuarantineStage::Begun,
    ];
    assert_eq!(stages, expected);
}

#[test]
fn probe_whose_turn_ends_is_followed_by_another() {
    let quarantines = Quarantines::default();
    let bound = begun(&quarantines);
    let probe = asked(&bound, 200);
    assert!(is_held(&bound, 200));
    drop(probe);
    asked(&bound, 200).succeeded(200);
    assert!(!is_held(&bound, 200));
}

#[test]
fn requests_from_before_the_quarantine_change_nothing() {
    let quarantines = Quarantines::default();
    let bound = quarantines.watch(key("limits"), TERMS);
    let early: Vec<_> = (0..4).map(|_| asked(&bound, 0)).collect();
    for now in 0..3 {
        fail(&bound, now);
    }
    for (nth, asking) in early.into_iter().enumerate() {
        match nth {
            0 | 1 => asking.succeeded(50),
            _ => asking.failed(
                (FailureKind::Fuel, Failing::Refuse.into()),
                ("fuel", "s"),
                50,
            ),
        }
    }
    let quarantined = &quarantines.list()[0].1;
    assert_eq!((quarantined.until, quarantined.failures), (102, 3));
    assert_eq!(quarantined.kind, FailureKind::Trap);
}

#[test]
fn releases_that_bind_the_same_share_a_quarantine() {
    let quarantines = Quarantines::default();
    let first = begun(&quarantines);
    let second = quarantines.watch(key("limits"), TERMS);
    let other = quarantines.watch(key("fees"), TERMS);
    drop(first);
    assert!(is_held(&second, 10) && !is_held(&other, 10));
    drop(second);
    let (changes, _) = quarantines.take_changes();
    assert_eq!(changes[1].stage, QuarantineStage::Gone);
    assert!(!is_held(&quarantines.watch(key("limits"), TERMS), 10));
}

#[test]
fn concurrent_requests_begin_one_quarantine_and_probe_once() {
    let quarantines = Quarantines::default();
    let bound = quarantines.watch(key("limits"), TERMS);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..100 {
                    if let Admission::Asked(asking) = bound.admit(0) {
                        asking.failed(
                            (FailureKind::Memory, Failing::Refuse.into()),
                            ("memory", "s"),
                            0,
                        );
                    }
                }
            });
        }
    });
    assert_eq!(quarantines.begun(), 1);
    let probes = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                if let Admission::Asked(asking) = bound.admit(100) {
                    probes.fetch_add(1, Ordering::Relaxed);
                    asking.failed(
                        (FailureKind::Memory, Failing::Refuse.into()),
                        ("memory", "s"),
                        100,
                    );
                }
            });
        }
    });
    assert_eq!(probes.into_inner(), 1);
}

#[test]
fn changes_that_nobody_takes_are_bounded() {
    let quarantines = Quarantines::default();
    let terms = QuarantineTerms {
        failures: 1,
        ..TERMS
    };
    let bound = quarantines.watch(key("limits"), terms);
    for now in (0..600_000).step_by(1_000) {
        fail(&bound, now);
        asked(&bound, now + 999).succeeded(now + 999);
    }
    let (changes, left_out) = quarantines.take_changes();
    assert_eq!((changes.len(), left_out), (CHANGES_MAX, 200));
}
