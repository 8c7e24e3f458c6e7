//! A component of an older release reads documents of a newer one.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use crate::world::{World, asker, release};
use serde_json::{Value, json};

/// What `hostile-context` has counted, and what stands in its document beside it.
fn count(world: &World) -> Value {
    serde_json::from_str(&world.order("count it").unwrap()).unwrap()
}

#[test]
fn a_component_keeps_members_added_by_a_newer_release() {
    let mut spec = release(vec![asker()], Vec::new());
    // Orders come one after the other: one instance takes them all, and has read the document before the
    // newer release wrote it.
    let world = World::new(&spec, 16);
    assert_eq!(count(&world), json!({ "count": 1, "each": [] }));
    let newer = |more: u64| {
        json!({
            "count": 1 + more,
            "since": { "at": 7 },
            "each": [
                { "name": "a", "count": 1 + more, "of": [{ "x": 1 }] },
                { "name": "b", "count": 2 + more, "of": [{ "x": 2 }] },
            ],
        })
    };
    let written = world.order(&format!("write it {}", newer(0)));
    assert_eq!(written.unwrap(), "done");
    assert_eq!(count(&world), newer(1));
    assert_eq!(count(&world), newer(2), "what it has written itself too");
    // Forward and back again, with instances that have read nothing.
    for number in [2, 3] {
        spec.number = number;
        world.make_current(&spec);
        assert_eq!(count(&world), newer(1 + number));
    }
}
