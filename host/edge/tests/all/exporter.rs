//! Spans reach a collector that accepts them later. A stopping host does not wait for a collector that does not.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::net::Ipv4Addr;
use std::time::{Duration, Instant, SystemTime};

use rialto_edge::Exporter;
use rialto_telemetry::otlp::Resource;
use rialto_telemetry::spans::{Kind, Span};
use rialto_telemetry::{Metrics, Spans};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// An exporter that runs, with what it takes from and what it takes to.
struct Running {
    metrics: Metrics,
    spans: Spans,
    collector: TcpListener,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

async fn start() -> Running {
    let collector = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", collector.local_addr().unwrap());
    let metrics = Metrics::default();
    let spans = Spans::new(1.0, &metrics);
    let resource = Resource {
        service: "test".to_owned(),
        version: "0",
    };
    let exporter = Exporter::new(spans.queue().clone(), resource, &url).unwrap();
    let (stop, stopped) = watch::channel(false);
    Running {
        metrics,
        spans,
        collector,
        stop,
        task: tokio::spawn(exporter.run(stopped)),
    }
}

impl Running {
    fn add(&self, name: &str) {
        self.spans.add(Span {
            trace: 1,
            id: 2,
            parent: 0,
            name: name.to_owned(),
            kind: Kind::Internal,
            began: SystemTime::now(),
            took: Duration::ZERO,
            attributes: Vec::new(),
            error: None,
        });
    }

    /// Take one export on a connection of its own, answer it, and give its body.
    async fn answer(&self, status: &str) -> String {
        let (mut stream, _) = self.collector.accept().await.unwrap();
        let body = request(&mut stream).await;
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        body
    }

    async fn stop(self) -> (Metrics, Duration) {
        let began = Instant::now();
        // It may have been told already.
        let _ = self.stop.send(true);
        self.task.await.unwrap();
        (self.metrics, began.elapsed())
    }
}

/// The body of a request.
async fn request(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    loop {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).await.unwrap();
        assert_ne!(count, 0, "the exporter hung up after {text:?}");
        text += std::str::from_utf8(&bytes[..count]).unwrap();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        let length = head.to_lowercase();
        let length = length.split("content-length: ").nth(1).unwrap();
        let length: usize = length.lines().next().unwrap().parse().unwrap();
        if body.len() >= length {
            return body.to_owned();
        }
    }
}

#[track_caller]
fn counted(metrics: &Metrics, exported: u64, lost: u64) {
    let text = metrics.render(true);
    let has = |line: String| assert!(text.contains(&line), "{line} in {text}");
    has(format!("rialto_spans_exported_total {exported}\n"));
    has(format!("rialto_spans_lost_total {lost}\n"));
}

#[tokio::test]
async fn what_a_collector_could_not_take_is_sent_again() {
    let running = start().await;
    running.add("kept");
    let first = running.answer("503 Service Unavailable").await;
    let again = running.answer("200 OK").await;
    assert!(first.contains("\"kept\""), "{first}");
    assert_eq!(first, again);
    counted(&running.stop().await.0, 1, 0);
}

#[tokio::test]
async fn a_batch_that_the_collector_refuses_is_dropped() {
    let running = start().await;
    running.add("refused");
    running.answer("400 Bad Request").await;
    running.add("next");
    let next = running.answer("200 OK").await;
    assert!(next.contains("\"next\"") && !next.contains("\"refused\""));
    counted(&running.stop().await.0, 1, 1);
}

#[tokio::test]
async fn the_last_spans_are_sent_when_the_host_stops() {
    let running = start().await;
    running.add("last");
    running.stop.send(true).unwrap();
    let last = running.answer("200 OK").await;
    assert!(last.contains("\"last\""), "{last}");
    counted(&running.stop().await.0, 1, 0);
}

#[tokio::test]
async fn a_stopping_host_does_not_wait_for_the_collector() {
    let running = start().await;
    running.add("under way");
    // Taken and not answered.
    let (mut stream, _) = running.collector.accept().await.unwrap();
    request(&mut stream).await;
    running.add("behind");
    let (metrics, took) = running.stop().await;
    assert!(took < Duration::from_secs(4), "{took:?}");
    counted(&metrics, 0, 2);
}
