//! What a provider says of itself: its endpoints (OpenID Connect Discovery 1.0) and its keys. Both are read when they are
//! needed, and again after an hour.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{StatusCode, Uri};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::endpoint;
use crate::failure::Failure;
use crate::keys::Keys;
use crate::transport::{Answer, Transport};

/// How long metadata and keys are used.
const FRESH: Duration = Duration::from_secs(3600);
/// The least time between two readings of the keys for the sake of a key that is not among them.
const KEYS_PAUSE: Duration = Duration::from_secs(10);
/// How long a provider that failed is not asked again.
const AWAY_PAUSE: Duration = Duration::from_secs(1);
/// The path of the metadata below the issuer.
const METADATA: &str = "/.well-known/openid-configuration";

/// The endpoints of a provider.
#[derive(Debug)]
pub(crate) struct Metadata {
    pub(crate) authorization: Uri,
    pub(crate) token: Uri,
    keys: Uri,
    /// Whether it takes the secret in HTTP Basic. Otherwise in the form.
    pub(crate) takes_basic: bool,
    /// Whether it names itself when it sends a browser back (RFC 9207).
    pub(crate) names_itself: bool,
}

#[derive(Deserialize)]
struct Written {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// Reads metadata and keys, and keeps them.
pub(crate) struct Discovery {
    issuer: String,
    plain: bool,
    /// Held while something is read, so that each is read once at a time.
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    metadata: Option<(Instant, Arc<Metadata>)>,
    keys: Option<(Instant, Arc<Keys>)>,
    /// When the provider failed last, and how.
    failed: Option<(Instant, Failure)>,
}

fn fresh<T: Clone>(kept: Option<&(Instant, T)>) -> Option<T> {
    let (read, kept) = kept?;
    (read.elapsed() < FRESH).then(|| kept.clone())
}

impl Discovery {
    pub(crate) fn new(issuer: &str, uri: &Uri) -> Self {
        Self {
            issuer: issuer.to_owned(),
            plain: endpoint::is_plain(uri),
            known: Mutex::default(),
        }
    }

    /// The provider's endpoints.
    pub(crate) async fn metadata(&self, transport: &Transport) -> Result<Arc<Metadata>, Failure> {
        let mut known = self.known.lock().await;
        self.metadata_of(&mut known, transport).await
    }

    /// The provider's keys, and a number that is another one when they are read again.
    pub(crate) async fn keys(&self, transport: &Transport) -> Result<Arc<Keys>, Failure> {
        let mut known = self.known.lock().await;
        if let Some(keys) = fresh(known.keys.as_ref()) {
            return Ok(keys);
        }
        self.keys_of(&mut known, transport).await
    }

    /// The provider's keys, read again, unless that was a moment ago.
    pub(crate) async fn newer_keys(
        &self,
        transport: &Transport,
    ) -> Result<Option<Arc<Keys>>, Failure> {
        let mut known = self.known.lock().await;
        let read = known.keys.as_ref().map(|(read, _)| *read);
        if read.is_some_and(|read| read.elapsed() < KEYS_PAUSE) {
            return Ok(None);
        }
        self.keys_of(&mut known, transport).await.map(Some)
    }

    async fn metadata_of(
        &self,
        known: &mut Known,
        transport: &Transport,
    ) -> Result<Arc<Metadata>, Failure> {
        if let Some(metadata) = fresh(known.metadata.as_ref()) {
            return Ok(metadata);
        }
        let base = self.issuer.trim_end_matches('/');
        let read = match self.url(&format!("{base}{METADATA}")) {
            Ok(uri) => known.ask(transport, &uri, |body| self.parsed(body)).await,
            Err(failure) => Err(failure),
        };
        let metadata = Arc::new(read?);
        known.metadata = Some((Instant::now(), metadata.clone()));
        Ok(metadata)
    }

    async fn keys_of(
        &self,
        known: &mut Known,
        transport: &Transport,
    ) -> Result<Arc<Keys>, Failure> {
        let metadata = self.metadata_of(known, transport).await?;
        let parse = |body: &[u8]| Keys::read(body).ok_or_else(|| away("its keys cannot be read"));
        let keys = Arc::new(known.ask(transport, &metadata.keys, parse).await?);
        known.keys = Some((Instant::now(), keys.clone()));
        Ok(keys)
    }

    fn parsed(&self, body: &[u8]) -> Result<Metadata, Failure> {
        let written: Written =
            serde_json::from_slice(body).map_err(|_| away("its metadata cannot be read"))?;
        if written.issuer != self.issuer {
            return Err(away("its metadata names another issuer"));
        }
        let methods = written.token_endpoint_auth_methods_supported;
        let basic = |methods: &Vec<String>| methods.iter().any(|one| one == "client_secret_basic");
        Ok(Metadata {
            authorization: self.url(&written.authorization_endpoint)?,
            token: self.url(&written.token_endpoint)?,
            keys: self.url(&written.jwks_uri)?,
            takes_basic: methods.as_ref().is_none_or(basic),
            names_itself: written.authorization_response_iss_parameter_supported,
        })
    }

    fn url(&self, text: &str) -> Result<Uri, Failure> {
        let url = endpoint::url(text, self.plain);
        url.map_err(|why| away(&format!("one of its URLs cannot be used: {why}")))
    }
}

impl Known {
    /// GET a document, unless the provider failed a moment ago.
    async fn ask<T>(
        &mut self,
        transport: &Transport,
        uri: &Uri,
        parse: impl FnOnce(&[u8]) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some((when, failure)) = &self.failed
            && when.elapsed() < AWAY_PAUSE
        {
            return Err(failure.clone());
        }
        let answered = transport.get(uri).await.and_then(ok);
        let read = answered.and_then(|answer| parse(&answer.body));
        let failure = read.as_ref().err().cloned();
        self.failed = failure.map(|failure| (Instant::now(), failure));
        read
    }
}

fn ok(answer: Answer) -> Result<Answer, Failure> {
    match answer.status {
        StatusCode::OK => Ok(answer),
        other => Err(away(&format!("it answered {other}"))),
    }
}

fn away(why: &str) -> Failure {
    Failure::Away(why.to_owned())
}
