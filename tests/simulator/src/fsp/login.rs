//! Access tokens: an FSP that has an application asks for one with its id and secret, as OAuth 2.0 clients do, and for
//! the next one before the first has ended.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::client::{BaseUrl, HttpClient, SendError};

/// Where tokens are issued.
const TOKEN: &str = "/oauth2/token";
/// How long before its end a token is replaced.
const EARLY: Duration = Duration::from_secs(30);

/// An application at the switch.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: String,
}

impl std::fmt::Debug for Application {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Application({})", self.id)
    }
}

/// The token that an FSP has now.
#[derive(Debug, Default)]
pub(super) struct Login {
    held: Mutex<Option<(HeaderValue, Instant)>>,
}

#[derive(Deserialize)]
struct Issued {
    access_token: String,
    expires_in: u64,
}

impl Login {
    /// The header `Authorization` for the next message.
    pub(super) async fn header(
        &self,
        application: &Application,
        client: &HttpClient,
        hub: &BaseUrl,
    ) -> Result<HeaderValue, SendError> {
        let mut held = self.held.lock().await;
        if let Some((header, until)) = &*held
            && Instant::now() < *until
        {
            return Ok(header.clone());
        }
        let issued = issue(application, client, hub).await?;
        let header = HeaderValue::try_from(format!("Bearer {}", issued.access_token));
        let mut header = header.map_err(|error| SendError::Invalid(error.to_string()))?;
        header.set_sensitive(true);
        let lasts = Duration::from_secs(issued.expires_in).saturating_sub(EARLY);
        *held = Some((header.clone(), Instant::now() + lasts));
        Ok(header)
    }
}

async fn issue(
    application: &Application,
    client: &HttpClient,
    hub: &BaseUrl,
) -> Result<Issued, SendError> {
    let basic = STANDARD.encode(format!("{}:{}", application.id, application.secret));
    let basic = HeaderValue::try_from(format!("Basic {basic}"));
    let mut headers = HeaderMap::new();
    headers.insert(
        AUTHORIZATION,
        basic.map_err(|error| SendError::Invalid(error.to_string()))?,
    );
    let form = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, form);
    let body = Bytes::from_static(b"grant_type=client_credentials");
    let answer = client
        .send(Method::POST, hub.join(TOKEN)?, headers, body)
        .await?;
    let refused = || {
        let said = String::from_utf8_lossy(&answer.body);
        SendError::Invalid(format!("no token is issued: {} {said}", answer.status))
    };
    if !answer.status.is_success() {
        return Err(refused());
    }
    serde_json::from_slice(&answer.body).map_err(|_| refused())
}
