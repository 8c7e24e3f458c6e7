//! From a seed: two hundred transfers in any order with everything that FSPs and crashes do to them, and
//! what must always hold.
//!
//! `RIALTO_SEED=n` runs one seed; `RIALTO_SEEDS=n` runs that many.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_simulation::{Evidence, Sim, Stage};

/// Seeds of an ordinary run.
const SEEDS: u64 = 4;

fn seeds() -> std::ops::Range<u64> {
    let number = |name| {
        let text = std::env::var(name).ok()?;
        Some(
            text.parse()
                .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        )
    };
    match number("RIALTO_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("RIALTO_SEEDS").unwrap_or(SEEDS),
    }
}

#[test]
fn whatever_happens_when_the_invariants_hold_and_each_fsp_is_told_what_the_state_says() {
    let stage = Stage::new().unwrap();
    for seed in seeds() {
        let started = std::time::Instant::now();
        let evidence: Evidence =
            Sim::run(&stage, seed).unwrap_or_else(|e| panic!("seed {seed}: {e:?}"));
        println!(
            "seed {seed}: {} turns, {} groups, {} messages, {} arrivals, {} crashes in {:?}",
            evidence.journal.history.len(),
            evidence.journal.groups,
            evidence.messages.len(),
            evidence.arrivals.len(),
            evidence.crashes,
            started.elapsed()
        );
        println!("{:#?}", evidence.outcomes());
        let problems = evidence.problems();
        for problem in problems.iter().take(10) {
            println!("{problem}");
        }
        assert!(
            problems.is_empty(),
            "seed {seed}: {} problems",
            problems.len()
        );
    }
}
