//! What becomes of a request that is passed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use rialto_edge::AnswerGuard;
use rialto_relay::{Handler, any_body};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};

use crate::client::ask;
use crate::hosts::{Host, Made, PATIENCE, STREAMED, telling, two};

#[tokio::test]
async fn the_host_that_serves_is_told_what_the_other_one_was() {
    let (first, second) = two().await;
    let own = ask(
        first.clients,
        "POST /a/b?c=%20d HTTP/1.1\r\ndate: today",
        b"12345",
    )
    .await;
    let passed = ask(
        second.clients,
        "POST /a/b?c=%20d HTTP/1.1\r\ndate: today",
        b"12345",
    )
    .await;
    for answer in [&own, &passed] {
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("x-own: kept\r\n"), "{answer}");
        assert!(!answer.contains("rialto-relay"), "{answer}");
        assert!(
            answer.contains("first POST /a/b?c=%20d of 5 bytes from 127.0.0.1 None"),
            "{answer}"
        );
        assert!(
            answer.contains("\"content-length\", \"date\", \"host\"]"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_body_that_is_longer_than_what_is_gathered_arrives_whole() {
    let (_first, second) = two().await;
    let body = vec![b'x'; 3 << 20];
    let answer = ask(second.clients, "PUT /long HTTP/1.1", &body).await;
    let wanted = format!("first PUT /long of {} bytes", body.len());
    assert!(answer.contains(&wanted), "{answer}");
}

/// Answers with its request's body, as it comes.
fn echo() -> Handler {
    Arc::new(|request: Request<Incoming>| {
        Box::pin(async move { Response::new(any_body(request.into_body())) })
    })
}

#[tokio::test]
async fn a_body_that_follows_its_answer_is_passed_as_it_comes() {
    let (first, second) = two().await;
    first.door.open(echo());
    let mut stream = TcpStream::connect(second.clients).await.unwrap();
    let head = format!(
        "POST {STREAMED} HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: 10\r\n\r\nfirst"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    while !answer.ends_with("first") {
        let mut bytes = [0; 1024];
        let read = stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "{answer}");
        answer.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    stream.write_all(b"later").await.unwrap();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("firstlater"), "{answer}");
}

#[tokio::test]
async fn a_request_waits_for_a_host_that_serves() {
    let (first, second) = two().await;
    // Nobody serves; then a host does that has not opened its doors; then it opens them.
    first.door.pass().await;
    second.serves.send_replace(None);
    let asking = tokio::spawn(ask(second.clients, "POST /a HTTP/1.1", b"body"));
    second.serves.send_replace(Some(first.relay));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!asking.is_finished(), "nobody has answered");
    first.door.open(telling("again"));
    let answer = asking.await.unwrap();
    assert!(answer.contains("again POST /a of 4 bytes"), "{answer}");
}

#[tokio::test]
async fn a_request_that_waited_too_long_is_refused_without_a_doubt() {
    let host = Host::start(Made {
        patience: Duration::from_millis(50),
        ..Made::default()
    })
    .await;
    let answer = ask(host.clients, "POST /a HTTP/1.1", b"body").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
    assert!(answer.contains("nothing was done"), "{answer}");
}

/// A host that takes each request and dies. Returns its address, and how many it has taken.
async fn dying() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            // The preface, settings and the request's head, at least.
            let mut bytes = vec![0; 4096];
            let _ = stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]).await;
            let mut read = 0;
            while read < 150 {
                read += stream.read(&mut bytes).await.unwrap();
            }
        }
    });
    (address, taken)
}

