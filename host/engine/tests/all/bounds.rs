//! The bounds for components: endless chains of events, endless turns, poison messages, overload.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::world::{Ask, BANK, BankDocuments as _, Pay, World, doing, spin};
use rialto_engine::history::Step;
use rialto_engine::store::{ScanRange, Store as _};
use rialto_engine::{Failure, Interrupt, Limits, Payload, Timestamp, Turn, limits};

fn with(limits: Limits) -> World {
    World::on(Arc::default(), Arc::default(), limits)
}

fn pay(id: &str) -> Ask {
    Ask::Pay(Pay {
        id: id.into(),
        from: "a0".into(),
        to: "a1".into(),
        amount: 1,
    })
}

fn open(world: &World) {
    let _ = world.ask(Ask::Open {
        account: "a0".into(),
        balance: 1_000,
    });
    world.run_until_idle();
}

/// What a turn is told that does the same thing for ever.
fn told(
    what: impl Fn(&mut Turn, usize) -> Result<(), Interrupt> + Send + Sync + 'static,
) -> String {
    let world = World::new();
    let answer = world.ask(doing(move |turn| {
        for n in 0..1_000_000 {
            what(turn, n)?;
        }
        Ok(true)
    }));
    world.run_until_idle();
    let answer = answer.lock().take();
    let Some(Err(Failure::Handler { reason, .. })) = answer else {
        panic!("it was let: {answer:?}");
    };
    assert_eq!(world.store.disk.lock().collections.len(), 0);
    reason
}

#[test]
fn a_chain_of_events_without_end_is_parked() {
    let world = with(Limits {
        hops_max: 20,
        ..crate::world::limits()
    });
    let _ = world.ask(doing(spin));
    world.run_until_idle();
    let letters = world.engine.dead_letters().unwrap();
    assert_eq!(letters.len(), 1);
    let error = &letters[0].error;
    assert!(error.contains("end of 21 events in a row"), "{error}");
    assert_eq!(letters[0].attempts, 0, "it was not tried");
    assert!(world.store.disk.lock().deliveries.is_empty());
}

#[test]
fn a_chain_is_as_long_after_a_restart() {
    let limits = Limits {
        hops_max: 20,
        ..crate::world::limits()
    };
    let mut world = with(limits.clone());
    let _ = world.ask(doing(spin));
    for _ in 0..20 {
        world.engine.run(0);
        world.engine.commit().unwrap();
        let (store, clock) = (world.store.reopened(), world.clock.clone());
        world = World::on(store, clock, limits.clone());
    }
    world.run_until_idle();
    assert_eq!(world.engine.dead_letters().unwrap().len(), 1);
}

