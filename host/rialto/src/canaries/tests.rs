//! When a canary has gone too far.

use super::*;

fn terms() -> CanaryTerms {
    CanaryTerms {
        share: 50_000,
        failures: 1,
        drift: Some(20_000),
        fuel: Some(500_000),
        after: 100,
        ..CanaryTerms::default()
    }
}

fn counts(compared: u64, different: u64, fuel: [u64; 2]) -> Counts {
    let mut counts = Counts {
        compared,
        different,
        ..Counts::default()
    };
    for (of, fuel) in fuel.into_iter().enumerate() {
        counts.fuel[of].saturating_record(fuel);
    }
    counts
}

#[test]
fn drift_and_fuel_count_after_enough_verdicts() {
    let same = [1_000, 1_000];
    assert_eq!(counts(99, 99, [9_000, 1]).beyond(&terms()), None);
    assert_eq!(counts(100, 2, same).beyond(&terms()), None);
    let drifted = counts(100, 3, same).beyond(&terms());
    assert!(drifted.is_some_and(|(measure, why)| {
        (measure.value, measure.limit) == (30_000, 20_000)
            && why.starts_with("3 of 100 verdicts differ")
    }));
    assert_eq!(counts(100, 0, [1_499, 1_000]).beyond(&terms()), None);
    let dearer = counts(100, 0, [1_510, 1_000]).beyond(&terms());
    assert!(dearer.is_some_and(|(measure, why)| {
        (measure.name, measure.limit) == ("fuel-p99", 1_500) && why.contains("need up to")
    }));
    // Without bounds, nothing is too far.
    let none = CanaryTerms {
        drift: None,
        fuel: None,
        ..terms()
    };
    assert_eq!(counts(100, 100, [9_000, 1]).beyond(&none), None);
}
