//! A host answers while its lease holds, and passes requests afterwards, whatever it believes of itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use rialto_relay::{Handler, any_body};

use crate::client::ask;
use crate::hosts::{Host, Made, telling, two};

#[tokio::test]
async fn a_host_whose_lease_has_run_out_passes_what_it_is_asked() {
    let (first, second) = two().await;
    // Another host serves, and the first one has not noticed.
    second.door.open(telling("second"));
    first.serves.send_replace(Some(second.relay));
    second.serves.send_replace(Some(second.relay));
    first.lease.store(false, Ordering::SeqCst);
    for method in ["GET", "POST"] {
        let answer = ask(first.clients, &format!("{method} /a HTTP/1.1"), b"").await;
        assert!(answer.contains(&format!("second {method} /a")), "{answer}");
    }
}

#[tokio::test]
async fn a_host_goes_on_when_its_lease_holds_again() {
    let (first, second) = two().await;
    first.serves.send_replace(Some(first.relay));
    first.lease.store(false, Ordering::SeqCst);
    let own = tokio::spawn(ask(first.clients, "POST /a HTTP/1.1", b"body"));
    let passed = tokio::spawn(ask(second.clients, "POST /b HTTP/1.1", b"body"));
    // What the two connections are made of is not seen from here: that nobody answers is.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!own.is_finished() && !passed.is_finished());
    first.lease.store(true, Ordering::SeqCst);
    for (asking, path) in [(own, "/a"), (passed, "/b")] {
        let answer = asking.await.unwrap();
        let wanted = format!("first POST {path} of 4 bytes");
        assert!(answer.contains(&wanted), "{answer}");
    }
}

/// Loses the lease while it answers, as a host that is stopped in between does.
fn forgetful(lease: Arc<AtomicBool>) -> Handler {
    Arc::new(move |_: Request<Incoming>| {
        lease.store(false, Ordering::SeqCst);
        let answer = Response::new(any_body(Full::new(Bytes::from_static(b"of yesterday"))));
        Box::pin(async move { answer })
    })
}

#[tokio::test]
async fn what_was_read_before_the_lease_ran_out_is_not_answered_after_it() {
    let (first, second) = two().await;
    first.door.open(forgetful(first.lease.clone()));
    let answer = ask(first.clients, "GET /a HTTP/1.1", b"").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("out of date"), "{answer}");
    // What changes something has its own answer: the store has refused it, or not.
    first.lease.store(true, Ordering::SeqCst);
    let answer = ask(first.clients, "POST /a HTTP/1.1", b"").await;
    assert!(answer.ends_with("of yesterday"), "{answer}");
    // Whoever passes a question asks the next host.
    let third = Host::start(Made::default()).await;
    third.door.open(telling("third"));
    first.lease.store(true, Ordering::SeqCst);
    let asking = tokio::spawn(ask(second.clients, "GET /b HTTP/1.1", b""));
    while first.lease.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    second.serves.send_replace(Some(third.relay));
    let answer = asking.await.unwrap();
    assert!(answer.contains("third GET /b"), "{answer}");
}
