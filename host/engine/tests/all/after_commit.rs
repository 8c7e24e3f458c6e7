//! Calls whose effect nobody can take back: they begin when all that their turn can have read is on disk.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use rialto_engine::Failure;
use rialto_engine::threads::Threads;

use crate::outside::{Service, outcome};
use crate::world::{Ask, BankDocuments as _, Fault, World, doing};

/// A turn that decides something.
fn decide() -> Ask {
    doing(|turn| {
        turn.put("notes", "decision", "\"yes\"")?;
        Ok(true)
    })
}

/// A turn that does what was decided, and writes down that it is done.
fn carry_out(service: &Service) -> Ask {
    let service = service.clone();
    doing(move |turn| {
        let decided = turn.get_for_update("notes", "decision")?.is_some();
        if decided {
            service.ask_after_commit(turn, "destroy it")?;
            turn.put("notes", "decision", "\"done\"")?;
        }
        Ok(decided)
    })
}

#[test]
fn call_begins_after_the_commit_of_what_its_turn_has_read() {
    let (world, service) = (World::new(), Service::default());
    let decided = world.ask(decide());
    world.engine.run(0);
    let done = world.ask(carry_out(&service));
    world.engine.run(0);
    // The decision is executed, and not on disk: a crash now would lose it.
    assert_eq!(world.store.disk.lock().documents.len(), 0);
    assert_eq!(service.asked(), [""; 0]);
    assert_eq!(world.engine.load().turns_outside, 1);
    world.engine.commit().unwrap();
    assert_eq!(outcome(&decided), Some(Ok(true)));
    assert_eq!(service.asked(), ["destroy it"]);
    service.answer("gone");
    world.run_until_idle();
    assert_eq!(outcome(&done), Some(Ok(true)));
    assert_eq!(world.all("notes")["decision"], "\"done\"");
    assert_eq!(world.engine.load().turns_outside, 0);
}

#[test]
fn call_begins_at_once_when_all_is_on_disk() {
    let (world, service) = (World::new(), Service::default());
    world.ask(decide());
    world.run_until_idle();
    world.ask(carry_out(&service));
    world.engine.run(0);
    assert_eq!(service.asked(), ["destroy it"]);
}

#[test]
fn call_does_not_begin_when_the_commit_fails() {
    for fault in [Fault::Before, Fault::After] {
        let (world, service) = (World::new(), Service::default());
        world.ask(decide());
        world.engine.run(0);
        let done = world.ask(carry_out(&service));
        world.engine.run(0);
        *world.store.fault.lock() = Some(fault);
        world.engine.commit().unwrap_err();
        assert_eq!(service.asked(), [""; 0], "{fault:?}");
        let failed = outcome(&done).unwrap().unwrap_err();
        assert!(matches!(failed, Failure::Store(_)), "{failed}");
        assert_eq!(world.engine.load().turns_outside, 0);
    }
}

#[test]
fn crash_before_the_commit_leaves_neither_decision_nor_call() {
    let (world, service) = (World::new(), Service::default());
    world.ask(decide());
    world.engine.run(0);
    world.ask(carry_out(&service));
    world.engine.run(0);
    let world = world.crashed();
    world.run_until_idle();
    assert_eq!(service.asked(), [""; 0]);
    assert_eq!(world.all("notes").len(), 0);
}

#[test]
fn call_is_made_by_a_running_engine() {
    let world = World::new().in_real_time();
    let service = Service::default();
    let threads = Threads::start(&world.engine, 2).unwrap();
    world.ask(decide());
    let done = world.ask(carry_out(&service));
    while service.asked().is_empty() && outcome(&done).is_none() {
        std::thread::yield_now();
    }
    if outcome(&done).is_none() {
        let decision = "the decision is on disk before the service is asked";
        assert_eq!(world.store.disk.lock().documents.len(), 1, "{decision}");
        service.answer("gone");
        while outcome(&done).is_none() {
            std::thread::yield_now();
        }
    }
    threads.stop();
}
