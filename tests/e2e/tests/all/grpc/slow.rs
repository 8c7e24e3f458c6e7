//! Clients that read no answers, and clients that exceed the bounds for clients without a token.

use std::time::Duration;

use http::Request;
use http_body_util::Full;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rialto_grpc_client::tonic::Code;
use rialto_grpc_client::tonic_health::pb::HealthCheckRequest;
use rialto_grpc_client::tonic_health::pb::health_check_response::ServingStatus;
use rialto_grpc_client::tonic_health::pb::health_client::HealthClient;
use rialto_tests::RunningHost;
use rialto_tests::waiting::until;
use tokio::net::TcpStream;

use super::raw;
use super::support::{ALL, Clients, offering};

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(60);
/// Clients of one address that may follow the host's health.
const WATCHERS_MAX: usize = 64;

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_whose_client_takes_no_answer_is_closed() {
    let scheme = offering(ALL);
    let soon = "[http]\nrequest-timeout = \"500 ms\"\n\n[ceilings]";
    scheme.replace("rialto.toml", "[ceilings]", soon).unwrap();
    let host = RunningHost::start(&scheme).unwrap();
    let url = host.url("grpc").unwrap();
    let stream = TcpStream::connect(url.trim_start_matches("http://"))
        .await
        .unwrap();
    // A client that gives no room for a single byte of an answer.
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.initial_stream_window_size(0);
    let (mut sender, connection) = http.handshake(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let headers = raw::headers("");
    let mut request = Request::post(format!("{url}/grpc.health.v1.Health/Check"));
    for (name, value) in headers.iter().filter(|(name, _)| **name != "authorization") {
        request = request.header(*name, value);
    }
    let request = request.body(Full::new(raw::framed(b""))).unwrap();
    let answering = sender.send_request(request).await;
    let answer = answering.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    let ended = tokio::time::timeout(SOON, connection).await;
    let _ = ended.expect("the host closes the connection").unwrap();
    // A client that reads its answers continues.
    let mut headers = raw::headers("");
    headers.remove("authorization");
    let answer = raw::send(
        url,
        "POST",
        "/grpc.health.v1.Health/Check",
        &headers,
        raw::framed(b""),
    );
    assert_eq!(answer.await.unwrap().status(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn health_watchers_per_address_are_bounded() {
    let scheme = offering(ALL);
    let host = RunningHost::start(&scheme).unwrap();
    let clients = Clients::of(&host, &scheme).await;
    let watch = async || {
        let mut client = HealthClient::new(clients.connection.clone());
        let request = HealthCheckRequest {
            service: String::new(),
        };
        let mut stream = client.watch(request).await?.into_inner();
        stream.message().await?;
        Ok::<_, rialto_grpc_client::tonic::Status>(stream)
    };
    let mut streams = Vec::new();
    for _ in 0..WATCHERS_MAX {
        streams.push(watch().await.unwrap());
    }
    let refused = watch().await.expect_err("one more is refused");
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    assert!(refused.message().contains("ask with Check"), "{refused:?}");
    // To ask takes no place.
    let mut client = HealthClient::new(clients.connection.clone());
    let request = HealthCheckRequest {
        service: String::new(),
    };
    let health = client.check(request).await.unwrap().into_inner();
    assert_eq!(health.status(), ServingStatus::Serving);
    streams.pop();
    let again = until("a place is free", SOON, async || {
        Ok(watch().await.map_err(|refused| format!("{refused:?}")))
    });
    streams.push(again.await.unwrap());
}
