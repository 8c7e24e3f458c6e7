//! Party queries: waiting, answers, and ends.

use super::*;
use rialto_sdk::testing::Dice;

#[test]
fn party_query_and_answer_are_forwarded() {
    let mut world = World::new();
    world.associate("payeefsp", "payeefsp", None);
    assert_eq!(world.ask("payerfsp", None), "payerfsp asks payeefsp");
    assert_eq!(world.reminders.len(), 1);
    let answer = world.answer("payeefsp", Some("payerfsp"));
    assert_eq!(answer.as_deref(), Some("payeefsp answers payerfsp"));
    assert!(world.reminders.is_empty());
    world.pass(60_000);
    assert_eq!(world.last(), "payeefsp answers payerfsp");
}

#[test]
fn a_query_without_an_fsp_to_ask_fails() {
    let mut world = World::new();
    assert_eq!(world.ask("payerfsp", None), "3204 for payerfsp");
    assert_eq!(world.ask("payerfsp", Some("stranger")), "3201 for payerfsp");
    assert_eq!(world.ask("payerfsp", Some("barred")), "3201 for payerfsp");
    assert_eq!(world.ask("stranger", Some("payeefsp")), "3200 for stranger");
    assert_eq!(
        world.ask("payerfsp", Some("payeefsp")),
        "payerfsp asks payeefsp"
    );
}

#[test]
fn answer_that_names_another_fsp_ends_the_query() {
    let mut world = World::new();
    let refused = |responder: &str, requester: Option<&str>| asked::party_info_refused::Event {
        requester_fsp: responder.to_owned(),
        destination_fsp: requester.map(str::to_owned),
        party: party(),
        error: error("3101", ""),
        message: message("PUT", responder),
    };
    let told = |world: &World| -> Vec<String> {
        let failed = world.outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Failed(event) => {
                let by = event.message.method.as_str();
                Some(format!("{} {by} {}", event.error.code, event.requester_fsp))
            }
            _ => None,
        });
        failed.collect()
    };
    world.ask("payerfsp", Some("payeefsp"));
    // Of one that was not asked it changes nothing.
    queries::refuse_answer(&mut world, refused("otherfsp", Some("payerfsp")));
    queries::refuse_answer(&mut world, refused("payeefsp", Some("otherfsp")));
    queries::refuse_answer(&mut world, refused("otherfsp", None));
    assert_eq!((told(&world).len(), world.notes.borrow().len()), (0, 3));
    queries::refuse_answer(&mut world, refused("payeefsp", None));
    // The requester in the words of its question, the responder in those of its answer.
    assert_eq!(told(&world), ["3101 GET payerfsp", "3101 PUT payeefsp"]);
    assert!(world.waiting.is_empty() && world.reminders.is_empty());
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
    // An FSP that queries itself is told once.
    world.ask("payeefsp", Some("payeefsp"));
    queries::refuse_answer(&mut world, refused("payeefsp", Some("payeefsp")));
    assert_eq!(told(&world).len(), 3);
}

#[test]
fn unexpected_answer_is_dropped_with_a_note() {
    let mut world = World::new();
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
    world.ask("payerfsp", Some("payeefsp"));
    assert_eq!(world.answer("otherfsp", Some("payerfsp")), None);
    assert_eq!(world.answer("payeefsp", Some("otherfsp")), None);
    assert_eq!(world.notes.borrow().len(), 3);
    assert!(world.answer("payeefsp", Some("payerfsp")).is_some());
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
}

#[test]
fn longest_waiting_requester_gets_an_unaddressed_answer() {
    let mut world = World::new();
    world.ask("payerfsp", Some("payeefsp"));
    world.pass(1);
    world.ask("otherfsp", Some("payeefsp"));
    assert_eq!(
        world.answer("payeefsp", None).as_deref(),
        Some("payeefsp answers payerfsp")
    );
    assert_eq!(
        world.answer("payeefsp", None).as_deref(),
        Some("payeefsp answers otherfsp")
    );
    assert_eq!(world.answer("payeefsp", None), None);
}

