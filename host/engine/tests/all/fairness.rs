//! Fair queueing: clients are served round robin, each has a share, and one client's flood does not block others.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::world::{Ask, World, doing, limits, note};
use rialto_engine::{Failure, Limits, Priority};

type Answer = Arc<Mutex<Option<Result<bool, Failure>>>>;

fn with(limits: Limits) -> World {
    World::on(Arc::default(), Arc::default(), limits)
}

/// A request that leads to a delivery.
fn work() -> Ask {
    doing(|turn| {
        note(turn, "till", "work", "work")?;
        Ok(true)
    })
}

/// What became of a client's requests.
#[derive(Default)]
struct Tally {
    asked: usize,
    refused: usize,
    waiting: Vec<(u64, Answer)>,
    answered: usize,
    slowest_ms: u64,
}

impl Tally {
    fn ask(&mut self, world: &World, client: &str, now_ms: u64) {
        self.asked += 1;
        match world.ask_as(client, work()) {
            Some(answer) => self.waiting.push((now_ms, answer)),
            None => self.refused += 1,
        }
    }

    fn look(&mut self, now_ms: u64) {
        let (mut answered, mut refused, mut slowest) = (0, 0, self.slowest_ms);
        self.waiting
            .retain(|(asked_ms, answer)| match &*answer.lock() {
                None => true,
                Some(Ok(_)) => {
                    answered += 1;
                    slowest = slowest.max(now_ms - asked_ms);
                    false
                }
                Some(Err(Failure::Refused)) => {
                    refused += 1;
                    false
                }
                Some(Err(other)) => panic!("{other}"),
            });
        self.answered += answered;
        self.refused += refused;
        self.slowest_ms = slowest;
    }
}

/// A second in which these clients ask for so many turns each millisecond, and so many turns can be run in
/// one.
fn second(
    limits: Limits,
    clients: &[(&str, usize)],
    turns_each_ms: usize,
) -> BTreeMap<String, Tally> {
    let world = with(limits);
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for now_ms in 0..1_000 {
        let most = clients.iter().map(|(_, each)| *each).max().unwrap();
        // All at once, whoever asks for more than others going on when they are through.
        for n in 0..most {
            for (client, each) in clients {
                if n < *each {
                    let tally = tallies.entry((*client).to_owned()).or_default();
                    tally.ask(&world, client, now_ms);
                }
            }
        }
        for _ in 0..turns_each_ms {
            world.engine.run_next();
        }
        world.engine.commit().unwrap();
        world.pass(1);
        for tally in tallies.values_mut() {
            tally.look(now_ms + 1);
        }
    }
    tallies
}

