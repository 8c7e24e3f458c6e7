//! Answers of calls that only read: given again while what was read is the same, and never else.

use std::sync::atomic::{AtomicBool, Ordering};

use rialto_components::ReleaseSpec;

use crate::world::{World, asker, release};

/// Bytes of a document that has grown often.
const LONG: u32 = 200;

fn world() -> World {
    World::new(&release(vec![asker()], Vec::new()), 16)
}

/// The answers to this order, given twice: without the number of calls that the friend has answered, and whether it has
/// answered both times.
fn twice(world: &World, order: &str) -> (String, bool) {
    let order = format!("call counted {order}");
    let answers = [world.order(&order).unwrap(), world.order(&order).unwrap()];
    let [first, second] = answers.map(|answer| {
        let (answer, count) = answer.rsplit_once(' ').unwrap();
        (answer.to_owned(), count.parse::<u32>().unwrap())
    });
    assert_eq!(first.0, second.0, "`{order}` is answered alike");
    (first.0, second.1 == first.1 + 1)
}

#[test]
fn a_call_that_only_reads_is_not_made_again() {
    let world = world();
    assert_eq!(twice(&world, "nothing"), ("done".to_owned(), false));
    // Also a document that is not there was read.
    assert_eq!(twice(&world, "read 0001"), (String::new(), false));
}

#[test]
fn an_answer_is_outdated_when_a_document_changes_that_was_read_for_it() {
    let world = world();
    for bytes in [10, 20, 10] {
        world.order(&format!("call fill 1 3 {bytes}")).unwrap();
        let (read, is_made_again) = twice(&world, "read 0001");
        assert_eq!(read.len(), bytes);
        assert!(!is_made_again);
    }
    world.order("call fill 2 3 30").unwrap();
    let (read, _) = twice(&world, "read 0001");
    assert_eq!(read.len(), 10, "another document has changed");
}

/// `raise` makes the friend's document longer than what `copy` has noted, and `copy` notes how long it is. So one after the
/// other, in any order, what is noted never gets less.
#[test]
fn a_turn_with_a_remembered_answer_is_run_again_when_its_document_changes() {
    let world = world();
    world.order("raise").unwrap();
    let is_long = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for order in ["copy", "raise", "copy"] {
            let (world, is_long) = (&world, &is_long);
            threads.spawn(move || {
                while !is_long.load(Ordering::Relaxed) {
                    let answer = world.order(order).unwrap();
                    if let Some((now, before)) = answer.split_once(' ') {
                        let [now, before] = [now, before].map(|one| one.parse::<u32>().unwrap());
                        // The others stop also if this one fails.
                        is_long.fetch_or(now >= LONG || now < before, Ordering::Relaxed);
                        assert!(now >= before, "{now} after {before}");
                    }
                }
            });
        }
    });
}

#[test]
fn an_answer_is_for_its_arguments_alone() {
    let world = world();
    world.order("call fill 1 2 10").unwrap();
    world.order("call fill 2 3 20").unwrap();
    assert_eq!(twice(&world, "read 0001").0.len(), 10);
    assert_eq!(twice(&world, "read 0002").0.len(), 20);
    assert_eq!(twice(&world, "read 0003").0.len(), 0);
}

#[test]
fn a_call_that_does_more_than_read_is_always_made() {
    for order in [
        "who-calls",
        "log 1 10",
        "scan 10 * *",
        "fill 1 2 10",
        "write-then read 0001",
        "destroy nothing-of-mine",
    ] {
        let (_, is_made_again) = twice(&world(), order);
        assert!(is_made_again, "`{order}` is done each time");
    }
}

#[test]
fn a_function_that_mostly_acts_is_not_looked_for_and_still_answers() {
    let world = world();
    world.order("call fill 1 2 10").unwrap();
    for _ in 0..5 {
        world.order("calls 1000 who-calls").unwrap();
    }
    for _ in 0..3 {
        assert_eq!(world.order("call read 0001").unwrap().len(), 10);
    }
    world.order("call fill 1 2 20").unwrap();
    assert_eq!(world.order("call read 0001").unwrap().len(), 20);
}

#[test]
fn another_release_knows_no_answers_of_the_one_before() {
    let world = world();
    let first = world.order("call counted nothing").unwrap();
    assert_eq!(world.order("call counted nothing").unwrap(), first);
    let next = ReleaseSpec {
        number: 2,
        ..release(vec![asker()], Vec::new())
    };
    world.make_current(&next);
    world.order("call who-calls").unwrap();
    let answer = world.order("call counted nothing").unwrap();
    assert_eq!(answer, "done 2", "an instance of this release was called");
}