#[test]
fn a_query_that_nobody_answers_ends() {
    let mut world = World::new();
    world.ask("payerfsp", Some("payeefsp"));
    world.pass(29_999);
    assert_eq!(world.last(), "payerfsp asks payeefsp");
    world.pass(1);
    assert_eq!(world.last(), "2004 for payerfsp");
    let Some(Outcome::Failed(event)) = world.outcomes.last() else {
        panic!()
    };
    assert_eq!(
        event.message.headers,
        "content-type: application/vnd.interoperability.parties+json;version=1.1\n"
    );
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
}

#[test]
fn each_query_of_a_requester_gets_an_answer() {
    let mut world = World::new();
    for _ in 0..3 {
        world.ask("payerfsp", Some("payeefsp"));
    }
    for _ in 0..3 {
        assert_eq!(
            world.answer("payeefsp", Some("payerfsp")).as_deref(),
            Some("payeefsp answers payerfsp")
        );
    }
    assert_eq!(world.answer("payeefsp", Some("payerfsp")), None);
    assert!(world.reminders.is_empty());
}

#[test]
fn repeated_query_replaces_the_earlier_one() {
    let mut world = World::new();
    let version = |version: &str| {
        format!("accept: application/vnd.interoperability.parties+json;version={version}\n")
    };
    world.ask_with("payerfsp", Some("payeefsp"), &version("1.1"));
    world.pass(20_000);
    world.ask_with("payerfsp", Some("payeefsp"), &version("1.0"));
    assert_eq!((world.waiting.len(), world.reminders.len()), (1, 1));
    // The reminder of the first one ends nothing.
    world.pass(10_000);
    assert_eq!(world.last(), "payerfsp asks payeefsp");
    world.pass(19_999);
    assert_eq!(world.last(), "payerfsp asks payeefsp");
    world.pass(1);
    assert_eq!(world.last(), "2004 for payerfsp");
    assert_eq!(world.outcomes.len(), 3, "it is told once");
    let Some(Outcome::Failed(event)) = world.outcomes.last() else {
        panic!()
    };
    assert_eq!(
        event.message.headers,
        "content-type: application/vnd.interoperability.parties+json;version=1.0\n"
    );
    assert!(event.error.description.contains("payeefsp"));
    assert!(world.waiting.is_empty() && world.reminders.is_empty());
}

/// A query is not signed: anybody can ask in another FSP's name.
#[test]
fn query_in_another_requesters_name_takes_no_answer_away() {
    let mut world = World::new();
    world.ask("payerfsp", Some("payeefsp"));
    world.ask("payerfsp", Some("otherfsp"));
    assert_eq!(
        world.answer("payeefsp", Some("payerfsp")).as_deref(),
        Some("payeefsp answers payerfsp")
    );
    world.pass(60_000);
    assert_eq!(world.last(), "2004 for payerfsp");
    assert!(world.waiting.is_empty() && world.reminders.is_empty());
}

#[test]
fn many_long_queries_do_not_block_other_lookups() {
    let mut world = World::new();
    let item = "application/vnd.interoperability.parties+json;version=9.9,";
    let headers = format!(
        "accept: {}\ntracestate: {}\n",
        item.repeat(1_000),
        "a".repeat(60_000)
    );
    for _ in 0..1_000 {
        world.ask_with("payerfsp", Some("payeefsp"), &headers);
    }
    assert_eq!(world.waiting.len(), 1);
    let bytes: usize = world.waiting.values().map(String::len).sum();
    assert!(bytes < 1_000, "{:?}", world.waiting);
    assert_eq!(
        world.ask("otherfsp", Some("payeefsp")),
        "otherfsp asks payeefsp"
    );
    let answer = world.answer("payeefsp", Some("otherfsp"));
    assert_eq!(answer.as_deref(), Some("payeefsp answers otherfsp"));
}

