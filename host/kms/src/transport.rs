//! One request of the service: signed, sent, and its answer read up to a bound.

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName};
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioTimer;
use jiff::Timestamp;
use rialto_fatal::CatchPanic;
use rialto_keys::contained::panicked;
use rialto_tls::{BadTls, OriginFiles, OutboundTls};
use zeroize::Zeroizing;

use crate::configuration::Configuration;
use crate::credentials::Credentials;
use crate::endpoint::Endpoint;
use crate::failure::{Failure, unreadable};
use crate::sign::{Scope, authorization};
use crate::wire::Operation;

/// The service in a signature's scope.
const SERVICE: &str = "kms";
/// The prefix of an operation's name in the protocol.
const TARGET: &str = "TrentService";
const JSON: &str = "application/x-amz-json-1.1";
/// The longest answer that is read.
const ANSWER_BYTES_MAX: usize = 32 * 1024;
/// The longest head of an answer.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// How long a connection without a call stays open.
const IDLE: Duration = Duration::from_secs(30);

const TARGET_HEADER: HeaderName = HeaderName::from_static("x-amz-target");
const DATE_HEADER: HeaderName = HeaderName::from_static("x-amz-date");
const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-amz-security-token");
/// The name of an error, which is in the body too.
const ERROR_HEADER: &str = "x-amzn-errortype";

/// The connections to the service.
pub(crate) struct Transport {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    endpoint: Endpoint,
    region: String,
}

/// An answer of whatever status.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// The name of an error in the head.
    pub(crate) error: Option<String>,
    /// It may have a key.
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl Transport {
    pub(crate) fn new(configuration: &Configuration, endpoint: Endpoint) -> Result<Self, BadTls> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(configuration.timeout));
        let files = OriginFiles {
            ca: configuration.ca.clone(),
            identity: None,
        };
        let tls = if endpoint.uri.scheme_str() == Some("https") {
            let tls = OutboundTls::read(files, Vec::new())?;
            (*tls.config(&endpoint.host, endpoint.port)?).clone()
        } else {
            // Without TLS the configuration is not used.
            rialto_tls::outbound::nobody()
        };
        let client = Client::builder(Executor)
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(configuration.calls)
            .http1_max_buf_size(HEAD_BYTES_MAX)
            .build(HttpsConnector::from((tcp, tls)));
        Ok(Self {
            client,
            endpoint,
            region: configuration.region.clone(),
        })
    }

    /// Send one request.
    pub(crate) async fn send(
        &self,
        operation: Operation,
        body: Bytes,
        credentials: &Credentials,
    ) -> Result<Answer, Failure> {
        let request = self.signed(operation, body, credentials)?;
        let sent = self.client.request(request).await;
        let response = sent.map_err(|error| {
            let why = format!("AWS KMS cannot be reached: {}", chain(&error));
            if error.is_connect() {
                Failure::NotDone(why)
            } else {
                Failure::Unclear(why)
            }
        })?;
        let (head, mut rest) = response.into_parts();
        let mut body = Zeroizing::new(Vec::with_capacity(ANSWER_BYTES_MAX));
        while let Some(frame) = rest.frame().await {
            let frame = frame.map_err(|error| {
                Failure::Unclear(format!(
                    "the answer to {operation} broke off: {}",
                    chain(&error)
                ))
            })?;
            let data = frame.into_data().unwrap_or_default();
            if body.len() + data.len() > ANSWER_BYTES_MAX {
                return Err(unreadable(operation, "it is too long"));
            }
            body.extend_from_slice(&data);
        }
        let error = head.headers.get(ERROR_HEADER);
        Ok(Answer {
            status: head.status,
            error: error.and_then(|name| Some(name.to_str().ok()?.to_owned())),
            body,
        })
    }

    fn signed(
        &self,
        operation: Operation,
        body: Bytes,
        credentials: &Credentials,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
        let target = format!("{TARGET}.{operation}");
        let mut headers = vec![
            (CONTENT_TYPE, JSON),
            (HOST, self.endpoint.authority.as_str()),
            (DATE_HEADER, &time),
            (TARGET_HEADER, &target),
        ];
        if let Some(token) = &credentials.token {
            headers.push((TOKEN_HEADER, token));
        }
        let scope = Scope {
            time: &time,
            region: &self.region,
            service: SERVICE,
        };
        let named: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        let authorization = authorization(credentials, &scope, &named, &body);
        headers.push((AUTHORIZATION, &authorization));
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.endpoint.uri.clone();
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(value).map_err(|_| {
                Failure::Credentials("the credentials fit into no header".to_owned())
            })?;
            value.set_sensitive(name == AUTHORIZATION || name == TOKEN_HEADER);
            request.headers_mut().insert(name, value);
        }
        Ok(request)
    }
}

/// Runs the tasks of connections. A panic ends its own task.
#[derive(Clone, Copy, Debug)]
struct Executor;

impl<F> hyper::rt::Executor<F> for Executor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, task: F) {
        tokio::spawn(async {
            if let Err(panic) = CatchPanic::secretly(task).await {
                // The calls of the connection fail, and tell it.
                let _told = panicked("AWS KMS", &panic);
            }
        });
    }
}

/// An error with its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