#[test]
fn one_client_floods_and_the_others_keep_theirs() {
    let limits = Limits {
        turns_waiting_max: 256,
        turns_waiting_per_client_max: 64,
        ..limits()
    };
    let others = ["b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let mut clients = vec![("flood", 300)];
    clients.extend(others.map(|name| (name, 1)));
    // Each request is two turns: the others need 18 of 40, the flood asks for 600.
    let tallies = second(limits, &clients, 40);
    println!("| client | asked | answered | refused | slowest |\n|---|---|---|---|---|");
    for (client, tally) in &tallies {
        println!(
            "| {client} | {} | {} | {} | {} ms |",
            tally.asked, tally.answered, tally.refused, tally.slowest_ms
        );
    }
    for name in others {
        let tally = &tallies[name];
        assert!(
            tally.answered * 100 >= tally.asked * 95,
            "{name}: {} of {}",
            tally.answered,
            tally.asked
        );
        assert!(tally.slowest_ms <= 50, "{name}: {} ms", tally.slowest_ms);
    }
    assert!(
        tallies["flood"].answered >= 9_000,
        "what is left is not wasted"
    );
}

#[test]
fn many_that_flood_together_do_not_keep_another_out() {
    let limits = Limits {
        turns_waiting_max: 64,
        turns_waiting_per_client_max: 32,
        ..limits()
    };
    let clients = [("f1", 50), ("f2", 50), ("f3", 50), ("f4", 50), ("b", 1)];
    let tallies = second(limits, &clients, 20);
    let tally = &tallies["b"];
    assert!(tally.answered >= 950, "{}", tally.answered);
}

#[test]
fn what_is_left_is_shared_by_weight() {
    let limits = Limits {
        turns_waiting_max: 256,
        turns_waiting_per_client_max: 64,
        client_weights: vec![("heavy".into(), 3)],
        ..limits()
    };
    let tallies = second(limits, &[("heavy", 50), ("light", 50)], 40);
    let (heavy, light) = (tallies["heavy"].answered, tallies["light"].answered);
    assert!(
        heavy * 10 >= light * 29 && heavy * 10 <= light * 31,
        "{heavy}, {light}"
    );
}

#[test]
fn a_displaced_request_is_told_and_has_not_begun() {
    let world = with(Limits {
        turns_waiting_max: 4,
        turns_waiting_per_client_max: 4,
        ..limits()
    });
    let greedy: Vec<Answer> = (0..4).map(|_| world.ask_as("a", work()).unwrap()).collect();
    assert!(world.ask_as("a", work()).is_none(), "the share is taken");
    let other = world.ask_as("b", work()).unwrap();
    assert_eq!(greedy[3].lock().take(), Some(Err(Failure::Refused)));
    assert!(world.ask_as("b", work()).is_some());
    assert!(
        world.ask_as("b", work()).is_none(),
        "not more than the other has"
    );
    world.run_until_idle();
    assert_eq!(other.lock().take(), Some(Ok(true)));
    assert_eq!(greedy[0].lock().take(), Some(Ok(true)));
    let load = world.engine.load();
    assert_eq!((load.turns_active, load.turns_alive), (0, 0));
}

#[test]
fn work_goes_first_without_blocking_requests() {
    let world = with(limits());
    let _ = world.ask_as("a", doing(crate::world::spin));
    world.run_and_commit_one();
    let answer = world.ask_as("b", doing(|_| Ok(true))).unwrap();
    let mut turns = 0;
    while answer.lock().is_none() {
        world.engine.run_next();
        world.engine.commit().unwrap();
        turns += 1;
        assert!(turns < 20, "events without end keep a request out");
    }
    assert!(turns > 2, "what was begun goes first");
}

#[test]
fn a_request_of_a_higher_priority_begins_first() {
    let world = with(limits());
    let low: Vec<Answer> = (0..2)
        .map(|_| {
            world
                .ask_with("a", Priority::Low, doing(|_| Ok(true)))
                .unwrap()
        })
        .collect();
    let high = world
        .ask_with("a", Priority::High, doing(|_| Ok(true)))
        .unwrap();
    world.run_and_commit_one();
    assert_eq!(high.lock().take(), Some(Ok(true)));
    world.run_and_commit_one();
    assert_eq!(low[0].lock().take(), Some(Ok(true)), "then the oldest");
    assert_eq!(*low[1].lock(), None);
}

#[test]
fn a_request_displaces_those_of_lower_priority_only() {
    let bounds = [(16, 4), (4, 16)];
    for (all_max, each_max) in bounds {
        let world = with(Limits {
            turns_waiting_max: all_max,
            turns_waiting_per_client_max: each_max,
            ..limits()
        });
        let ask = |priority| world.ask_with("a", priority, doing(|_| Ok(true)));
        let middle = ask(Priority::Middle).unwrap();
        let low: Vec<Answer> = (0..3).map(|_| ask(Priority::Low).unwrap()).collect();
        assert!(ask(Priority::Low).is_none(), "equal ones stay");
        assert!(ask(Priority::Middle).is_some());
        assert_eq!(
            low[2].lock().take(),
            Some(Err(Failure::Refused)),
            "the newest"
        );
        let high: Vec<Answer> = (0..2).map(|_| ask(Priority::High).unwrap()).collect();
        assert!(
            low.iter()
                .all(|answer| answer.lock().as_ref().is_none_or(Result::is_err))
        );
        assert!(ask(Priority::Low).is_none());
        world.run_until_idle();
        assert_eq!(middle.lock().take(), Some(Ok(true)));
        assert!(high.iter().all(|answer| *answer.lock() == Some(Ok(true))));
        let load = world.engine.load();
        assert_eq!((load.turns_active, load.turns_alive), (0, 0));
        assert!(ask(Priority::Low).is_some(), "the share is free again");
    }
}

/// How many payments of three requests each end in a second, in which eight begin each millisecond, and ten requests
/// can be run. A payment with a refused request is given up.
fn payments_ended(priorities: [Priority; 3]) -> usize {
    const REQUESTS_EACH_MS: usize = 10;
    let world = with(Limits {
        turns_waiting_max: 512,
        turns_waiting_per_client_max: 128,
        ..limits()
    });
    let ask = |step: usize| world.ask_with("a", priorities[step], doing(|_| Ok(true)));
    let mut under_way: Vec<(usize, Answer)> = Vec::new();
    let mut next_steps = Vec::new();
    let mut ended = 0;
    for _ in 0..1_000 {
        let begun = std::iter::repeat_n(0, 8);
        for step in begun.chain(std::mem::take(&mut next_steps)) {
            under_way.extend(ask(step).map(|answer| (step, answer)));
        }
        for _ in 0..REQUESTS_EACH_MS {
            world.engine.run_next();
        }
        world.engine.commit().unwrap();
        world.pass(1);
        under_way.retain(|(step, answer)| match answer.lock().take() {
            None => true,
            Some(Ok(_)) if *step == 2 => {
                ended += 1;
                false
            }
            Some(Ok(_)) => {
                next_steps.push(step + 1);
                false
            }
            Some(Err(_)) => false,
        });
    }
    ended
}

#[test]
fn an_overloaded_host_ends_payments_instead_of_beginning_them() {
    let ended = payments_ended([Priority::Low, Priority::Middle, Priority::High]);
    assert!(ended >= 3_200, "{ended} of 3,333 that would be possible");
    let without = payments_ended([Priority::High; 3]);
    assert!(without < 2_500, "{without}: the test finds no difference");
}
