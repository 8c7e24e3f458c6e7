//! Who looks at groups sees what is on disk, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use parking_lot::Mutex;
use rialto_engine::CommitObserver;
use rialto_engine::store::{DocumentWrite, Group};

use crate::world::BankDocuments as _;
use crate::world::{Ask, Fault, World, doing};

/// Notes what it is shown.
#[derive(Default)]
struct Seen(Mutex<Vec<DocumentWrite>>);

impl CommitObserver for Seen {
    fn committed(&self, group: &Group) {
        self.0.lock().extend(group.documents.iter().cloned());
    }
}

impl Seen {
    fn bodies(&self) -> Vec<String> {
        let all = self.0.lock();
        let bodies = all.iter().filter_map(|write| write.body.as_deref());
        bodies.map(str::to_owned).collect()
    }
}

fn write(body: &'static str) -> Ask {
    doing(move |turn| {
        turn.put("notes", "one", body)?;
        Ok(true)
    })
}

#[test]
fn observer_sees_a_group_once_it_is_on_disk() {
    let (world, seen) = (World::new(), Arc::new(Seen::default()));
    world.engine.observe_commits(seen.clone());
    let _ = world.ask(write("1"));
    world.engine.run(0);
    assert_eq!(seen.bodies(), [""; 0], "executed is not committed");
    world.engine.commit().unwrap();
    assert_eq!(seen.bodies(), ["1"]);
    let _ = world.ask(write("2"));
    let _ = world.ask(write("3"));
    world.run_until_idle();
    assert_eq!(seen.bodies().last().unwrap(), "3", "the newest of a group");
    let versions = seen.0.lock().last().unwrap().version;
    assert_eq!(versions, 3);
}

#[test]
fn observer_does_not_see_a_group_that_could_not_be_written() {
    for fault in [Fault::Before, Fault::After] {
        let (world, seen) = (World::new(), Arc::new(Seen::default()));
        world.engine.observe_commits(seen.clone());
        let _ = world.ask(write("1"));
        world.engine.run(0);
        *world.store.fault.lock() = Some(fault);
        world.engine.commit().unwrap_err();
        assert_eq!(seen.bodies(), [""; 0], "{fault:?}");
    }
}
