//! A place outside the host to which checkpoints are sent, and its answers.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rialto_manifest::values::{BaseUrl, UrlScheme};
use rialto_tls::{OriginFiles, OutboundTls};

/// How long one request may take, its answer included.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// The media type of a witness's size.
pub(super) const SIZE_TYPE: &str = "text/x.tlog.size";

/// A place with its connections.
pub(super) struct Place {
    pub url: BaseUrl,
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Its own, and only for requests: the store's reads have another one.
    runtime: tokio::runtime::Runtime,
}

impl Place {
    pub fn new(url: &BaseUrl, ca: Option<PathBuf>) -> anyhow::Result<Self> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(TIMEOUT));
        let origin = url.origin();
        let tls = if origin.scheme == UrlScheme::Https {
            let files = OriginFiles { ca, identity: None };
            let tls = OutboundTls::read(files, Vec::new())?;
            (*tls.config(&origin.host, origin.port)?).clone()
        } else {
            rialto_tls::outbound::nobody()
        };
        Ok(Self {
            url: url.clone(),
            // A request a minute: a connection would have been closed meanwhile.
            http: Client::builder(TokioExecutor::new())
                .pool_max_idle_per_host(0)
                .build(HttpsConnector::from((tcp, tls))),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?,
        })
    }

    pub fn send(&self, method: Method, path: &str, body: String) -> anyhow::Result<Answer> {
        let url = self.url.to_string();
        let url = format!("{}/{path}", url.trim_end_matches('/'));
        let request = Request::builder()
            .method(method)
            .uri(&url)
            .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
            .body(Full::from(body))?;
        let exchange = async {
            let response = self.http.request(request).await?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(anyhow::Error::from_boxed)?.to_bytes();
            let media_type = head.headers.get(header::CONTENT_TYPE);
            let is_size = media_type.is_some_and(|found| found.as_bytes() == SIZE_TYPE.as_bytes());
            anyhow::Ok(Answer {
                status: head.status,
                is_size,
                body: String::from_utf8_lossy(&body).into_owned(),
            })
        };
        let bounded = async { tokio::time::timeout(TIMEOUT, exchange).await };
        let answered = self.runtime.block_on(bounded);
        let answered = answered.context("it does not answer in time")?;
        answered.with_context(|| format!("{url} cannot be asked"))
    }
}

/// An answer of whatever status.
pub(super) struct Answer {
    pub status: StatusCode,
    /// Whether the body is a witness's size.
    pub is_size: bool,
    pub body: String,
}
