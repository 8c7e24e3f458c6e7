//! How long a call may take, and what is left of one that took longer; and more calls than there may be.

use std::time::Duration;

use prost::Message as _;
use rialto_grpc_client::Details;
use rialto_grpc_client::tonic::Code;
use rialto_tests::waiting::until;
use rialto_tests::{RunningHost, TestScheme};

use crate::grpc::raw;
use crate::grpc::support::{ALL, Clients, ECHO, Order, add_friend, number, offering, order, token};

/// How long the friend may run by itself.
const OWN: &str = "5 s";
/// How long it may where only its caller's time can end it: longer than a test waits.
const FOR_EVER: &str = "600 s";
/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(40);

/// A host with one worker and the friend, which may hold it for long.
fn slow(own: &str, engine: &str) -> TestScheme {
    let scheme = offering(ALL);
    let ceilings = "deadline = \"1 s\"\nfuel = 100_000_000";
    let wide = format!("deadline = \"{own}\"\nfuel = 1_000_000_000_000");
    scheme.replace("rialto.toml", ceilings, &wide).unwrap();
    let engine = format!("[engine]\nworkers = 1\n{engine}\n[ceilings]");
    scheme
        .replace("rialto.toml", "[ceilings]", &engine)
        .unwrap();
    let limits = format!("deadline = \"{own}\", fuel = 1_000_000_000_000");
    add_friend(&scheme, &limits);
    number(&scheme);
    scheme
}

fn told(text: &str) -> bytes::Bytes {
    let order = Order {
        text: text.to_owned(),
    };
    raw::framed(&order.encode_to_vec())
}

async fn within(host: &RunningHost, scheme: &TestScheme, text: &str, timeout: &str) -> raw::Answer {
    let mut headers = raw::headers(&token(scheme));
    headers.insert("grpc-timeout", timeout.to_owned());
    let url = host.url("grpc").unwrap();
    raw::send(url, "POST", ECHO, &headers, told(text))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_runs_past_the_callers_time_is_ended() {
    let scheme = slow(FOR_EVER, "");
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let late = within(&host, &scheme, "write-then loop", "300m").await;
    assert_eq!(late.status(), Code::DeadlineExceeded as i32, "{late:?}");
    // The only worker is free again, and the component's own time is not over for long.
    let next = tokio::time::timeout(SOON, order(&clients.connection, "nothing"));
    assert_eq!(next.await.unwrap().unwrap(), "done");
    let left = host.cli(&["documents", "hostile-friend", "marks"]).unwrap();
    assert!(!left.success().unwrap().contains("written"));
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_call_does_not_run() {
    let scheme = slow(OWN, "");
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let connection = clients.connection.clone();
    let holding = tokio::spawn(async move { order(&connection, "loop").await });
    until("the worker is held", SOON, async || {
        let answer = within(&host, &scheme, "nothing", "50m").await;
        let late = answer.status() == Code::DeadlineExceeded as i32;
        Ok(if late {
            Ok(())
        } else {
            Err("it is free".to_owned())
        })
    })
    .await
    .unwrap();
    let late = within(&host, &scheme, "write-then nothing", "100m").await;
    assert_eq!(late.status(), Code::DeadlineExceeded as i32, "{late:?}");
    let held = holding.await.unwrap().unwrap_err();
    assert_eq!(
        held.code(),
        Code::Internal,
        "the component's own time is over: {held:?}"
    );
    // The queued call has run by now, or never will.
    assert_eq!(order(&clients.connection, "nothing").await.unwrap(), "done");
    let left = host.cli(&["documents", "hostile-friend", "marks"]).unwrap();
    assert!(!left.success().unwrap().contains("written"));
}

#[tokio::test(flavor = "multi_thread")]
async fn excess_calls_are_told_to_retry() {
    let scheme = slow(
        OWN,
        "turns-waiting-max = 2\nturns-waiting-per-client-max = 2\n",
    );
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let held: Vec<_> = (0..2)
        .map(|_| {
            let connection = clients.connection.clone();
            tokio::spawn(async move { order(&connection, "loop").await })
        })
        .collect();
    let refused = until("the queue is full", SOON, async || {
        let answered = within(&host, &scheme, "nothing", "50m").await;
        let busy = answered.status() == Code::Unavailable as i32;
        Ok(if busy {
            Ok(())
        } else {
            Err(format!("{answered:?}"))
        })
    });
    refused.await.unwrap();
    let refused = order(&clients.connection, "nothing").await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable, "{refused:?}");
    assert_eq!(Details::of(&refused).retry_seconds(), Some(1));
    for held in held {
        assert!(held.await.unwrap().is_err());
    }
    assert_eq!(order(&clients.connection, "nothing").await.unwrap(), "done");
}
