//! A million random operations on the ledger and on a model that shares no code with it. Both agree on each, a
//! refusal writes nothing, and the invariants of the account model hold after each (choreography 18.9).
//!
//! `RIALTO_SEED=N` runs one seed, `RIALTO_OPERATIONS=N` sets the number of operations.

mod check;
mod driver;
mod model;
mod settling;
mod store;
mod under_way;

use self::driver::World;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const SEEDS: u64 = 20;
const OPERATIONS: u64 = 50_000;

/// The operations. Each is granted sometimes, and most are refused sometimes.
const KINDS: [&str; 19] = [
    "abort",
    "close",
    "count",
    "cover",
    "deposit",
    "fulfil",
    "hold",
    "limit",
    "move",
    "prepare",
    "record",
    "release",
    "reopen",
    "repeat",
    "settle",
    "settle at once",
    "status",
    "undo",
    "withdrawal",
];

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")),
    )
}

type Tally = BTreeMap<&'static str, [u64; 2]>;

fn run(seed: u64, operations: u64) -> Tally {
    let mut world = World::new(seed);
    while world.operations() < operations {
        let currency = world.step();
        let context = format!("seed {seed}, operation {}", world.count);
        check::currency(&world, currency, &context);
    }
    check::whole(&world, &format!("seed {seed}, at its end"));
    world.tally
}

#[test]
fn a_million_operations_keep_every_invariant() {
    let seeds = number("RIALTO_SEED").map_or(0..SEEDS, |seed| seed..seed + 1);
    let operations = number("RIALTO_OPERATIONS").unwrap_or(OPERATIONS);
    let next = AtomicU64::new(seeds.start);
    let tally = Mutex::new(Tally::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let counted = run(seed, operations);
                    let mut tally = tally.lock().expect("no thread panics while it counts");
                    for (what, counts) in counted {
                        let sum = tally.entry(what).or_default();
                        *sum = [sum[0] + counts[0], sum[1] + counts[1]];
                    }
                }
            });
        }
    });
    let tally = tally
        .into_inner()
        .expect("no thread panics while it counts");
    println!("{:16} {:>9} {:>9}", "operation", "granted", "refused");
    for (what, [granted, refused]) in &tally {
        println!("{what:16} {granted:>9} {refused:>9}");
    }
    // A seed with too few operations would prove too little.
    if operations >= OPERATIONS {
        let names: Vec<&str> = tally.keys().copied().collect();
        assert_eq!(names, KINDS);
        for (what, [granted, _]) in &tally {
            assert!(*granted > 20, "{what} was granted {granted} times only");
        }
        for what in [
            "prepare",
            "fulfil",
            "release",
            "withdrawal",
            "cover",
            "limit",
            "move",
            "record",
            "hold",
        ] {
            assert!(tally[what][1] > 0, "{what} was never refused");
        }
    }
}
