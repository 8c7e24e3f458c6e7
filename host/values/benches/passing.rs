//! What it costs to pass an event of a payment from a component to the host and on to a component: as bytes, and as
//! wasmtime's trees. `cargo bench --package rialto-values`.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark stops at what it did not expect"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use rialto_values::Values;
use wasmtime::component::{Linker, Val};

use crate::component::{Compiled, Said};
use crate::types::Ty;

#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/all/component.rs"]
mod component;
#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/all/types.rs"]
mod types;

/// A record like that of an event of a transfer: ids, an amount, a position and a message of 2 kB.
fn event() -> (Ty, Val) {
    let text = |text: &str| Val::String(text.to_owned());
    let record = |fields: Vec<(Ty, Val)>| {
        let (types, values): (Vec<Ty>, Vec<Val>) = fields.into_iter().unzip();
        let values = values.into_iter().enumerate();
        let values = values.map(|(n, value)| (format!("f{n}"), value));
        (Ty::Record(types), Val::Record(values.collect()))
    };
    let string = |value: &str| (Ty::Plain("string"), text(value));
    let number = |value| (Ty::Plain("u64"), Val::U64(value));
    let money = || record(vec![string("EUR"), number(2), number(0), number(12_345)]);
    let position = record(vec![string("payer-fsp"), money(), money(), money()]);
    let headers = "content-type: application/vnd.interoperability.transfers+json;version=1.1\n";
    let message = record(vec![
        string("POST"),
        string("/transfers"),
        string(&headers.repeat(6)),
        string(&"{\"transferId\":\"b51ec534-ee48-4575-b6a9-ead2955b8069\"}".repeat(30)),
    ]);
    let version = (
        Ty::Option(Box::new(Ty::Plain("string"))),
        Val::Option(Some(Box::new(text("1.1")))),
    );
    record(vec![
        string("b51ec534-ee48-4575-b6a9-ead2955b8069"),
        string("payer-fsp"),
        string("payee-fsp"),
        money(),
        number(1_764_489_600_000),
        string("deferred-net"),
        position,
        (Ty::Enum(2), Val::Enum("e1".to_owned())),
        message,
        version,
    ])
}

fn passing(c: &mut Criterion) {
    let (ty, tree) = event();
    let compiled = Compiled::of(&[ty], &Ty::Plain("bool"), "utf8", &Said::default());
    let values = Values::of(compiled.params.iter(), std::slice::from_ref(&tree)).unwrap();

    let mut linker = Linker::new(&compiled.engine);
    let nothing = |values| {
        black_box(values);
        Ok(Values::default())
    };
    let take =
        Arc::new(move |_: wasmtime::StoreContextMut<'_, ()>, values: Values| nothing(values));
    let mut root = linker.root();
    rialto_values::link(&mut root, "take", (&compiled.params, &[]), take.clone()).unwrap();
    rialto_values::link(&mut root, "give", (&[], &compiled.results), take).unwrap();
    c.bench_function("an event as bytes", |b| {
        // The component gives no memory back: a fresh one for some calls.
        b.iter_batched(
            || compiled.instance(&linker),
            |(mut store, instance)| {
                let take = instance.get_func(&mut store, "take").unwrap();
                for _ in 0..CALLS {
                    rialto_values::call(&take, &mut store, &values).unwrap();
                }
                (store, instance)
            },
            criterion::BatchSize::PerIteration,
        );
    });

    let mut linker = Linker::new(&compiled.engine);
    let mut root = linker.root();
    root.func_new("take", |_, _, params, _| {
        black_box(params.to_vec());
        Ok(())
    })
    .unwrap();
    root.func_new("give", |_, _, _, _| Ok(())).unwrap();
    c.bench_function("an event as a tree", |b| {
        b.iter_batched(
            || compiled.instance(&linker),
            |(mut store, instance)| {
                let take = instance.get_func(&mut store, "take").unwrap();
                for _ in 0..CALLS {
                    take.call(&mut store, std::slice::from_ref(&tree), &mut [])
                        .unwrap();
                }
                (store, instance)
            },
            criterion::BatchSize::PerIteration,
        );
    });
}

/// Calls of one iteration.
const CALLS: usize = 50;

criterion_group!(benches, passing);
criterion_main!(benches);
