//! The command line's side of the operators' API.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rialto_components::Digest;
use rialto_manifest::operator::FIRST_OPERATOR;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host::{OPERATORS, addresses_path};
use crate::operators::token_path;
use crate::tls::operators_certificate;
use crate::words;

/// A running host, reached over its operators' listener.
pub struct Client {
    http: HttpClient<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// `http` or `https`.
    scheme: &'static str,
    address: SocketAddr,
    token: String,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    /// The host whose store is in this folder, asked by this operator.
    ///
    /// # Errors
    /// When no host runs there, or the operator's token cannot be read.
    pub fn of(store: &Path, operator: &str) -> anyhow::Result<Self> {
        // If that host has ended, another process may listen at its address. It must not see the token.
        let is_open = rialto_store_sqlite::is_open(store);
        if !is_open.with_context(|| format!("looking at {}", store.display()))? {
            bail!("no host is running on the store {}", store.display());
        }
        let read = |path: &Path| {
            std::fs::read_to_string(path)
                .with_context(|| format!("reading {}: has the host started?", path.display()))
        };
        let addresses: BTreeMap<String, SocketAddr> =
            serde_json::from_str(&read(&addresses_path(store))?).context("reading addresses")?;
        let address = addresses.get(OPERATORS).copied();
        let address = address.context("the host has no `operators` listener")?;
        let token = token_path(store, operator);
        let token = std::fs::read_to_string(&token).with_context(|| {
            let whom = if operator == FIRST_OPERATOR {
                "who is there only as long as rialto.toml names nobody; say who asks with --as NAME"
            } else {
                "whom rialto.toml must name"
            };
            format!(
                "reading {}: the token of the operator `{operator}`, {whom}",
                token.display()
            )
        })?;
        let token = token.trim().to_owned();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let certificate = operators_certificate(store);
        let has_tls = certificate.exists();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        // Without TLS the configuration is not used.
        let tls = if has_tls {
            rialto_tls::outbound::pinned(&certificate)?
        } else {
            rialto_tls::outbound::nobody()
        };
        let connector = HttpsConnector::from((tcp, tls));
        Ok(Self {
            http: HttpClient::builder(TokioExecutor::new()).build(connector),
            scheme: if has_tls { "https" } else { "http" },
            address,
            token,
            runtime,
        })
    }

    /// GET a JSON answer.
    ///
    /// # Errors
    /// When the host cannot be reached, or refuses: with its reason.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<T> {
        let body = self.send(Method::GET, path, Bytes::new(), "application/json")?;
        serde_json::from_slice(&body).context("reading the host's answer")
    }

    /// POST JSON, get JSON.
    ///
    /// # Errors
    /// As `get`.
    pub fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let body = serde_json::to_vec(body)?.into();
        let answer = self.send(Method::POST, path, body, "application/json")?;
        serde_json::from_slice(&answer).context("reading the host's answer")
    }

    /// POST JSON, expect nothing.
    ///
    /// # Errors
    /// As `get`.
    pub fn tell(&self, path: &str, body: &impl Serialize) -> anyhow::Result<()> {
        let body = serde_json::to_vec(body)?.into();
        self.send(Method::POST, path, body, "application/json")
            .map(|_| ())
    }

    /// Send a component's bytes.
    ///
    /// # Errors
    /// As `get`.
    pub fn put_component(&self, bytes: &[u8]) -> anyhow::Result<Digest> {
        let digest = Digest::of(bytes);
        let bytes = Bytes::copy_from_slice(bytes);
        self.send(
            Method::PUT,
            &format!("/components/{digest}"),
            bytes,
            "application/wasm",
        )?;
        Ok(digest)
    }

    fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        media_type: &str,
    ) -> anyhow::Result<Bytes> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}://{}{path}", self.scheme, self.address))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, media_type)
            .body(Full::new(body))?;
        let (status, body) = self.runtime.block_on(async {
            let response =
                self.http.request(request).await.with_context(|| {
                    format!("no host answers at {}; is it running?", self.address)
                })?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            anyhow::Ok((status, body))
        })?;
        if status.is_success() {
            return Ok(body);
        }
        Err(HostRefused {
            status,
            words: refusal(status, &body),
        }
        .into())
    }
}

/// The host has answered with another status than a success.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub struct HostRefused {
    /// HTTP's status.
    pub status: StatusCode,
    words: String,
}

/// A problem document as text for a terminal.
fn refusal(status: StatusCode, body: &[u8]) -> String {
    let problem: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    match problem["detail"].as_str() {
        Some(detail) => words::plain_lines(detail),
        None => format!("the host answered {status}"),
    }
}

/// GET a text that needs no token.
///
/// # Errors
/// When nobody answers, or not well.
pub async fn fetch(url: &str) -> anyhow::Result<String> {
    exchange(Request::get(url).body(Full::default())?).await
}

/// POST JSON where no token is needed.
///
/// # Errors
/// When nobody answers, or not well.
pub async fn post(url: &str, body: &serde_json::Value) -> anyhow::Result<String> {
    let request = Request::post(url)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::from(body.to_string()))?;
    exchange(request).await
}

/// PUT JSON where no token is needed.
///
/// # Errors
/// When nobody answers, or not well.
pub async fn put(url: &str, body: &serde_json::Value) -> anyhow::Result<String> {
    let request = Request::put(url)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::from(body.to_string()))?;
    exchange(request).await
}

async fn exchange(request: Request<Full<Bytes>>) -> anyhow::Result<String> {
    let url = request.uri().to_string();
    let http: HttpClient<_, Full<Bytes>> =
        HttpClient::builder(TokioExecutor::new()).build(HttpConnector::new());
    let response = http.request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    if !status.is_success() {
        bail!("{url} answered {status}: {text}");
    }
    Ok(text)
}