#[test]
fn queries_of_the_older_layout_still_end() {
    let stored = r#"{"party":{"idType":"MSISDN","identifier":"123"},"queries":[
        {"requester":"payerfsp","responder":"payeefsp","due":31000,"message":
            {"method":"GET","path":"/parties/MSISDN/123","headers":"accept: a\n","body":""}},
        {"requester":"otherfsp","responder":"payeefsp","due":32000,"message":
            {"method":"GET","path":"/parties/MSISDN/123","headers":"accept: a\n","body":""}}]}"#;
    let mut world = World::new();
    let stored = serde_json::from_str(stored).unwrap();
    world.together.insert("MSISDN/123".to_owned(), stored);
    for (requester, due) in [("payerfsp", 31_000), ("otherfsp", 32_000)] {
        let pair = Pair {
            requester,
            responder: "",
        };
        world.remind("MSISDN/123", pair, due);
    }
    assert_eq!(world.answer("otherfsp", Some("payerfsp")), None);
    let answer = world.answer("payeefsp", Some("payerfsp"));
    assert_eq!(answer.as_deref(), Some("payeefsp answers payerfsp"));
    // Asked again, it waits in the new way beside what waits in the old one.
    world.ask("otherfsp", Some("barred"));
    world.ask("otherfsp", Some("payerfsp"));
    world.pass(31_000);
    assert_eq!(world.last(), "2004 for otherfsp");
    assert!(world.together.is_empty());
    world.pass(60_000);
    let told = world
        .outcomes
        .iter()
        .filter(|o| matches!(o, Outcome::Failed(_)));
    assert_eq!(told.count(), 3, "one of them because barred is not active");
    assert!(world.waiting.is_empty() && world.reminders.is_empty());
}

#[test]
fn each_waiting_requester_is_told_once() {
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let mut world = World::new();
        let fsps = ["payerfsp", "payeefsp", "otherfsp"];
        // Of each requester and each FSP that it asked: how many answers are owed.
        let mut open: BTreeMap<(String, String), u32> = BTreeMap::new();
        for _ in 0..60 {
            let (one, two) = (*dice.pick(&fsps), *dice.pick(&fsps));
            let before = world.outcomes.len();
            match dice.below(4) {
                0 => {
                    world.ask(one, Some(two));
                    *open.entry((one.to_owned(), two.to_owned())).or_default() += 1;
                }
                1 => drop(world.answer(one, Some(two))),
                2 => drop(world.answer(one, None)),
                _ => world.pass(dice.below(20_000)),
            }
            for outcome in &world.outcomes[before..] {
                match outcome {
                    Outcome::Answered(event) => {
                        let pair = (event.requester_fsp.clone(), event.responder_fsp.clone());
                        let owed = open.get_mut(&pair).unwrap();
                        *owed = owed.checked_sub(1).expect("an answer too many");
                    }
                    Outcome::Failed(event) => {
                        let text = &event.error.description;
                        let responder = text.rsplit(' ').next().unwrap().to_owned();
                        let pair = (event.requester_fsp.clone(), responder);
                        let owed = open.remove(&pair).unwrap();
                        assert!(owed > 0, "seed {seed}: told of nothing");
                    }
                    _ => {}
                }
            }
            open.retain(|_, owed| *owed > 0);
            assert_eq!(world.reminders.len(), open.len(), "seed {seed}");
            assert_eq!(world.waiting.len(), open.len(), "seed {seed}");
        }
        // A reminder that finds a younger query waits on for that one.
        let before = world.outcomes.len();
        world.pass(60_000);
        world.pass(60_000);
        assert_eq!(world.outcomes.len() - before, open.len(), "seed {seed}");
        assert!(world.waiting.is_empty(), "seed {seed}");
    }
}
