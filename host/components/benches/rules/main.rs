//! Measures the cost of WebAssembly:
//!
//! - a rule's verdict, in pooled and in fresh instances, against the same check in native code;
//! - a call and an event between components, against the same function in native code.
//!
//! One call or event costs much less than a turn, and less than turns vary. So the benchmark measures turns with
//! many calls and turns without, and computes the difference. It prints a table at the end.
//!
//! `cargo bench --package rialto-components --bench rules` (needs the components of `cargo xtask build`).

#![allow(missing_docs, reason = "criterion's macros make public functions")]
#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a benchmark is a failed benchmark"
)]

mod table;
#[path = "../../tests/all/world/mod.rs"]
mod world;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group};
use rialto_components::Failing;
use rialto_components::rules::Outcome;
use rialto_components::values::decode;
use table::Sampled as _;
use wasmtime::component::Val;
use world::{PREPARE, Ready, World, asker, at, release, rule, transfer};

/// What an operator might write.
const SETTINGS: &str = r#"{"otherwise":"refuse","limits":[
    {"currency":"RWF","scenario":"*","minimum":"1","maximum":"10000000"},
    {"currency":"USD","scenario":"*","minimum":"0.01","maximum":"10000"}]}"#;
/// Events of one chain, each published by the consumer of the one before.
const EVENTS: usize = 256;
/// Calls of one turn.
const CALLS: usize = 1_024;

/// The check of `amount-limits`, in plain Rust: what a host without plugins would compile in.
mod native {
    /// The limits of a currency, in minor units.
    pub struct Limit {
        pub currency: String,
        pub minimum: u128,
        pub maximum: u128,
    }

    pub fn limits(settings: &str, scale: u32) -> Vec<Limit> {
        let settings: serde_json::Value = serde_json::from_str(settings).unwrap();
        let units = |text: &serde_json::Value| {
            let text = text.as_str().unwrap();
            let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
            let digits = format!("{whole}{decimals:0<width$}", width = scale as usize);
            digits.parse::<u128>().unwrap()
        };
        let limits = settings["limits"].as_array().unwrap().iter();
        let read = limits.map(|limit| Limit {
            currency: limit["currency"].as_str().unwrap().to_owned(),
            minimum: units(&limit["minimum"]),
            maximum: units(&limit["maximum"]),
        });
        read.collect()
    }

    /// What hostile-friend does with `nothing`.
    #[inline(never)]
    pub fn echo(order: &str) -> String {
        match order {
            "nothing" => "done".to_owned(),
            other => panic!("{other:?} is no order"),
        }
    }

    pub fn check(limits: &[Limit], currency: &str, units: u128) -> Result<(), String> {
        let found = limits.iter().find(|limit| limit.currency == currency);
        let Some(limit) = found else {
            return Err(format!("the scheme has no limits for {currency}"));
        };
        if (limit.minimum..=limit.maximum).contains(&units) {
            Ok(())
        } else {
            Err(format!("{units} {currency} is outside the limits"))
        }
    }
}

fn verdicts(c: &mut Criterion) {
    let steps = vec![at(PREPARE, "amount-limits", SETTINGS, Failing::Refuse)];
    let ready = Ready::new(&release(vec![asker(), rule("amount-limits")], steps));
    let bound = &ready.steps[PREPARE][0];
    let member = &ready.members[bound.member];
    let input = serde_json::from_str(&transfer(100)).unwrap();
    let input = decode(&member.exports[bound.export].params[1], &input).unwrap();
    let params = [Val::String("T1".into()), input];
    let mut group = c.benchmark_group("verdict on an amount");
    let limits = native::limits(SETTINGS, 2);
    group.sampled(table::NATIVE_VERDICT, || {
        native::check(black_box(&limits), black_box("USD"), black_box(100)).unwrap();
    });
    group.sampled(table::NATIVE_VERDICT_WITH_SETTINGS, || {
        let limits = native::limits(black_box(SETTINGS), 2);
        native::check(&limits, black_box("USD"), black_box(100)).unwrap();
    });
    let mut instance = member.instantiate(&bound.identity).unwrap();
    group.sampled(table::KEPT_VERDICT, || {
        member.arm(&mut instance.store).unwrap();
        let mut results = [Val::Bool(false)];
        let called = member.invoke(&mut instance, bound.export, &params, &mut results);
        called.unwrap();
        black_box(&results);
    });
    group.sampled(table::FRESH_VERDICT, || {
        let judgement = member.judge(&bound.identity, bound.export, &params);
        assert_eq!(judgement.outcome, Ok(Outcome::Allow));
    });
    group.finish();
}

/// The turns of an order and of all that it causes.
fn to_its_end(world: &World, order: &str) {
    world.order(order).unwrap();
    world.wait_until("the last turn", |w| w.engine.load().turns_active == 0);
}

fn hops(c: &mut Criterion) {
    let world = World::new(&release(vec![asker()], Vec::new()), 64);
    let mut group = c.benchmark_group("between components");
    group.sampled(table::NATIVE_CALL, || {
        black_box(native::echo(black_box("nothing")));
    });
    group.sampled(table::TURN, || to_its_end(&world, "nothing"));
    let calls = format!("calls {CALLS} who-calls");
    group.sampled(table::TURN_WITH_CALLS, || to_its_end(&world, &calls));
    let events = format!("{}nothing", "publish ".repeat(EVENTS));
    group.sampled(table::TURN_WITH_EVENTS, || to_its_end(&world, &events));
    group.finish();
}

fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4))
        .sample_size(50)
        .without_plots()
}

criterion_group! {
    name = benches;
    config = short();
    targets = verdicts, hops
}

fn main() {
    benches();
    Criterion::default().configure_from_args().final_summary();
    table::print(CALLS, EVENTS);
}