#[tokio::test]
async fn a_request_that_was_taken_is_never_sent_again() {
    let (address, taken) = dying().await;
    let host = Host::start(Made::default()).await;
    host.serves.send_replace(Some(address));
    let answer = ask(host.clients, "POST /a HTTP/1.1", &[b'x'; 1000]).await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("nobody knows"), "{answer}");
    assert_eq!(taken.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_request_that_only_asks_is_sent_to_the_next_host() {
    let (address, taken) = dying().await;
    let (first, second) = two().await;
    second.serves.send_replace(Some(address));
    let asking = tokio::spawn(ask(second.clients, "GET /a HTTP/1.1", b""));
    while taken.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    second.serves.send_replace(Some(first.relay));
    let answer = asking.await.unwrap();
    assert!(answer.contains("first GET /a"), "{answer}");
}

#[tokio::test]
async fn what_a_component_says_is_not_taken_for_a_hosts_word() {
    let (first, second) = two().await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    first.door.open(Arc::new(move |_: Request<Incoming>| {
        counted.fetch_add(1, Ordering::Relaxed);
        let answer = Response::builder()
            .header("rialto-relay-not-mine", "1")
            .header("rialto-relay-answer", "1")
            .body(any_body(Full::new(Bytes::from_static(b"done"))));
        Box::pin(async move { answer.unwrap() })
    }));
    let answer = ask(second.clients, "POST /a HTTP/1.1", b"").await;
    assert!(answer.ends_with("done"), "{answer}");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

/// Answers when it is told to.
fn slow(begun: Arc<Notify>, go: Arc<Notify>, ended: Arc<AtomicBool>) -> Handler {
    Arc::new(move |_: Request<Incoming>| {
        let (begun, go, ended) = (begun.clone(), go.clone(), ended.clone());
        Box::pin(async move {
            begun.notify_one();
            go.notified().await;
            ended.store(true, Ordering::SeqCst);
            Response::new(any_body(Full::new(Bytes::from_static(b"slow"))))
        })
    })
}

#[tokio::test]
async fn a_door_passes_only_when_all_that_it_had_begun_is_answered() {
    let (first, second) = two().await;
    let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let ended = Arc::new(AtomicBool::new(false));
    first
        .door
        .open(slow(begun.clone(), go.clone(), ended.clone()));
    let own = tokio::spawn(ask(first.clients, "GET /a HTTP/1.1", b""));
    begun.notified().await;
    let passed = tokio::spawn(ask(second.clients, "GET /b HTTP/1.1", b""));
    begun.notified().await;
    let door = first.door.clone();
    let seen = ended.clone();
    let passing = tokio::spawn(async move {
        door.pass().await;
        assert!(seen.load(Ordering::SeqCst), "a request is under way");
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!passing.is_finished());
    go.notify_one();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!passing.is_finished(), "one of two has ended");
    go.notify_one();
    passing.await.unwrap();
    assert!(own.await.unwrap().ends_with("slow"));
    assert!(passed.await.unwrap().ends_with("slow"));
    // From now on the second one answers, and the first one passes.
    second.door.open(telling("second"));
    first.serves.send_replace(Some(second.relay));
    let answer = ask(first.clients, "GET /c HTTP/1.1", b"").await;
    assert!(answer.contains("second GET /c"), "{answer}");
}

/// Tells when it is dropped.
struct Signal(Option<oneshot::Sender<()>>);

impl Drop for Signal {
    fn drop(&mut self) {
        let _ = self.0.take().unwrap().send(());
    }
}

/// Answers with so many bytes, for which something waits.
fn guarded(length: usize) -> (Handler, oneshot::Receiver<()>) {
    let (sender, written) = oneshot::channel();
    let guard = std::sync::Mutex::new(Some(AnswerGuard::of(Arc::new(Signal(Some(sender))))));
    let handler: Handler = Arc::new(move |_: Request<Incoming>| {
        let mut answer = Response::new(any_body(Full::new(Bytes::from(vec![b'x'; length]))));
        let guard = guard.lock().unwrap().take().unwrap();
        answer.extensions_mut().insert(guard);
        Box::pin(async move { answer })
    });
    (handler, written)
}

#[tokio::test]
async fn what_follows_an_answer_waits_until_the_client_has_it() {
    let (first, second) = two().await;
    // More than what the sockets between client and host hold.
    let (handler, mut written) = guarded(32 << 20);
    first.door.open(handler);
    let mut stream = TcpStream::connect(second.clients).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nhost: h\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let mut beginning = [0; 16];
    stream.read_exact(&mut beginning).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(written.try_recv().is_err(), "the client has not read it");
    let reading = tokio::spawn(async move {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await
    });
    tokio::time::timeout(PATIENCE, written)
        .await
        .unwrap()
        .unwrap();
    reading.abort();
}

#[tokio::test]
async fn nothing_waits_for_the_answer_of_a_host_that_is_gone() {
    let (first, second) = two().await;
    let (handler, written) = guarded(0);
    first.door.open(handler);
    let answer = ask(second.clients, "GET / HTTP/1.1", b"").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    tokio::time::timeout(PATIENCE, written)
        .await
        .unwrap()
        .unwrap();
}
