//! HTTP as bytes on a connection: a listener's bounds, its refusals, and that a client can read them while it
//! is still sending.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::io::{Read as _, Write as _};
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame};
use hyper_util::rt::TokioIo;
use rialto_tests::host::RunningHost;
use rialto_tests::metrics::Metrics;
use rialto_tests::scheme::TestScheme;
use rialto_tests::waiting::until;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::{TcpListener, TcpStream};

/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest body of the API definition, in bytes.
const BODY_MAX: usize = 5_242_880;
/// A body that is far too long, in bytes.
const FAR_TOO_LONG: usize = 10 << 20;
/// Bytes of one chunk of a body in chunks.
const CHUNK: usize = 32 << 10;
/// Headers of a sound request for a transfer, but for those of its body.
const HEADERS: [(&str, &str); 5] = [
    ("host", "hub"),
    (
        "accept",
        "application/vnd.interoperability.transfers+json;version=1.1",
    ),
    (
        "content-type",
        "application/vnd.interoperability.transfers+json;version=1.1",
    ),
    ("date", "Tue, 15 Nov 1994 08:12:31 GMT"),
    ("fspiop-source", "payerfsp"),
];

/// A host on the demonstration scheme, with these lines in its rialto.toml.
fn host(limits: &str) -> (RunningHost, TestScheme) {
    let scheme = TestScheme::demo().unwrap();
    let with = format!("{limits}\n\n[ceilings]");
    scheme.replace("rialto.toml", "[ceilings]", &with).unwrap();
    (RunningHost::start(&scheme).unwrap(), scheme)
}

fn address(host: &RunningHost) -> String {
    let url = host.url("fsps").unwrap();
    url.strip_prefix("http://").unwrap().to_owned()
}

/// The head of a request for a transfer with these further headers.
fn head(path: &str, further: &[(&str, &str)]) -> String {
    let lines = HEADERS.iter().chain(further);
    let lines: String = lines
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    format!("POST {path} HTTP/1.1\r\n{lines}\r\n")
}

fn of_length(path: &str, length: usize) -> String {
    head(path, &[("content-length", &length.to_string())])
}

/// Bytes that an answer's limit counts of these headers.
fn counted(headers: &[(&str, &str)]) -> usize {
    let sizes = headers.iter().map(|(n, v)| n.len() + v.len() + 4);
    sizes.sum()
}

/// A body of this length that is JSON and no transfer.
fn spaces(length: usize) -> Vec<u8> {
    let mut body = b"{}".to_vec();
    body.resize(length, b' ');
    body
}

#[derive(Debug, PartialEq)]
struct Said {
    status: u16,
    code: String,
    closes: bool,
    retry_after: bool,
}

impl Said {
    fn refused(status: u16, code: &str, closes: bool) -> Self {
        Self {
            status,
            code: code.to_owned(),
            closes,
            retry_after: false,
        }
    }
}

/// One answer, read to its end and no further. None if the connection ends instead.
async fn answer(from: &mut OwnedReadHalf) -> Option<Said> {
    let read = async {
        let mut bytes = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&bytes).to_lowercase();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.split("content-length: ").nth(1);
                let length = length.map_or("0", |rest| rest.lines().next().unwrap());
                if body.len() >= length.parse().unwrap() {
                    return Some(said(head, body));
                }
            }
            let mut part = [0; 4096];
            match from.read(&mut part).await {
                Ok(0) | Err(_) => return None,
                Ok(n) => bytes.extend_from_slice(&part[..n]),
            }
        }
    };
    let read = tokio::time::timeout(PATIENCE, read).await;
    read.expect("an answer or an end in time")
}

/// An answer, of which everything is in lower case.
fn said(head: &str, body: &str) -> Said {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let code = body["errorinformation"]["errorcode"].as_str();
    Said {
        status: head[9..12].parse().unwrap(),
        code: code.unwrap_or_default().to_owned(),
        closes: head.contains("\r\nconnection: close"),
        retry_after: head.contains("\r\nretry-after: "),
    }
}

