//! Raw requests: plain HTTP/2 with any header, and the raw answer. tonic's client enforces deadlines and makes
//! no mistakes.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

/// What came.
#[derive(Clone, Debug)]
pub struct Answer {
    pub http: u16,
    headers: HeaderMap,
}

impl Answer {
    /// A header, or a trailer.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// gRPC's status, as a number; 0 is OK.
    pub fn status(&self) -> i32 {
        let status = self.get("grpc-status");
        status.expect("a gRPC answer has a status").parse().unwrap()
    }
}

/// A message in gRPC's frame.
pub fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap();
    let mut bytes = vec![0];
    bytes.extend(length.to_be_bytes());
    bytes.extend(message);
    bytes.into()
}

/// Headers of a valid call with this token.
pub fn headers(token: &str) -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("content-type", "application/grpc".to_owned()),
        ("te", "trailers".to_owned()),
        ("authorization", format!("Bearer {token}")),
    ])
}

/// Send a request with all of its body.
pub async fn send(
    url: &str,
    method: &str,
    path: &str,
    headers: &BTreeMap<&'static str, String>,
    body: Bytes,
) -> anyhow::Result<Answer> {
    let address = url.trim_start_matches("http://");
    let stream = TcpStream::connect(address).await?;
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await?;
    tokio::spawn(connection);
    let mut request = Request::builder()
        .method(method)
        .uri(format!("{url}{path}"));
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let answer = sender.send_request(request.body(Full::new(body))?).await?;
    let (head, body) = answer.into_parts();
    let collected = body.collect().await?;
    let mut headers = head.headers;
    headers.extend(collected.trailers().cloned().unwrap_or_default());
    Ok(Answer {
        http: head.status.as_u16(),
        headers,
    })
}