#[test]
fn turns_queued_for_a_document_count_for_admission() {
    let world = with(Limits {
        turns_waiting_max: 5,
        ..crate::world::limits()
    });
    let engine = world.engine.clone();
    let hold = |turn: &mut Turn| turn.put("slow", "slow", "1");
    // While the first holds the document the others come to queue for it.
    let _ = world.ask(doing(move |turn| {
        hold(turn)?;
        while engine.run(0) {}
        let load = engine.load();
        assert_eq!((load.turns_active, load.turns_alive), (1, 5));
        Ok(true)
    }));
    for _ in 0..4 {
        let _ = world.ask(doing(move |turn| hold(turn).map(|()| true)));
    }
    assert!(world.is_busy());
    world.engine.run(0);
    world.run_until_idle();
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn the_bytes_of_a_turn_are_bounded() {
    let text = || "x".repeat(512 << 10);
    let body = move || format!("\"{}\"", text());
    let cases: Vec<(&str, String)> = vec![
        ("write", told(move |t, _| t.put("docs", "one", &body()))),
        (
            "insert",
            told(move |t, n| t.insert("docs", &n.to_string(), &body()).map(|_| ())),
        ),
        (
            "deliver",
            told(move |t, _| {
                let payload = Payload::Stored(text().into_bytes().into());
                t.deliver(&BANK.into(), &"events".into(), &"held".into(), payload)
            }),
        ),
        (
            "remind",
            told(move |t, _| t.set_reminder(&BANK.into(), "r", Timestamp(u64::MAX), text())),
        ),
        (
            "receipt",
            told(move |t, _| t.receipt("s", text(), None).map(|_| ())),
        ),
        (
            "note",
            told(move |t, _| t.note(Step::Wrote { document: text() })),
        ),
        (
            "scan",
            told(move |t, n| {
                if n < 8 {
                    return t.put("docs", &n.to_string(), &body());
                }
                t.scan(BANK, "docs", &ScanRange::all(), 1_000).map(|_| ())
            }),
        ),
    ];
    for (what, reason) in cases {
        let expected = format!("{} bytes in all", limits::TURN_BYTES_MAX);
        assert!(reason.contains(&expected), "{what}: {reason}");
    }
}

#[test]
fn a_turn_has_so_many_steps_receipts_and_collections() {
    let steps = told(|t, _| t.note(Step::Answered { status: 200 }));
    assert!(steps.contains("may stage 4096 steps"), "{steps}");
    let receipts = told(|t, _| t.receipt("s", String::new(), None).map(|_| ()));
    assert!(receipts.contains("may stage 256 receipts"), "{receipts}");
    let collections = told(|t, n| t.get(&format!("c{n}"), "x").map(|_| ()));
    assert!(
        collections.contains("may have 256 collections"),
        "{collections}"
    );
}

#[test]
fn a_collection_that_nothing_was_written_to_leaves_nothing() {
    let world = World::new();
    let _ = world.ask(doing(|turn| {
        turn.get("only-read", "x")?;
        turn.scan(BANK, "only-scanned", &ScanRange::all(), 1)?;
        turn.put("written", "x", "1")?;
        Ok(true)
    }));
    let _ = world.ask(doing(|turn| {
        turn.put("failed", "x", "1")?;
        Err(Interrupt::Misuse("no".into()))
    }));
    world.run_until_idle();
    let names = |world: &World| -> Vec<String> {
        let disk = world.store.disk.lock();
        let names = disk.collections.iter().map(|c| c.name.to_string());
        names.collect()
    };
    assert_eq!(names(&world), ["written"]);
    // Written later than one with a higher number.
    let _ = world.ask(doing(|turn| {
        turn.put("only-read", "x", "2")?;
        Ok(true)
    }));
    world.run_until_idle();
    let world = world.crashed();
    let _ = world.ask(doing(|turn| {
        turn.put("failed", "x", "3")?;
        Ok(true)
    }));
    world.run_until_idle();
    assert_eq!(names(&world), ["written", "only-read", "failed"]);
    let world = world.crashed();
    for (collection, body) in [("written", "1"), ("only-read", "2"), ("failed", "3")] {
        assert_eq!(world.all(collection)["x"], body);
    }
}

#[test]
fn a_scans_page_ends_at_its_bytes() {
    let world = World::new();
    let body = format!("\"{}\"", "x".repeat(1_000_000));
    for n in 0..10 {
        let body = body.clone();
        let _ = world.ask(doing(move |turn| {
            turn.put("large", &format!("d{n}"), &body)?;
            Ok(true)
        }));
        if n < 6 {
            world.run_until_idle();
        }
        world.engine.run(0);
    }
    let _ = world.ask(doing(|turn| {
        let first = turn.scan(BANK, "large", &ScanRange::all(), 100)?;
        assert_eq!((first.documents.len(), first.more), (5, true));
        let rest = ScanRange {
            from: format!("{}\0", first.documents[4].id),
            to: None,
        };
        let second = turn.scan(BANK, "large", &rest, 100)?;
        assert_eq!((second.documents.len(), second.more), (5, true));
        Ok(true)
    }));
    world.run_until_idle();
    assert_eq!(world.all("large").len(), 10, "operators see all of it");
}

#[test]
fn a_long_scan_sees_disk_executed_and_own_writes() {
    let world = World::new();
    let _ = world.ask(doing(|turn| {
        for n in 0..300 {
            turn.put("many", &format!("{n:03}"), "0")?;
        }
        Ok(true)
    }));
    world.run_until_idle();
    let _ = world.ask(doing(|turn| {
        for n in (0..300).step_by(3) {
            turn.remove("many", &format!("{n:03}"))?;
        }
        turn.put("many", "063x", "1")?;
        turn.put("many", "300", "1")?;
        Ok(true)
    }));
    world.engine.run(0);
    let seen = world.ask(doing(|turn| {
        turn.put("many", "064x", "2")?;
        turn.put("many", "301", "2")?;
        turn.remove("many", "299")?;
        let page = turn.scan(BANK, "many", &ScanRange::all(), 1_000)?;
        let mut expected: Vec<String> = (0..299)
            .filter(|n| n % 3 != 0)
            .map(|n| format!("{n:03}"))
            .collect();
        expected.extend(["063x", "064x", "300", "301"].map(str::to_owned));
        expected.sort();
        let ids: Vec<_> = page.documents.iter().map(|d| d.id.to_string()).collect();
        assert_eq!(ids, expected);
        assert!(!page.more);
        let few = turn.scan(BANK, "many", &ScanRange::prefix("06"), 3)?;
        let ids: Vec<_> = few.documents.iter().map(|d| &*d.id).collect();
        assert_eq!((ids, few.more), (vec!["061", "062", "063x"], true));
        Ok(true)
    }));
    world.run_until_idle();
    assert_eq!(seen.lock().take(), Some(Ok(true)));
}

/// The second of three deliveries ends the process whenever it runs.
#[test]
fn only_the_poison_delivery_is_parked() {
    let limits = Limits {
        redeliveries_max: 5,
        ..crate::world::limits()
    };
    let again = |world: World| {
        let (store, clock) = (world.store.reopened(), world.clock.clone());
        World::on(store, clock, limits.clone())
    };
    let mut world = with(limits.clone());
    open(&world);
    for n in 1..=3 {
        let _ = world.ask(pay(&format!("p{n}")));
    }
    for _ in 0..3 {
        world.engine.run(0);
    }
    world.engine.commit().unwrap();
    for start in 1..=5 {
        // It runs beside the others, before anything of them is on disk.
        world = again(world);
        assert_eq!(world.engine.ready(), 3, "start {start}");
    }
    world = again(world);
    assert_eq!(world.engine.ready(), 1, "one after the other");
    assert!(world.engine.run(0));
    assert_eq!(world.engine.ready(), 0, "not before it is on disk");
    world.engine.commit().unwrap();
    assert_eq!(world.engine.ready(), 1);
    assert!(world.engine.dead_letters().unwrap().is_empty());
    // The second runs, and the process ends.
    world = again(world);
    world.finish();
    let letters = world.store.dead_letters().unwrap();
    assert_eq!(letters.len(), 1);
    let error = &letters[0].error;
    assert!(error.contains("started 7 times"), "{error}");
    let made: Vec<_> = world.all("executions").into_keys().collect();
    assert_eq!(made, ["p1", "p3"]);
    assert!(world.store.disk.lock().deliveries.is_empty());
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn a_poison_candidate_that_fails_does_not_block_the_others() {
    let limits = Limits {
        redeliveries_max: 0,
        hops_max: 1,
        ..crate::world::limits()
    };
    let world = with(limits.clone());
    open(&world);
    let _ = world.ask(doing(spin));
    let _ = world.ask(pay("p1"));
    let _ = world.ask(pay("p2"));
    // The chain first, so that its end is the first candidate.
    for place in [0, 2, 0, 0] {
        assert!(world.engine.run(place));
    }
    world.engine.commit().unwrap();
    let (store, clock) = (world.store.reopened(), world.clock.clone());
    drop(world);
    let world = World::on(store, clock, limits);
    world.bank.failures.store(1, Ordering::Relaxed);
    world.finish();
    assert_eq!(world.engine.dead_letters().unwrap().len(), 1, "the chain");
    assert_eq!(world.all("executions").len(), 2);
}

#[test]
fn a_reminder_that_ends_the_process_each_time_is_parked() {
    let limits = Limits {
        redeliveries_max: 5,
        ..crate::world::limits()
    };
    let mut world = with(limits.clone());
    for id in ["deadly", "later"] {
        let _ = world.ask(doing(move |turn| {
            let due = turn.now() + if id == "later" { 1_000_000 } else { 50 };
            turn.set_reminder(&BANK.into(), id, due, id.into())?;
            Ok(true)
        }));
    }
    world.run_until_idle();
    let mut starts = 1;
    loop {
        // Its turn would end the process here.
        world.pass(60);
        if !world.engine.dead_letters().unwrap().is_empty() {
            break;
        }
        if starts > 7 {
            world.run_until_idle();
            break;
        }
        assert_eq!(world.engine.ready(), 1, "start {starts}");
        // Other work is committed, so that the reminder's delivery has another id in each start.
        let answer = world.ask(doing(|turn| {
            turn.put("others", "one", "1")?;
            Ok(true)
        }));
        assert!(world.engine.run(1), "behind the reminder");
        world.engine.commit().unwrap();
        assert_eq!(answer.lock().take(), Some(Ok(true)));
        world = world.crashed_with(limits.clone());
        starts += 1;
    }
    let letters = world.engine.dead_letters().unwrap();
    assert_eq!(letters.len(), 1, "after {starts} starts");
    assert!(letters[0].error.contains("times while it was pending"));
    assert_eq!(world.engine.load().reminders, 1, "the other one waits");
    assert!(world.all("reminded").is_empty());
}

#[test]
fn a_poison_candidate_that_waits_is_not_the_poison() {
    let limits = Limits {
        redeliveries_max: 0,
        ..crate::world::limits()
    };
    let world = with(limits.clone());
    open(&world);
    for id in ["p1", "p2"] {
        let _ = world.ask(pay(id));
    }
    // Not their deliveries.
    world.engine.run(0);
    world.engine.run(0);
    world.engine.commit().unwrap();
    let world = world.crashed_with(limits.clone());
    world.bank.failures.store(1, Ordering::Relaxed);
    assert!(world.engine.run(0), "the first fails in the ordinary way");
    world.engine.commit().unwrap();
    assert_eq!(world.engine.ready(), 1);
    // The second runs, and the process ends.
    let world = world.crashed_with(limits);
    world.finish();
    let letters = world.engine.dead_letters().unwrap();
    assert_eq!(letters.len(), 1);
    let made: Vec<_> = world.all("executions").into_keys().collect();
    assert_eq!(made, ["p1"]);
}

#[test]
fn a_delivery_may_succeed_in_its_last_start() {
    let limits = Limits {
        redeliveries_max: 5,
        ..crate::world::limits()
    };
    let mut world = with(limits.clone());
    open(&world);
    let _ = world.ask(pay("p1"));
    world.engine.run(0);
    world.engine.commit().unwrap();
    for _ in 0..5 {
        let (store, clock) = (world.store.reopened(), world.clock.clone());
        world = World::on(store, clock, limits.clone());
    }
    world.finish();
    assert_eq!(world.all("executions")["p1"], "1");
    assert!(world.engine.dead_letters().unwrap().is_empty());
}

#[test]
fn so_many_lines_of_a_turn_are_kept() {
    let world = World::new();
    let answer = world.ask(doing(|turn| {
        let kept = (0..1_000).filter(|_| turn.may_log()).count();
        assert_eq!(kept, limits::LINES_PER_TURN_MAX as usize);
        Ok(true)
    }));
    world.run_until_idle();
    assert_eq!(answer.lock().take(), Some(Ok(true)));
}