/// Send this on a fresh connection, all of it, then read one answer.
async fn ask(host: &RunningHost, parts: &[&[u8]]) -> Option<Said> {
    let connection = TcpStream::connect(address(host)).await.unwrap();
    let (mut from, mut to) = connection.into_split();
    for part in parts {
        if to.write_all(part).await.is_err() {
            break;
        }
    }
    answer(&mut from).await
}

/// A body in chunks of this length in all.
fn in_chunks(length: usize) -> Vec<u8> {
    let chunk = [
        format!("{CHUNK:x}\r\n").into_bytes(),
        vec![b' '; CHUNK],
        b"\r\n".to_vec(),
    ]
    .concat();
    [chunk.repeat(length / CHUNK), b"0\r\n\r\n".to_vec()].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn too_long_body_gets_a_readable_refusal() {
    let (host, _scheme) = host("");
    let too_long = Said::refused(400, "3104", true);
    let body = spaces(FAR_TOO_LONG);
    let sized = of_length("/transfers", body.len());
    let said = ask(&host, &[sized.as_bytes(), &body]).await;
    assert_eq!(said.unwrap(), too_long, "with its length");
    let chunked = head("/transfers", &[("transfer-encoding", "chunked")]);
    let said = ask(&host, &[chunked.as_bytes(), &in_chunks(FAR_TOO_LONG)]).await;
    assert_eq!(said.unwrap(), too_long, "in chunks");
    // Without a byte of the body, too.
    let sized = of_length("/transfers", BODY_MAX + 1);
    assert_eq!(ask(&host, &[sized.as_bytes()]).await.unwrap(), too_long);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_never_stops_sending_is_answered_and_then_cut_off() {
    let (host, _scheme) = host("");
    let connection = TcpStream::connect(address(&host)).await.unwrap();
    let (mut from, mut to) = connection.into_split();
    let head = head("/transfers", &[("transfer-encoding", "chunked")]);
    let sender = tokio::spawn(async move {
        to.write_all(head.as_bytes()).await.unwrap();
        let mut sent = 0;
        let chunk = in_chunks(CHUNK);
        let chunk = &chunk[..chunk.len() - b"0\r\n\r\n".len()];
        while to.write_all(chunk).await.is_ok() {
            sent += CHUNK;
        }
        sent
    });
    let said = answer(&mut from).await;
    assert_eq!(said.unwrap(), Said::refused(400, "3104", true));
    let sent = tokio::time::timeout(PATIENCE, sender).await;
    let sent = sent.expect("the connection ends in time").unwrap();
    assert!(sent > BODY_MAX && sent < 64 << 20, "{sent} bytes");
}

/// A body that does not say how long it is.
struct Unsized(Bytes);

impl Body for Unsized {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        let length = CHUNK.min(self.0.len());
        Poll::Ready(Some(Ok(Frame::data(self.0.split_to(length)))))
    }
}

/// What hyper's client reads as the answer to this body.
async fn by_hyper<B>(host: &RunningHost, body: B) -> (u16, String)
where
    B: Body<Data = Bytes, Error = std::convert::Infallible> + Send + 'static,
{
    let stream = TcpStream::connect(address(host)).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut request = hyper::Request::post("/transfers");
    for (name, value) in HEADERS {
        request = request.header(name, value);
    }
    let exchange = async {
        let answered = sender.send_request(request.body(body).unwrap()).await;
        let (head, body) = answered.unwrap().into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let code = body["errorInformation"]["errorCode"].as_str().unwrap();
        (head.status.as_u16(), code.to_owned())
    };
    let answer = tokio::time::timeout(PATIENCE, exchange).await;
    answer.expect("an answer in time")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_usual_client_reads_why_its_body_is_too_long() {
    let (host, _scheme) = host("");
    let body = Bytes::from(spaces(FAR_TOO_LONG));
    let expected = (400, "3104".to_owned());
    for _ in 0..3 {
        assert_eq!(by_hyper(&host, Full::new(body.clone())).await, expected);
        assert_eq!(by_hyper(&host, Unsized(body.clone())).await, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn head_is_judged_before_body_and_connection_survives() {
    let (host, _scheme) = host("");
    // The bodies are announced and never sent.
    let unknown = of_length("/nothing", 1 << 20);
    let said = ask(&host, &[unknown.as_bytes()]).await;
    assert_eq!(said.unwrap(), Said::refused(404, "3002", true));
    let undated = of_length("/transfers", 1 << 20).replace("date: ", "x-date: ");
    let said = ask(&host, &[undated.as_bytes()]).await;
    assert_eq!(said.unwrap(), Said::refused(400, "3102", true));
    let connection = TcpStream::connect(address(&host)).await.unwrap();
    let (mut from, mut to) = connection.into_split();
    for _ in 0..3 {
        let request = of_length("/nothing", 1_000) + &"x".repeat(1_000);
        to.write_all(request.as_bytes()).await.unwrap();
        let said = answer(&mut from).await;
        assert_eq!(said.unwrap(), Said::refused(404, "3002", false));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn smaller_of_operators_and_apis_limits_counts() {
    let limits = "[http]\nbody-max = \"48 KiB\"\nheaders-max = \"16 KiB\"";
    let (host, _scheme) = host(limits);
    for (length, code) in [(48 << 10, "3102"), ((48 << 10) + 1, "3104")] {
        let body = spaces(length);
        let head = of_length("/transfers", body.len());
        let said = ask(&host, &[head.as_bytes(), &body]).await.unwrap();
        assert_eq!((said.status, &*said.code), (400, code), "{length} bytes");
    }
    let sized = [("content-length", "2"), ("x-much", "")];
    let others = counted(&HEADERS) + counted(&sized);
    for (length, code) in [(16 << 10, "3102"), ((16 << 10) + 1, "3104")] {
        let much = "x".repeat(length - others);
        let head = head("/transfers", &[("content-length", "2"), ("x-much", &much)]);
        let said = ask(&host, &[head.as_bytes(), b"{}"]).await.unwrap();
        assert_eq!((said.status, &*said.code), (400, code), "{length} bytes");
    }
    // Far beyond, HTTP itself gives up, in its own words.
    let head = head("/transfers", &[("x-much", &"x".repeat(128 << 10))]);
    let said = ask(&host, &[head.as_bytes()]).await.unwrap();
    assert_eq!((said.status, &*said.code), (431, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_have_so_much_room_together() {
    let (host, _scheme) = host("[http]\nbody-max = \"48 KiB\"\nbodies-max = \"64 KiB\"");
    let body = spaces(48 << 10);
    let head = of_length("/transfers", body.len());
    let connection = TcpStream::connect(address(&host)).await.unwrap();
    let (mut from, mut to) = connection.into_split();
    let (begin, end) = body.split_at(40 << 10);
    to.write_all(head.as_bytes()).await.unwrap();
    to.write_all(begin).await.unwrap();
    let used = "rialto_body_bytes{listeners=\"http\"}";
    let read = until("the beginning is read", PATIENCE, async || {
        let bytes = Metrics::of(&host).await?.get(used)?;
        let all = bytes == begin.len() as u64;
        Ok(all.then_some(()).ok_or(format!("{bytes} bytes")))
    });
    read.await.unwrap();
    let busy = ask(&host, &[head.as_bytes(), &body]).await.unwrap();
    assert_eq!((busy.status, &*busy.code), (503, "2003"));
    assert!(busy.retry_after);
    to.write_all(end).await.unwrap();
    let said = answer(&mut from).await.unwrap();
    assert_eq!(said.code, "3102", "who had room is served");
    let said = ask(&host, &[head.as_bytes(), &body]).await.unwrap();
    assert_eq!(said.code, "3102", "and gives it back");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_has_so_many_connections_and_no_more() {
    let (host, _scheme) = host("[http]\nconnections-per-peer-max = 4");
    let sized = of_length("/nothing", 0);
    let mut open = Vec::new();
    for _ in 0..4 {
        let connection = TcpStream::connect(address(&host)).await.unwrap();
        let (mut from, mut to) = connection.into_split();
        to.write_all(sized.as_bytes()).await.unwrap();
        assert_eq!(answer(&mut from).await.unwrap().status, 404);
        open.push((from, to));
    }
    assert_eq!(ask(&host, &[sized.as_bytes()]).await, None, "a fifth");
    open.pop();
    let again = until("a connection is free", PATIENCE, async || {
        let said = ask(&host, &[sized.as_bytes()]).await;
        Ok(said.ok_or_else(|| "no answer".to_owned()))
    });
    assert_eq!(again.await.unwrap().status, 404);
    let log = host.log();
    assert!(log.contains("connections-per-peer-max"), "{log}");
}

/// The longest answer that needs no token: a page that people read.
const LONG_ANSWER: &str = "/openapi/fsp-interop-api";
/// A rate that only fast clients keep.
const FAST: &str = "rate-min = \"1 GiB\"\nrate-grace = \"300 ms\"";

#[tokio::test(flavor = "multi_thread")]
async fn client_that_reads_no_answers_is_disconnected() {
    let (host, _scheme) = host(&format!("[http]\nconnections-per-peer-max = 1\n{FAST}"));
    let connection = TcpStream::connect(address(&host)).await.unwrap();
    let (_unread, mut to) = connection.into_split();
    let question = format!("GET {LONG_ANSWER} HTTP/1.1\r\nhost: hub\r\n\r\n");
    let asking = async { while to.write_all(question.as_bytes()).await.is_ok() {} };
    let cut_off = tokio::time::timeout(PATIENCE, asking).await;
    cut_off.expect("the host ends the connection");
    // Its place is free again.
    let sized = of_length("/nothing", 0);
    let again = until("the connection's place is free", PATIENCE, async || {
        let said = ask(&host, &[sized.as_bytes()]).await;
        Ok(said.ok_or_else(|| "no answer".to_owned()))
    });
    assert_eq!(again.await.unwrap().status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_body_is_refused_long_before_the_request_timeout() {
    let limits = "[http]\nrequest-timeout = \"1 h\"\nrate-min = \"1 MiB\"\nrate-grace = \"300 ms\"";
    let (host, scheme) = host(limits);
    let connection = TcpStream::connect(address(&host)).await.unwrap();
    let (mut from, mut to) = connection.into_split();
    let head = of_length("/transfers", 100_000);
    let sender = tokio::spawn(async move {
        to.write_all(head.as_bytes()).await.unwrap();
        while to.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let said = answer(&mut from).await.unwrap();
    assert_eq!((said.status, said.closes), (400, true), "{said:?}");
    let ended = tokio::time::timeout(PATIENCE, sender).await;
    ended.expect("the connection ends").unwrap();
    // Also a client that stops sending: also where operators send components.
    let operators = host.url("operators").unwrap();
    let token = std::fs::read_to_string(scheme.path().join("state/operator.token")).unwrap();
    let operators = operators.strip_prefix("http://").unwrap();
    let connection = TcpStream::connect(operators).await.unwrap();
    let (mut from, mut to) = connection.into_split();
    let head = format!(
        "PUT /components/sha256:00 HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer {}\r\ncontent-type: application/wasm\r\ncontent-length: 1000\r\n\r\nhalf",
        token.trim()
    );
    to.write_all(head.as_bytes()).await.unwrap();
    let said = answer(&mut from).await.expect("an answer");
    assert!((400..500).contains(&said.status), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_cannot_use_all_room_for_bodies() {
    let limits =
        "[http]\nbody-max = \"48 KiB\"\nbodies-max = \"1 MiB\"\nbodies-per-peer-max = \"64 KiB\"";
    let (host, _scheme) = host(limits);
    let body = spaces(48 << 10);
    let head = of_length("/transfers", body.len());
    let connection = TcpStream::connect(address(&host)).await.unwrap();
    let (mut from, mut to) = connection.into_split();
    let (begin, end) = body.split_at(40 << 10);
    to.write_all(head.as_bytes()).await.unwrap();
    to.write_all(begin).await.unwrap();
    let busy = until("the address's room is used up", PATIENCE, async || {
        let said = ask(&host, &[head.as_bytes(), &body]).await.unwrap();
        Ok(if said.status == 503 {
            Ok(said)
        } else {
            Err(format!("{said:?}"))
        })
    });
    assert_eq!(busy.await.unwrap().code, "2003");
    // A client at another address of this machine.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let other = socket
        .connect(address(&host).parse().unwrap())
        .await
        .unwrap();
    let (mut to_other, mut by_other) = other.into_split();
    by_other.write_all(head.as_bytes()).await.unwrap();
    by_other.write_all(&body).await.unwrap();
    let said = answer(&mut to_other).await.unwrap();
    assert_eq!(said.code, "3102", "who has room is served");
    to.write_all(end).await.unwrap();
    assert_eq!(answer(&mut from).await.unwrap().code, "3102");
}

/// Both leave after the same commit. A client that correlates them must get the answer first.
#[tokio::test(flavor = "multi_thread")]
async fn answer_precedes_the_callback_of_its_request() {
    let (host, scheme) = host("");
    let port = scheme.callbacks()["payerfsp"];
    let callbacks = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let callbacks = callbacks.unwrap();
    let lines: String = HEADERS
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    for n in 0..30 {
        let mut client = std::net::TcpStream::connect(address(&host)).unwrap();
        // An unknown transfer: the hub itself answers, with a callback to the requester.
        let asked = format!("/transfers/{n:08x}-0000-4000-8000-000000000000");
        let request = format!("GET {asked} HTTP/1.1\r\n{lines}\r\n");
        client.write_all(request.as_bytes()).unwrap();
        let accepted = tokio::time::timeout(PATIENCE, callbacks.accept()).await;
        let (mut callback, _) = accepted.unwrap().unwrap();
        // It arrives after the callback, or never.
        client.set_nonblocking(true).unwrap();
        let mut answer = [0; 1 << 12];
        let length = client.read(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer[..length]);
        assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
        let mut said = [0; 1 << 12];
        let length = callback.read(&mut said).await.unwrap();
        let said = String::from_utf8_lossy(&said[..length]);
        assert!(said.starts_with(&format!("PUT {asked}/error ")), "{said}");
        let thanks = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        callback.write_all(thanks).await.unwrap();
    }
}

/// A request whose length can be read in two ways must not hide another one from a proxy before the host: it is refused, and
/// the connection ends with that.
#[tokio::test]
async fn a_request_of_doubtful_length_ends_its_connection() {
    let (host, _scheme) = host("");
    let head: String = HEADERS
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let head = format!("POST /transfers HTTP/1.1\r\n{head}");
    let hidden = "GET /health HTTP/1.1\r\nhost: hub\r\n\r\n";
    let chunked = "transfer-encoding: chunked\r\n";
    for (what, rest) in [
        (
            "two lengths",
            "content-length: 2\r\ncontent-length: 3\r\n\r\n{}".to_owned(),
        ),
        (
            "a list of lengths",
            "content-length: 2, 3\r\n\r\n{}".to_owned(),
        ),
        ("a sign", "content-length: +2\r\n\r\n{}".to_owned()),
        (
            "a negative length",
            "content-length: -2\r\n\r\n{}".to_owned(),
        ),
        (
            "hexadecimal digits",
            "content-length: 0x2\r\n\r\n{}".to_owned(),
        ),
        (
            "length and chunks",
            format!("content-length: 5\r\n{chunked}\r\n0\r\n\r\n"),
        ),
        (
            "chunks and length",
            format!("{chunked}content-length: 5\r\n\r\n0\r\n\r\n"),
        ),
        (
            "no known encoding",
            "transfer-encoding: xchunked\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
        ),
        (
            "identity",
            "transfer-encoding: identity\r\n\r\n{}".to_owned(),
        ),
        (
            "chunked, but not last",
            "transfer-encoding: chunked, identity\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
        ),
        (
            "a blank before the colon",
            "transfer-encoding : chunked\r\ncontent-length: 2\r\n\r\n{}".to_owned(),
        ),
        (
            "a folded header",
            "x-a: b\r\n content-length: 2\r\n\r\n{}".to_owned(),
        ),
        (
            "a chunk of no number",
            format!("{chunked}\r\n2g\r\n{{}}\r\n0\r\n\r\n"),
        ),
        (
            "a negative chunk",
            format!("{chunked}\r\n-2\r\n{{}}\r\n0\r\n\r\n"),
        ),
    ] {
        let mut stream = TcpStream::connect(address(&host)).await.unwrap();
        let sent = format!("{head}{rest}{hidden}");
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer));
        // It ends; a reset ends it too.
        let _ = read
            .await
            .unwrap_or_else(|_| panic!("{what}: the connection stays open"));
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{what}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{what}: {answer}");
    }
}
