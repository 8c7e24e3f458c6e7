//! Events that are pending while another release becomes current.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::sync::Arc;

use crate::world::{World, asker, release, wide};
use rialto_components::{ComponentSpec, Digest, Limits};

/// Longer than it takes to make the next release current.
const RETRY_MS: u64 = 5_000;

/// A context that consumes the event of `hostile-context`, which in its release has an optional
/// argument.
fn later_subscriber() -> ComponentSpec {
    let text = r#"(component
        (core module $m
            (memory (export "memory") 1)
            (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
            (func (export "happened") (param i32 i32 i32)))
        (core instance $i (instantiate $m))
        (func $f (param "order" (option string))
            (canon lift (core func $i "happened")
                (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
        (instance $e (export "happened" (func $f)))
        (export "rialto:hostile-context/happened@0.1.0" (instance $e)))"#;
    let bytes: Arc<[u8]> = wat::parse_str(text).unwrap().into();
    ComponentSpec {
        digest: Digest::of(&bytes),
        bytes,
        listener: None,
        limits: Limits {
            fuel: None,
            ..wide()
        },
        ..asker()
    }
}

#[test]
fn an_event_reaches_a_release_whose_changed_record_fits() {
    let mut limits = World::limits();
    limits.retry_initial_ms = RETRY_MS;
    limits.retry_max_ms = RETRY_MS;
    let first = release(vec![asker()], Vec::new());
    let world = World::with(&first, 16, limits);
    // Its consumer fails, and it waits for its second attempt.
    assert_eq!(world.order("publish trap").unwrap(), "done");
    world.wait_until("the first attempt", |world| {
        world.engine.load().turns_delayed == 1
    });
    let mut second = release(vec![later_subscriber()], Vec::new());
    second.number = 2;
    world.make_current(&second);
    world.wait_until("the second attempt", |world| {
        let load = world.engine.load();
        load.turns_delayed + load.turns_active + load.turns_uncommitted == 0
    });
    let letters = world.store.dead_letters.lock().unwrap();
    let errors: Vec<&str> = letters.iter().map(|letter| &*letter.error).collect();
    assert_eq!(errors, [""; 0]);
}
