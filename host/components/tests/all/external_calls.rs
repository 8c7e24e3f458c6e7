//! External calls and events run as turns.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap in a test is a failed test"
)]

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::world::{World, asker, friend, release, rule};
use rialto_components::external_calls::{Call, CallOutcome, Client, label};
use rialto_components::runtime::Argument;
use rialto_engine::{Failure, Requester, Trace};
use serde_json::{Value, json};

const ECHO: &str = "rialto:hostile-context/echo@0.1.0";
const HAPPENED: &str = "rialto:hostile-context/happened@0.1.0";
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn world() -> World {
    let components = vec![asker(), friend(), rule("hostile-rule")];
    World::new(&release(components, Vec::new()), 16)
}

fn call(interface: &str, arguments: Vec<Value>) -> Call {
    let function = interface.split(['/', '@']).nth(1).unwrap();
    Call {
        interface: interface.into(),
        function: function.into(),
        arguments,
        release: 1,
        client: None,
    }
}

fn run(
    world: &World,
    component: &str,
    argument: Argument,
    within: Option<Duration>,
) -> Result<CallOutcome, Failure> {
    let (told, wait) = mpsc::channel();
    let asker = Requester {
        within,
        ..Requester::default()
    };
    let submitted = world.engine.submit_for(
        asker,
        component.into(),
        "a call".into(),
        Arc::new(argument),
        Trace::default(),
        Box::new(move |answer| {
            let _ = told.send(answer);
        }),
    );
    submitted.unwrap();
    let answer = wait.recv_timeout(PATIENCE).expect("an answer in time")?;
    Ok(*answer.downcast::<CallOutcome>().expect("what a call gives"))
}

fn echo(world: &World, order: &str) -> Result<CallOutcome, Failure> {
    let call = call(ECHO, vec![json!(order)]);
    run(world, "friend", Argument::Call(call), None)
}

/// Whether anything is written down: nothing else here writes.
fn is_written(world: &World) -> bool {
    !world.store.ids().is_empty()
}

#[test]
fn a_call_returns_the_functions_result_and_keeps_its_turn() {
    let world = world();
    assert_eq!(
        echo(&world, "nothing"),
        Ok(CallOutcome::Returned(json!("done")))
    );
    assert!(!is_written(&world));
    assert_eq!(
        echo(&world, "write-then nothing"),
        Ok(CallOutcome::Returned(json!("done")))
    );
    assert!(is_written(&world));
}

#[test]
fn a_component_is_told_who_calls_it() {
    let world = world();
    let of_the_host = echo(&world, "who-calls");
    assert_eq!(of_the_host, Ok(CallOutcome::Returned(json!("nobody"))));
    let call = Call {
        client: Some(Client {
            name: "switch".into(),
            credential: "token 1".into(),
        }),
        ..call(ECHO, vec![json!("who-calls")])
    };
    let of_a_client = run(&world, "friend", Argument::Call(call), None);
    let named = json!("client switch");
    assert_eq!(of_a_client, Ok(CallOutcome::Returned(named)));
    let of_a_component = world.order("call who-calls").unwrap();
    assert_eq!(of_a_component, "component asker");
}

#[test]
fn a_trapping_call_leaves_nothing_and_names_the_component() {
    let world = world();
    match echo(&world, "write-then trap") {
        Err(Failure::Handler { component, reason }) => {
            assert_eq!(&*component, "friend");
            assert!(
                reason.contains("the friend traps, as it was told"),
                "{reason}"
            );
        }
        other => panic!("{other:?}"),
    }
    assert!(!is_written(&world));
}

#[test]
fn a_component_is_ended_when_nobody_waits_any_more() {
    let world = world();
    let looping = call(ECHO, vec![json!("loop")]);
    let began = Instant::now();
    let within = Some(Duration::from_millis(200));
    let ended = run(&world, "friend", Argument::Call(looping), within);
    assert_eq!(ended, Err(Failure::Expired));
    // Its own limit is two seconds.
    let took = began.elapsed();
    assert!(took < Duration::from_millis(1_500), "after {took:?}");
    assert_eq!(
        echo(&world, "nothing"),
        Ok(CallOutcome::Returned(json!("done")))
    );
}

#[test]
fn a_call_taken_on_another_release_has_no_effect() {
    let world = world();
    let wrong = [
        (
            "friend",
            call("rialto:hostile-context/nothing@0.1.0", Vec::new()),
        ),
        ("nobody", call(ECHO, vec![json!("nothing")])),
        ("friend", call(ECHO, vec![json!(7)])),
        ("friend", call(ECHO, Vec::new())),
    ];
    for (component, call) in wrong {
        let same = run(&world, component, Argument::Call(call.clone()), None);
        assert!(
            matches!(same, Err(Failure::Handler { .. })),
            "{component} {call:?}: {same:?}"
        );
        let call = Call { release: 0, ..call };
        let other = run(&world, component, Argument::Call(call.clone()), None);
        assert_eq!(
            other,
            Ok(CallOutcome::ReleaseChanged),
            "{component} {call:?}"
        );
    }
    // Also what this release would take: whether it may be called was judged by another one.
    let fits = Call {
        release: 0,
        ..call(ECHO, vec![json!("write-then nothing")])
    };
    let gone = run(&world, "friend", Argument::Call(fits), None);
    assert_eq!(gone, Ok(CallOutcome::ReleaseChanged));
    assert!(!is_written(&world));
}

#[test]
fn a_request_judged_by_another_release_is_judged_again() {
    let world = world();
    let order = "write-then nothing";
    assert_eq!(world.order_judged_by(Some(7), order), Ok(None));
    assert!(!is_written(&world));
    let judged = world.order_judged_by(Some(1), order);
    assert!(matches!(judged, Ok(Some(_))), "{judged:?}");
    assert!(is_written(&world));
}

#[test]
fn an_event_reaches_all_exporters_after_the_answer() {
    let world = world();
    let event = call(HAPPENED, vec![json!("write-then nothing")]);
    let told = run(&world, "outside", Argument::Event(event), None);
    assert_eq!(told, Ok(CallOutcome::Returned(Value::Null)));
    world.wait_until("the event's turn", is_written);

    let misfit = call(HAPPENED, vec![json!(7)]);
    let refused = run(&world, "outside", Argument::Event(misfit), None);
    assert!(
        matches!(refused, Err(Failure::Handler { .. })),
        "{refused:?}"
    );
    let elsewhere = Call {
        release: 0,
        ..call("rialto:hostile-context/nothing@0.1.0", Vec::new())
    };
    let gone = run(&world, "outside", Argument::Event(elsewhere), None);
    assert_eq!(gone, Ok(CallOutcome::ReleaseChanged));
}

#[test]
fn a_call_is_named_as_people_name_it() {
    assert_eq!(label(ECHO, "echo"), "hostile-context/echo");
    assert_eq!(label(ECHO, "other"), "hostile-context/echo.other");
}
