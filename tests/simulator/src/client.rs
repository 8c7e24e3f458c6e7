//! The HTTP client: kept-alive connections, bounded waits, nothing more.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Body;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio_rustls::rustls::ClientConfig;

use crate::{limits, tls};

/// A client with its pool of connections. A clone shares the pool.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
    answer_bytes_max: usize,
}

/// An HTTP answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, mostly empty.
    pub body: Bytes,
}

/// Why there is no HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The request could not be formed.
    #[error("the request is not valid HTTP: {0}")]
    Invalid(String),
    /// No connection, or it broke before the answer was complete.
    #[error("no answer from {host}: {reason}")]
    Broken {
        /// Where the request went.
        host: String,
        /// What went wrong, with its causes.
        reason: String,
    },
    /// The answer took too long.
    #[error("no answer from {host} within {} ms", waited.as_millis())]
    TimedOut {
        /// Where the request went.
        host: String,
        /// How long it was waited for.
        waited: Duration,
    },
}

impl HttpClient {
    /// A client that waits this long for each answer.
    pub fn new(timeout: Duration) -> Self {
        Self::with_tls(timeout, tls::nobody())
    }

    /// The same with TLS for https.
    pub fn with_tls(timeout: Duration, tls: Arc<ClientConfig>) -> Self {
        Self::from_address(timeout, tls, None)
    }

    /// The same with connections from this address of the machine.
    pub fn from_address(
        timeout: Duration,
        tls: Arc<ClientConfig>,
        address: Option<IpAddr>,
    ) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_local_address(address);
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(limits::CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(limits::IDLE_CONNECTION_KEPT)
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(limits::IDLE_CONNECTIONS_MAX)
            .build(HttpsConnector::from((connector, tls)));
        Self {
            client,
            timeout,
            answer_bytes_max: limits::BODY_BYTES_MAX,
        }
    }

    /// The same client with another bound on the answers' bodies.
    #[must_use]
    pub fn with_answer_bytes_max(mut self, bytes: usize) -> Self {
        self.answer_bytes_max = bytes;
        self
    }

    /// Sends a request and waits for the complete answer.
    pub async fn send(
        &self,
        method: Method,
        uri: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, SendError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        *request.uri_mut() = uri;
        let host = request
            .uri()
            .authority()
            .map(|authority| authority.as_str().to_owned());
        let exchange = async {
            let (head, body) = self
                .client
                .request(request)
                .await
                .map_err(causes)?
                .into_parts();
            let body = if body.is_end_stream() {
                Bytes::new()
            } else {
                let limited = Limited::new(body, self.answer_bytes_max);
                limited
                    .collect()
                    .await
                    .map_err(|error| causes(&*error))?
                    .to_bytes()
            };
            Ok(Answer {
                status: head.status,
                headers: head.headers,
                body,
            })
        };
        let host = host.ok_or_else(|| SendError::Invalid("no host in the address".to_owned()))?;
        match tokio::time::timeout(self.timeout, exchange).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(reason)) => Err(SendError::Broken { host, reason }),
            Err(_) => Err(SendError::TimedOut {
                host,
                waited: self.timeout,
            }),
        }
    }
}

/// An error with its causes, in one line.
fn causes(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// Where a switch listens: the address that paths are appended to.
#[derive(Clone, Debug)]
pub struct BaseUrl {
    scheme: http::uri::Scheme,
    authority: http::uri::Authority,
    prefix: String,
}

/// Why a text is no base address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no base address: expected `http://host:port` or `https://host:port` with an optional path"
)]
pub struct BaseUrlError(String);

impl BaseUrl {
    /// The address of a path (which begins with `/`) below this base.
    pub fn join(&self, path: &str) -> Result<Uri, SendError> {
        let path_and_query = if self.prefix.is_empty() {
            path.parse()
        } else {
            format!("{}{path}", self.prefix).parse()
        };
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query =
            Some(path_and_query.map_err(|error| SendError::Invalid(format!("`{path}`: {error}")))?);
        Uri::from_parts(parts).map_err(|error| SendError::Invalid(format!("`{path}`: {error}")))
    }
}

impl std::str::FromStr for BaseUrl {
    type Err = BaseUrlError;

    fn from_str(text: &str) -> Result<Self, BaseUrlError> {
        let wrong = || BaseUrlError(text.to_owned());
        let parts = text.parse::<Uri>().map_err(|_| wrong())?.into_parts();
        let prefix = match &parts.path_and_query {
            Some(path) if path.query().is_some() => return Err(wrong()),
            Some(path) => path.path().trim_end_matches('/').to_owned(),
            None => String::new(),
        };
        match (parts.scheme, parts.authority) {
            (Some(scheme), Some(authority)) if [Scheme::HTTP, Scheme::HTTPS].contains(&scheme) => {
                Ok(Self {
                    scheme,
                    authority,
                    prefix,
                })
            }
            _ => Err(wrong()),
        }
    }
}

impl std::fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_to_their_base() {
        for (base, expected) in [
            ("http://127.0.0.1:4000", "http://127.0.0.1:4000/quotes/1"),
            ("https://127.0.0.1:4000", "https://127.0.0.1:4000/quotes/1"),
            ("http://127.0.0.1:4000/", "http://127.0.0.1:4000/quotes/1"),
            (
                "http://hub.example/fspiop/",
                "http://hub.example/fspiop/quotes/1",
            ),
        ] {
            let base: BaseUrl = base.parse().expect("a base address");
            assert_eq!(
                base.join("/quotes/1").expect("an address").to_string(),
                expected
            );
        }
        for wrong in ["", "/path", "127.0.0.1:1", "http://a/?b", "ftp://a"] {
            assert!(wrong.parse::<BaseUrl>().is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn nobody_there_is_an_error_that_names_the_host() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let base: BaseUrl = format!("http://{}", listener.local_addr().expect("an address"))
            .parse()
            .expect("a base address");
        drop(listener);
        let client = HttpClient::new(Duration::from_secs(5));
        let uri = base.join("/quotes").expect("an address");
        let error = client
            .send(Method::GET, uri, HeaderMap::new(), Bytes::new())
            .await
            .expect_err("nobody listens");
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
        assert!(error.to_string().contains("refused"), "{error}");
    }
}
