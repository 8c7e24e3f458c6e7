//! The command line's side of the operators' API.

mod confirming;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rialto_components::Digest;
use rialto_edge::confirmation::CONFIRMATION;
use rialto_manifest::operator::FIRST_OPERATOR;
use rialto_manifest::values::{BaseUrl, UrlScheme};
use rialto_tls::{OriginFiles, OutboundTls};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host::{OPERATORS, addresses_path};
use crate::operators::token_path;
use crate::tls::operators_certificate;
use crate::words;

/// A running host, reached over its operators' listener.
pub struct Client {
    http: HttpClient<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Its URL, without a path.
    origin: String,
    token: String,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    /// The host whose store is in this folder, asked by this operator.
    ///
    /// # Errors
    /// When no host runs there, or the operator's token cannot be read.
    pub fn of(store: &Path, operator: &str) -> anyhow::Result<Self> {
        let (address, certificate) = running(store)?;
        let token = token_path(store, operator);
        let token = std::fs::read_to_string(&token).with_context(|| {
            let whom = if operator == FIRST_OPERATOR {
                "who is there only as long as rialto.toml names nobody; say who asks with --as NAME"
            } else {
                "whom rialto.toml must name; one who signs in there has none, but a personal one: RIALTO_TOKEN"
            };
            format!(
                "reading {}: the token of the operator `{operator}`, {whom}",
                token.display()
            )
        })?;
        Self::local(address, certificate, token)
    }

    /// The host whose store is in this folder, asked with a personal token.
    ///
    /// # Errors
    /// When no host runs there.
    pub fn with_token(store: &Path, token: String) -> anyhow::Result<Self> {
        let (address, certificate) = running(store)?;
        Self::local(address, certificate, token)
    }

    /// A host anywhere, asked with a personal token. Its certificate must be from the authority in the file, or from one of
    /// the system's.
    ///
    /// # Errors
    /// When the URL is not `https`, and not of an address of this machine; when the authority's file cannot be read.
    pub fn at(host: &BaseUrl, ca: Option<&Path>, token: String) -> anyhow::Result<Self> {
        let origin = host.origin();
        ensure!(
            host.to_string() == origin.to_string(),
            "{host} has a path: give the host's address alone, {origin}"
        );
        let files = OriginFiles {
            ca: ca.map(Path::to_owned),
            identity: None,
        };
        let connector = if origin.scheme == UrlScheme::Https {
            let tls = OutboundTls::read(files, Vec::new())?;
            connector(tls.config(&origin.host, origin.port)?)
        } else {
            ensure!(
                is_loopback(&origin.host),
                "{origin} is not on this machine, and `http` would show the token to the network: write `https`"
            );
            connector(rialto_tls::outbound::nobody())
        };
        Self::new(origin.to_string(), connector, token)
    }

    /// The host at an address of this machine, with the certificate that it wrote into its folder.
    fn local(
        address: SocketAddr,
        certificate: Option<PathBuf>,
        token: String,
    ) -> anyhow::Result<Self> {
        let (scheme, tls) = match certificate {
            Some(certificate) => ("https", rialto_tls::outbound::pinned(&certificate)?),
            // Without TLS the configuration is not used.
            None => ("http", rialto_tls::outbound::nobody()),
        };
        Self::new(format!("{scheme}://{address}"), connector(tls), token)
    }

    fn new(
        origin: String,
        connector: HttpsConnector<HttpConnector>,
        token: String,
    ) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(Self {
            http: HttpClient::builder(TokioExecutor::new()).build(connector),
            origin,
            token: token.trim().to_owned(),
            runtime,
        })
    }

    /// DELETE, expect nothing.
    ///
    /// # Errors
    /// As `get`.
    pub fn delete(&self, path: &str) -> anyhow::Result<()> {
        let sent = self.send(Method::DELETE, path, Bytes::new(), "application/json");
        sent.map(drop)
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

    /// Send a request. If it must be confirmed, have the operator do so, and send it again.
    fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        media_type: &str,
    ) -> anyhow::Result<Bytes> {
        let sent = self.attempt(&method, path, body.clone(), media_type, None);
        let Err(error) = &sent else {
            return sent;
        };
        let refused = error.downcast_ref::<HostRefused>();
        if !refused.is_some_and(HostRefused::wants_confirmation) {
            return sent;
        }
        let confirmation = self.confirmed(&method, path, &body)?;
        self.attempt(&method, path, body, media_type, Some(&confirmation))
    }

    fn attempt(
        &self,
        method: &Method,
        path: &str,
        body: Bytes,
        media_type: &str,
        confirmation: Option<&str>,
    ) -> anyhow::Result<Bytes> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.origin))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, media_type);
        if let Some(confirmation) = confirmation {
            request = request.header(CONFIRMATION, confirmation);
        }
        let request = request.body(Full::new(body))?;
        let (status, body) = self.runtime.block_on(async {
            let response =
                self.http.request(request).await.with_context(|| {
                    format!("no host answers at {}; is it running?", self.origin)
                })?;
            let status = response.status();
            let body = response.into_body().collect().await?.to_bytes();
            anyhow::Ok((status, body))
        })?;
        if status.is_success() {
            return Ok(body);
        }
        Err(HostRefused::of(status, &body).into())
    }
}

/// The connector with this configuration of TLS.
fn connector<T>(tls: T) -> HttpsConnector<HttpConnector>
where
    HttpsConnector<HttpConnector>: From<(HttpConnector, T)>,
{
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    HttpsConnector::from((tcp, tls))
}

/// The address of the host that runs on a store, and its certificate if it has TLS.
fn running(store: &Path) -> anyhow::Result<(SocketAddr, Option<PathBuf>)> {
    // If that host has ended, another process may listen at its address. It must not see the token.
    let is_open = rialto_store_sqlite::is_open(store);
    if !is_open.with_context(|| format!("looking at {}", store.display()))? {
        bail!("no host is running on the store {}", store.display());
    }
    let path = addresses_path(store);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("reading {}: has the host started?", path.display()))?;
    let addresses: BTreeMap<String, SocketAddr> =
        serde_json::from_str(&text).context("reading addresses")?;
    let address = addresses.get(OPERATORS).copied();
    let address = address.context("the host has no `operators` listener")?;
    let certificate = operators_certificate(store);
    Ok((address, certificate.exists().then_some(certificate)))
}

/// Whether this is an address of this machine. A name is none: it may lead elsewhere.
fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>()
        .is_ok_and(|address| address.is_loopback())
}

/// The host has answered with another status than a success.
#[derive(Debug, thiserror::Error)]
#[error("{words}")]
pub struct HostRefused {
    /// HTTP's status.
    pub status: StatusCode,
    /// The problem's `type`; empty if the answer is no problem document.
    kind: String,
    words: String,
}

impl HostRefused {
    /// A problem document as text for a terminal.
    fn of(status: StatusCode, body: &[u8]) -> Self {
        let problem: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        Self {
            status,
            kind: problem["type"].as_str().unwrap_or_default().to_owned(),
            words: match problem["detail"].as_str() {
                Some(detail) => words::plain_lines(detail),
                None => format!("the host answered {status}"),
            },
        }
    }

    /// Whether the request must be confirmed with a passkey.
    fn wants_confirmation(&self) -> bool {
        self.kind == "urn:rialto:problem:confirmation-required"
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
