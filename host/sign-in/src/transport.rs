//! Requests to the provider, with bounded answers and times.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rialto_tls::{BadTls, OriginFiles, OutboundTls};
use zeroize::Zeroizing;

use crate::endpoint;
use crate::failure::Failure;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a request may take, its answer included.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// The longest head of an answer, in bytes.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// How long a connection without a request stays open.
const IDLE: Duration = Duration::from_secs(30);
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const FORM: HeaderValue = HeaderValue::from_static("application/x-www-form-urlencoded");

/// The connections to a provider. Redirections are not followed.
pub(crate) struct Transport(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// An answer of whatever status.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    /// It may have tokens.
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl Transport {
    /// Read the authority's certificates.
    pub(crate) fn new(issuer: &Uri, ca: Option<&Path>) -> Result<Self, BadTls> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let files = OriginFiles {
            ca: ca.map(Path::to_owned),
            identity: None,
        };
        let tls = if endpoint::is_plain(issuer) {
            rialto_tls::outbound::nobody()
        } else {
            let tls = OutboundTls::read(files, Vec::new())?;
            (*tls.config(issuer.host().unwrap_or_default(), 443)?).clone()
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .http1_max_buf_size(HEAD_BYTES_MAX)
            .build(HttpsConnector::from((tcp, tls)));
        Ok(Self(client))
    }

    /// GET a document.
    pub(crate) async fn get(&self, uri: &Uri) -> Result<Answer, Failure> {
        let mut request = Request::new(Full::default());
        *request.uri_mut() = uri.clone();
        request.headers_mut().insert(ACCEPT, JSON);
        self.send(request).await
    }

    /// POST a form.
    pub(crate) async fn post(
        &self,
        uri: &Uri,
        form: String,
        authorization: Option<HeaderValue>,
    ) -> Result<Answer, Failure> {
        let mut request = Request::new(Full::from(form));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        headers.insert(ACCEPT, JSON);
        headers.insert(CONTENT_TYPE, FORM);
        if let Some(mut value) = authorization {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        self.send(request).await
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        let answered = tokio::time::timeout(TIMEOUT, self.exchange(request)).await;
        answered.unwrap_or_else(|_| Err(away("it does not answer in time")))
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<Answer, Failure> {
        let sent = self.0.request(request).await;
        let response = sent.map_err(|error| away(&chain(&error)))?;
        let (head, mut rest) = response.into_parts();
        let mut body = Zeroizing::new(Vec::new());
        while let Some(frame) = rest.frame().await {
            let frame = frame.map_err(|error| away(&chain(&error)))?;
            let data = frame.into_data().unwrap_or_default();
            if body.len() + data.len() > ANSWER_BYTES_MAX {
                return Err(away("its answer is too long"));
            }
            body.extend_from_slice(&data);
        }
        Ok(Answer {
            status: head.status,
            body,
        })
    }
}

fn away(why: &str) -> Failure {
    Failure::Away(why.to_owned())
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
