//! Failing components: one bad message is parked alone, a component that always fails is paused, and waiting deliveries
//! block no request and are never lost.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::world::{Ask, BANK, Pay, World, doing, limits, note};
use rialto_engine::store::Store as _;
use rialto_engine::turn::Send as SendRequest;
use rialto_engine::{Decision, LetterFilter, Limits, Timestamp};

const MIRROR: &str = "mirror";
const TILL: &str = "till";

fn with(limits: Limits) -> World {
    World::on(Arc::default(), Arc::default(), limits)
}

/// Tell the mirror something as a client.
fn tell(world: &World, client: &str, what: &str) {
    let told = what.to_owned();
    let ask = doing(move |turn| {
        note(turn, MIRROR, &told, &told)?;
        Ok(true)
    });
    assert!(world.ask_as(client, ask).is_some(), "{what} was refused");
}

/// Let this much time pass, in steps, and run what there is to run.
fn live(world: &World, milliseconds: u64, step: u64) {
    for _ in 0..milliseconds / step {
        world.pass(step);
        world.run_until_idle();
    }
}

fn breaks(world: &World, component: &str) {
    world.bank.broken.lock().insert(component.to_owned());
}

fn mend(world: &World) {
    world.bank.broken.lock().clear();
}

fn noted(world: &World) -> Vec<String> {
    let noted = world.bank.noted.lock();
    noted.iter().map(|(_, what)| what.clone()).collect()
}

/// One of the mirror's deliveries about each of these, from two clients in turn, all failing.
fn fall(world: &World, messages: usize) {
    for n in 0..messages {
        tell(world, ["anna", "ben"][n % 2], &format!("m{n}"));
        world.run_until_idle();
    }
}

#[test]
fn by_default_an_hour_of_failures_parks_nothing() {
    let world = with(Limits::default());
    breaks(&world, MIRROR);
    tell(&world, "anna", "m");
    world.run_until_idle();
    let failed = || world.engine.counters().failed.load(Ordering::Relaxed);
    live(&world, 3_600_000, 1_000);
    assert!(world.engine.dead_letters().unwrap().is_empty());
    assert!(failed() < 40, "{} attempts in an hour", failed());
    mend(&world);
    live(&world, 300_000, 1_000);
    assert_eq!(noted(&world), ["m"]);
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn a_delivery_that_fails_too_long_is_parked() {
    let world = with(Limits {
        retry_for_ms: 60_000,
        ..Limits::default()
    });
    tell(&world, "anna", "poison");
    world.run_until_idle();
    live(&world, 59_000, 1_000);
    assert!(world.engine.dead_letters().unwrap().is_empty());
    live(&world, 60_000, 1_000);
    assert_eq!(world.engine.dead_letters().unwrap().len(), 1);
}

#[test]
fn a_bad_message_is_parked_alone() {
    let world = with(limits());
    for n in 0..40 {
        for client in ["anna", "ben", "carl"] {
            tell(&world, client, &format!("poison{client}{n}"));
            world.run_until_idle();
            tell(&world, client, &format!("good{client}{n}"));
            world.run_until_idle();
        }
        assert_eq!(world.engine.load().components_paused, 0);
        live(&world, 20, 20);
    }
    live(&world, 2_000, 10);
    assert_eq!(noted(&world).len(), 120);
    assert_eq!(world.engine.dead_letters().unwrap().len(), 120);
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn bad_messages_of_one_sender_pause_nobody() {
    let world = with(limits());
    for n in 0..40 {
        tell(&world, "anna", &format!("poison{n}"));
        world.run_until_idle();
    }
    assert_eq!(world.engine.paused(), []);
    tell(&world, "ben", "good");
    world.run_until_idle();
    assert_eq!(noted(&world), ["good"]);
}

#[test]
fn a_failing_component_is_paused_until_a_probe_succeeds() {
    let world = with(limits());
    breaks(&world, MIRROR);
    fall(&world, 7);
    assert_eq!(world.engine.paused(), []);
    tell(&world, "ben", "m7");
    world.run_until_idle();
    let paused = world.engine.paused();
    assert_eq!(paused.len(), 1);
    assert_eq!((&*paused[0].component, paused[0].kept), (MIRROR, 8));
    assert!(paused[0].error.contains("broken"), "{}", paused[0].error);
    assert_eq!(world.engine.counters().pauses.load(Ordering::Relaxed), 1);

    // What comes now is not tried.
    let failed = || world.engine.counters().failed.load(Ordering::Relaxed);
    let before = failed();
    for n in 8..100 {
        tell(&world, ["anna", "ben"][n % 2], &format!("m{n}"));
        world.run_until_idle();
    }
    assert_eq!(failed(), before);
    assert_eq!(world.engine.paused()[0].kept, 100);

    // One is tried at a time, at most each 100 ms in the end, and none is parked for it.
    live(&world, 10_000, 10);
    let probes = failed() - before;
    assert!((90..=110).contains(&probes), "{probes}");
    assert_eq!(u64::from(world.engine.paused()[0].probes), probes);
    assert!(world.engine.dead_letters().unwrap().is_empty());

    mend(&world);
    live(&world, 200, 10);
    assert_eq!(world.engine.paused(), []);
    let mut noted = noted(&world);
    assert_eq!(noted.len(), 100);
    // All in order, but for the probe.
    let probe = noted.remove(0);
    let expected: Vec<String> = (0..100)
        .map(|n| format!("m{n}"))
        .filter(|what| *what != probe)
        .collect();
    assert_eq!(noted, expected);
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn failed_probes_park_no_delivery() {
    let world = with(limits());
    breaks(&world, MIRROR);
    fall(&world, 8);
    live(&world, 10_000, 10);
    assert!(world.engine.dead_letters().unwrap().is_empty());
    // Each of the eight was a probe more often than a delivery is tried.
    let probes = world.engine.paused()[0].probes;
    assert!(probes > 8 * limits().attempts_max, "{probes}");
    mend(&world);
    live(&world, 200, 10);
    assert_eq!(noted(&world).len(), 8);
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn waiting_deliveries_keep_no_request_out() {
    let world = with(Limits {
        turns_waiting_max: 10,
        attempts_max: 1_000,
        ..limits()
    });
    breaks(&world, MIRROR);
    // One sender only, so that it is not paused: all wait for another attempt.
    for n in 0..50 {
        tell(&world, "anna", &format!("m{n}"));
        world.run_until_idle();
    }
    assert_eq!(world.engine.load().turns_delayed, 50);
    assert!(!world.is_busy());
    // Now it is.
    tell(&world, "ben", "m50");
    world.run_until_idle();
    assert_eq!(world.engine.paused()[0].kept, 51);
    assert!(!world.is_busy());
    mend(&world);
    live(&world, 1_000, 10);
    assert_eq!(noted(&world).len(), 51);
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn a_subscriber_paused_by_bad_messages_resumes_on_success() {
    let world = with(Limits {
        probe_initial_ms: 1_000,
        probe_max_ms: 600_000,
        ..limits()
    });
    for n in 0..50 {
        tell(&world, ["anna", "ben"][n % 2], &format!("poison{n}"));
        world.run_until_idle();
    }
    live(&world, 600_000, 100);
    assert_eq!(world.engine.paused().len(), 1, "nothing goes well with it");
    // Of somebody who was not tried yet: not after ten minutes, but at once.
    tell(&world, "carl", "good");
    world.run_until_idle();
    live(&world, 1_000, 100);
    assert_eq!(noted(&world), ["good"]);
    // Those bad ones that were never tried may pause it again, each time for some seconds at most.
    for n in 0..20 {
        tell(&world, "carl", &format!("good{n}"));
        live(&world, 4_000, 10);
        assert_eq!(noted(&world).len(), n + 2, "it waits for bad ones");
    }
    assert_eq!(world.engine.paused(), []);
    assert_eq!(world.engine.dead_letters().unwrap().len(), 50);
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn good_messages_behind_bad_ones_are_tried_too() {
    let world = with(Limits {
        probe_initial_ms: 1_000,
        probe_max_ms: 1_000,
        ..limits()
    });
    for n in 0..12 {
        tell(&world, ["anna", "ben"][n % 2], &format!("poison{n}"));
        world.run_until_idle();
    }
    for client in ["anna", "ben"] {
        tell(&world, client, &format!("good of {client}"));
        world.run_until_idle();
    }
    assert_eq!(world.engine.paused().len(), 1, "nothing goes well with it");
    // Each waits for its turn as a probe, and one that goes well is enough.
    live(&world, 20_000, 100);
    let mut noted = noted(&world);
    noted.sort();
    assert_eq!(noted, ["good of anna", "good of ben"]);
}

#[test]
fn one_senders_many_bad_messages_do_not_delay_anothers_probe() {
    let world = with(Limits {
        probe_initial_ms: 1_000,
        probe_max_ms: 1_000,
        ..limits()
    });
    breaks(&world, MIRROR);
    tell(&world, "ben", "good");
    world.run_until_idle();
    for n in 0..50 {
        tell(&world, "anna", &format!("poison{n}"));
        world.run_until_idle();
    }
    // The good one is the first probe, and fails as all do.
    live(&world, 1_000, 100);
    let paused = world.engine.paused();
    assert_eq!((paused[0].probes, paused[0].kept), (1, 51));
    mend(&world);
    assert!(noted(&world).is_empty());
    // It is the fourth again, although most of the bad ones were not tried yet.
    live(&world, 3_000, 100);
    assert_eq!(noted(&world), ["good"]);
}

#[test]
fn a_probe_that_is_slow_holds_up_nobody() {
    let world = with(limits());
    breaks(&world, MIRROR);
    fall(&world, 8);
    world.pass(20);
    assert_eq!(world.engine.ready(), 1, "the probe is ready and not run");
    // Others go on meanwhile, no second probe begins, and what comes for the mirror is kept.
    world.pass(10_000);
    assert_eq!(world.engine.ready(), 1);
    let answer = world.ask(doing(|turn| {
        note(turn, TILL, "s", "other")?;
        note(turn, MIRROR, "t", "late")?;
        Ok(true)
    }));
    for _ in 0..3 {
        world.engine.run(1);
    }
    world.engine.commit().unwrap();
    assert!(answer.lock().is_some());
    assert_eq!(noted(&world), ["other"]);
    mend(&world);
    world.run_until_idle();
    live(&world, 100, 10);
    assert_eq!(noted(&world).len(), 10);
}

#[test]
fn reminders_of_a_paused_component_wait_and_are_cancellable() {
    let world = with(limits());
    breaks(&world, MIRROR);
    for id in ["r0", "r1", "r2"] {
        let _ = world.ask(doing(move |turn| {
            let due = turn.now() + 100;
            turn.set_reminder(&MIRROR.into(), id, due, id.into())?;
            Ok(true)
        }));
    }
    fall(&world, 8);
    live(&world, 500, 10);
    assert_eq!(world.engine.paused()[0].kept, 11);
    let cancelled = world.ask(doing(|turn| turn.cancel_reminder(&MIRROR.into(), "r1")));
    world.run_until_idle();
    assert_eq!(cancelled.lock().take(), Some(Ok(true)));
    mend(&world);
    live(&world, 500, 10);
    let reminded: Vec<String> = world.all("reminded").into_keys().collect();
    assert_eq!(reminded, ["r0", "r2"]);
    assert_eq!(noted(&world).len(), 8);
    assert!(world.store.disk.lock().reminders.is_empty());
    assert_eq!(world.engine.load().turns_alive, 0);
}

#[test]
fn a_wall_clock_jump_does_not_move_an_attempt() {
    for jump in [-3_600_000, 3_600_000] {
        let world = with(limits());
        breaks(&world, MIRROR);
        tell(&world, "anna", "m");
        world.run_until_idle();
        let failed = || world.engine.counters().failed.load(Ordering::Relaxed);
        world.clock.jump(jump);
        world.engine.fire_due();
        world.run_until_idle();
        assert_eq!(failed(), 1, "not before its time");
        world.pass(10);
        world.run_until_idle();
        assert_eq!(failed(), 2, "not after its time");
        let due = world.engine.next_due().unwrap();
        let now = rialto_engine::Clock::now(&*world.clock);
        assert!(due > now && due <= now + 20, "{due}, {now}");
    }
}

fn letter(to: &str) -> SendRequest {
    use rialto_engine::network::{DeliveryPolicy, WhileAway};
    SendRequest {
        signature: None,
        method: "PUT".into(),
        url: format!("http://{to}/payments"),
        headers: vec![],
        body: None,
        policy: DeliveryPolicy {
            attempts_max: 1,
            attempt_timeout_ms: 1,
            deadline: Timestamp(u64::MAX),
            backoff_initial_ms: 1,
            backoff_max_ms: 1,
            while_away: WhileAway::Wait,
        },
        correlation: to.to_owned(),
    }
}

#[test]
fn a_failed_or_waiting_report_becomes_a_stored_delivery() {
    let world = with(limits());
    breaks(&world, MIRROR);
    let _ = world.ask(doing(|turn| {
        turn.send(&MIRROR.into(), letter("first"))?;
        turn.send(&MIRROR.into(), letter("second"))?;
        Ok(true)
    }));
    world.run_until_idle();
    assert!(world.wire.answer(0));
    world.run_until_idle();
    fall(&world, 8);
    assert!(world.wire.answer(0), "while the mirror is paused");
    world.run_until_idle();
    assert_eq!(world.engine.paused()[0].kept, 10);
    assert!(world.store.disk.lock().outbound.is_empty());
    let world = world.crashed();
    world.run_until_idle();
    assert!(world.wire.sent.lock().is_empty(), "nothing is sent again");
    live(&world, 100, 10);
    let reports = world.all("reports");
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert!(reports.values().all(|times| times == "1"));
}

#[test]
fn a_report_that_ends_the_process_each_time_is_parked() {
    let limits = Limits {
        redeliveries_max: 5,
        ..limits()
    };
    let mut world = with(limits.clone());
    let _ = world.ask(doing(|turn| {
        turn.send(&MIRROR.into(), letter("first"))?;
        Ok(true)
    }));
    world.run_until_idle();
    let mut starts = 0;
    while world.engine.dead_letters().unwrap().is_empty() {
        starts += 1;
        assert!(starts < 12, "it is never parked");
        world = world.crashed_with(limits.clone());
        world.wire.answer(0);
        // All but the turn of the report, which would end the process.
        world.engine.commit().unwrap();
        if world.engine.ready() > 0 {
            let parks = world.engine.counters().dead_letters.load(Ordering::Relaxed);
            assert_eq!(parks, 0);
            if starts > 7 {
                world.engine.run(0);
                world.engine.commit().unwrap();
            }
        }
    }
    assert!(world.store.disk.lock().outbound.is_empty());
}

#[test]
fn deliveries_beyond_the_bound_are_read_back_in_order() {
    let world = with(Limits {
        deliveries_waiting_in_memory_max: 10,
        ..limits()
    });
    breaks(&world, MIRROR);
    for n in 0..200 {
        tell(&world, ["anna", "ben"][n % 2], &format!("m{n:03}"));
        world.run_until_idle();
    }
    live(&world, 100, 10);
    let load = world.engine.load();
    assert_eq!((load.turns_kept, load.turns_on_disk), (200, 190));
    mend(&world);
    // The store cannot be read for a while.
    world.store.unreadable.store(2, Ordering::Relaxed);
    live(&world, 5_000, 10);
    let noted = noted(&world);
    assert_eq!(noted.len(), 200);
    assert!(noted[1..].is_sorted(), "{noted:?}");
    assert_eq!(world.engine.load().turns_alive, 0);
    assert!(world.store.disk.lock().deliveries.is_empty());
}

#[test]
fn selected_dead_letters_are_retried_in_order() {
    let world = with(Limits {
        attempts_max: 1,
        turns_waiting_max: 10,
        pause_senders: 9,
        ..limits()
    });
    breaks(&world, MIRROR);
    breaks(&world, TILL);
    let _ = world.ask(doing(|turn| {
        note(turn, MIRROR, "old", "old")?;
        note(turn, TILL, "till", "till")?;
        Ok(true)
    }));
    world.run_until_idle();
    world.pass(1_000);
    let since = rialto_engine::Clock::now(&*world.clock);
    for n in 0..50 {
        tell(&world, "anna", &format!("m{n:02}"));
        world.run_until_idle();
    }
    assert_eq!(world.engine.dead_letters().unwrap().len(), 52);
    mend(&world);
    let told = Arc::new(parking_lot::Mutex::new(None));
    let tell = told.clone();
    let which = LetterFilter {
        component: Some(MIRROR.into()),
        since: Some(since),
        before: None,
    };
    world.engine.decide_dead_letters(
        &which,
        Decision::Retry,
        Box::new(move |outcome| {
            *tell.lock() = Some(*outcome.unwrap().downcast::<usize>().unwrap())
        }),
    );
    assert!(told.lock().is_none(), "decided is not committed");
    world.engine.commit().unwrap();
    assert_eq!(told.lock().take(), Some(50));
    assert!(!world.is_busy(), "what is retried keeps nobody out");
    live(&world, 1_000, 10);
    let noted = noted(&world);
    assert_eq!(noted.len(), 50);
    assert!(noted.is_sorted(), "{noted:?}");
    let left = world.engine.dead_letters().unwrap();
    let left: Vec<&str> = left.iter().map(|l| &*l.delivery.component).collect();
    assert_eq!(left, [MIRROR, TILL]);
}

/// What the hour of a failing subscriber looked like.
#[derive(Default)]
struct Hour {
    asked: usize,
    acknowledged: usize,
    refused: usize,
    others_late: usize,
    kept_max: usize,
    in_memory_max: usize,
}

/// One hour in which a subscriber fails, with a crash of the host in the middle.
#[test]
fn an_hour_of_a_failing_subscriber_loses_nothing() {
    const STEP_MS: u64 = 500;
    const IN_MEMORY: usize = 1_000;
    let limits = Limits {
        deliveries_waiting_in_memory_max: IN_MEMORY,
        ..Limits::default()
    };
    let clients = ["anna", "ben", "carl", "dora"];
    let mut hour = Hour::default();
    let mut expected: Vec<String> = Vec::new();
    let mut reminders = 0;
    let mut world = with(limits.clone());
    breaks(&world, MIRROR);
    let steps = 3_600_000 / STEP_MS;
    for step in 0..steps {
        if step == steps / 2 {
            world = world.crashed_with(limits.clone());
            breaks(&world, MIRROR);
            world.run_until_idle();
        }
        let mut answers = Vec::new();
        for client in clients {
            let n = hour.asked;
            hour.asked += 1;
            // Two messages about each subject, in order.
            let (subject, what) = (format!("s{}", n / 8 * 4 + n % 4), format!("{n:06}"));
            let told = what.clone();
            let with_reminder = n.is_multiple_of(100);
            reminders += usize::from(with_reminder);
            let ask = doing(move |turn| {
                note(turn, MIRROR, &subject, &told)?;
                note(turn, TILL, &subject, &told)?;
                if with_reminder {
                    let due = turn.now() + 1_000;
                    turn.set_reminder(&MIRROR.into(), &told, due, told.clone())?;
                }
                Ok(true)
            });
            match world.ask_as(client, ask) {
                Some(answer) => answers.push(answer),
                None => hour.refused += 1,
            }
            expected.push(what);
        }
        let till = world.bank.noted.lock().len();
        world.run_until_idle();
        hour.acknowledged += answers
            .iter()
            .filter(|a| matches!(*a.lock(), Some(Ok(true))))
            .count();
        hour.others_late += clients.len() - (world.bank.noted.lock().len() - till);
        world.pass(STEP_MS);
        let load = world.engine.load();
        hour.kept_max = hour.kept_max.max(load.turns_kept);
        let in_memory = load.turns_kept + load.turns_delayed - load.turns_on_disk;
        hour.in_memory_max = hour.in_memory_max.max(in_memory);
    }
    assert_eq!(world.engine.paused().len(), 1);
    assert!(world.engine.dead_letters().unwrap().is_empty());

    world.bank.noted.lock().clear();
    mend(&world);
    let mut until_well_ms = 0;
    while world.engine.load().turns_alive > 0 {
        live(&world, 10, 10);
        until_well_ms += 10;
        assert!(until_well_ms < 600_000, "{:?}", world.engine.load());
    }
    // Reminders come after what came before them.
    live(&world, 10, 10);
    let mut noted: Vec<String> = {
        let noted = world.bank.noted.lock();
        let mirror = noted.iter().filter(|(component, _)| component == MIRROR);
        mirror.map(|(_, what)| what.clone()).collect()
    };
    let delayed = noted.len();
    let told: HashSet<String> = noted.iter().cloned().collect();
    let lost = expected.iter().filter(|what| !told.contains(*what)).count();
    println!(
        "an hour of a failing subscriber, simulated, with one crash\n\
         | asked | acknowledged | refused | lost | delayed | reminders delayed | others held up | most kept | most of it in memory | until all was well |\n\
         |---|---|---|---|---|---|---|---|---|---|\n\
         | {} | {} | {} | {lost} | {delayed} | {reminders} | {} | {} | {} | {:.1} s |",
        hour.asked,
        hour.acknowledged,
        hour.refused,
        hour.others_late,
        hour.kept_max,
        hour.in_memory_max,
        until_well_ms as f64 / 1_000.0,
    );
    assert_eq!((hour.refused, hour.others_late, lost), (0, 0, 0));
    assert_eq!(hour.acknowledged, hour.asked);
    assert_eq!(delayed, told.len(), "each once");
    assert_eq!(world.all("reminded").len(), reminders);
    assert!(
        hour.in_memory_max <= IN_MEMORY + 100,
        "{}",
        hour.in_memory_max
    );
    assert!(until_well_ms <= 60_000, "{until_well_ms} ms");
    // In order, but for the probe, and that is the first about its subject.
    let probe = noted.remove(0);
    expected.retain(|what| *what != probe);
    assert!(noted == expected, "out of order");
    let probe: usize = probe.parse().unwrap();
    assert_eq!(
        probe % 8,
        probe % 4,
        "{probe} is the second about its subject"
    );
    let disk = world.store.disk.lock();
    assert!(disk.deliveries.is_empty() && disk.reminders.is_empty());
}

#[test]
fn payments_are_whole_whatever_is_paused_and_crashes() {
    let limits = Limits {
        pause_subjects: 3,
        pause_senders: 1,
        deliveries_waiting_in_memory_max: 2,
        ..limits()
    };
    let mut world = with(limits.clone());
    let _ = world.ask(Ask::Open {
        account: "a0".into(),
        balance: 1_000,
    });
    world.run_until_idle();
    for n in 0..60 {
        if n % 20 == 5 {
            breaks(&world, BANK);
        }
        if n % 20 == 15 {
            mend(&world);
            live(&world, 500, 10);
        }
        if n % 20 == 10 {
            world = world.crashed_with(limits.clone());
            breaks(&world, BANK);
        }
        let _ = world.ask(Ask::Pay(Pay {
            id: format!("p{n}"),
            from: "a0".into(),
            to: "a1".into(),
            amount: 1,
        }));
        world.run_until_idle();
        world.pass(10);
    }
    mend(&world);
    live(&world, 1_000, 10);
    world.finish();
    let each: BTreeMap<String, String> = (0..60).map(|n| (format!("p{n}"), "1".into())).collect();
    for what in ["executions", "reports", "reminded"] {
        assert_eq!(world.all(what), each, "{what}");
    }
    assert!(world.store.dead_letters().unwrap().is_empty());
}
