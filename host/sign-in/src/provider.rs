//! The flow: to the provider and back.

use data_encoding::BASE64;
use http::{HeaderValue, StatusCode};
use rialto_signatures::secrets::{MAC_BYTES, MacKey};
use serde::Deserialize;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use crate::configuration::{Configuration, OpenError};
use crate::discovery::{Discovery, Metadata};
use crate::failure::{Failure, word};
use crate::id_token::{self, Expected, Unfit};
use crate::pending::Pending;
use crate::transport::Transport;
use crate::{endpoint, form};

/// How long a person may take at the provider, in seconds.
pub const PENDING_SECONDS: u64 = 600;
/// The longest code of a provider, in characters.
const CODE_CHARS_MAX: usize = 4096;
/// The most codes that are exchanged at a time. Strangers can send codes, too.
const EXCHANGES_MAX: usize = 16;

/// An OpenID provider, and this client of it.
pub struct Provider {
    configuration: Configuration,
    secret: Option<Zeroizing<String>>,
    discovery: Discovery,
    transport: Transport,
    /// Permits to exchange codes.
    exchanges: Semaphore,
    /// The key of sign-ins that are under way.
    key: MacKey,
}

/// The beginning of a sign-in.
#[derive(Debug)]
pub struct Begun {
    /// The URL at the provider to send the browser to.
    pub location: String,
    /// The cookie's value, which binds the sign-in to the browser.
    pub cookie: String,
}

/// The end of a sign-in.
#[derive(Debug, PartialEq, Eq)]
pub struct Authenticated {
    /// The subject, as the provider names the person.
    pub subject: String,
    /// What [`Provider::begin`] was given.
    pub then: String,
}

/// The answer of the token endpoint. The access token is of no use here.
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

impl Provider {
    /// Read the secret and the authority's certificates. The provider is not asked yet. `key` is drawn at random, and used
    /// for this value alone.
    ///
    /// # Errors
    /// When a file or a variable cannot be used, or the issuer's URL is none.
    pub fn open(configuration: Configuration, key: &[u8; MAC_BYTES]) -> Result<Self, OpenError> {
        let url = &configuration.issuer;
        let issuer = endpoint::url(url, true).map_err(|why| OpenError::Issuer {
            url: url.clone(),
            why,
        })?;
        let source = configuration.client_secret.as_ref();
        let secret = source.map(|source| source.read()).transpose()?;
        Ok(Self {
            secret,
            discovery: Discovery::new(&configuration.issuer, &issuer),
            transport: Transport::new(&issuer, configuration.ca.as_deref())?,
            exchanges: Semaphore::new(EXCHANGES_MAX),
            key: MacKey::new(key),
            configuration,
        })
    }

    /// Begin a sign-in. `random` is drawn for it, `now` is in seconds since 1970, and `then` is given back at its end.
    ///
    /// # Errors
    /// When the provider is away.
    pub async fn begin(&self, random: &[u8; 32], now: u64, then: &str) -> Result<Begun, Failure> {
        let metadata = self.discovery.metadata(&self.transport).await?;
        let pending = Pending::new(random, now + PENDING_SECONDS, then);
        let mut scopes = "openid".to_owned();
        for scope in &self.configuration.scopes {
            scopes.push(' ');
            scopes.push_str(scope);
        }
        let query = form::written(&[
            ("response_type", "code"),
            ("client_id", &self.configuration.client_id),
            ("redirect_uri", &self.configuration.redirect_uri),
            ("scope", &scopes),
            ("state", &pending.state(&self.key)),
            ("nonce", &pending.nonce(&self.key)),
            ("code_challenge", &pending.challenge(&self.key)),
            ("code_challenge_method", "S256"),
        ]);
        let endpoint = &metadata.authorization;
        let joint = if endpoint.query().is_some() { '&' } else { '?' };
        Ok(Begun {
            location: format!("{endpoint}{joint}{query}"),
            cookie: pending.cookie().to_owned(),
        })
    }

    /// Finish a sign-in: by the browser's cookie, and the query with which the provider sent it back.
    ///
    /// # Errors
    /// When the query is of no sign-in of this browser; when the provider is away, refuses, or proves nothing.
    pub async fn finish(
        &self,
        cookie: Option<&str>,
        query: &str,
        now: u64,
    ) -> Result<Authenticated, Failure> {
        let parameters = form::read(query).ok_or(Failure::Foreign("its query is ambiguous"))?;
        let of = |name: &str| {
            let found = parameters.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str())
        };
        let cookie = cookie.ok_or(Failure::Foreign("its browser has no cookie of one"))?;
        let state = of("state").ok_or(Failure::Foreign("it has no state"))?;
        let pending = Pending::of(cookie, &self.key, state).map_err(Failure::Foreign)?;
        if pending.is_over(now) {
            return Err(Failure::Foreign("it took too long"));
        }
        let metadata = self.discovery.metadata(&self.transport).await?;
        self.is_of_issuer(&metadata, of("iss"))?;
        if let Some(error) = of("error") {
            return Err(Failure::Refused(word(error)));
        }
        let code = of("code").filter(|code| (1..=CODE_CHARS_MAX).contains(&code.len()));
        let code = code.ok_or(Failure::Foreign("it has no code"))?;
        let busy = |_| Failure::Away("too many sign-ins end at once".to_owned());
        let _permit = self.exchanges.try_acquire().map_err(busy)?;
        let token = self.exchange(&metadata, code, &pending).await?;
        let subject = self.subject(&token, &pending, now).await?;
        Ok(Authenticated {
            subject,
            then: pending.then(),
        })
    }

    /// A provider that names itself in what it sends back is this one (RFC 9207).
    fn is_of_issuer(&self, metadata: &Metadata, named: Option<&str>) -> Result<(), Failure> {
        match named {
            Some(issuer) if issuer == self.configuration.issuer => Ok(()),
            None if !metadata.names_itself => Ok(()),
            Some(_) => Err(unproven("another issuer sent the browser back")),
            None => Err(unproven("the issuer did not name itself")),
        }
    }

    /// Exchange the code for the ID token.
    async fn exchange(
        &self,
        metadata: &Metadata,
        code: &str,
        pending: &Pending,
    ) -> Result<Zeroizing<String>, Failure> {
        let verifier = Zeroizing::new(pending.verifier(&self.key));
        let client_id = &self.configuration.client_id;
        let mut parameters = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.configuration.redirect_uri),
            ("code_verifier", &verifier),
        ];
        let mut authorization = None;
        match &self.secret {
            Some(secret) if metadata.takes_basic => {
                authorization = Some(basic(client_id, secret)?);
            }
            Some(secret) => {
                parameters.push(("client_id", client_id));
                parameters.push(("client_secret", secret));
            }
            None => parameters.push(("client_id", client_id)),
        }
        let body = form::written(&parameters);
        let answer = self
            .transport
            .post(&metadata.token, body, authorization)
            .await?;
        if answer.status.is_server_error() {
            return Err(Failure::Away(format!("it answered {}", answer.status)));
        }
        if answer.status != StatusCode::OK {
            let refusal: Option<Refusal> = serde_json::from_slice(&answer.body).ok();
            let error = refusal.map_or_else(String::new, |refusal| refusal.error);
            return Err(Failure::Refused(word(&error)));
        }
        let tokens: Option<Tokens> = serde_json::from_slice(&answer.body).ok();
        let tokens = tokens.ok_or_else(|| unproven("it has no ID token"))?;
        Ok(Zeroizing::new(tokens.id_token))
    }

    /// Verify the ID token. With a key that is not known yet, the keys are read again.
    async fn subject(&self, token: &str, pending: &Pending, now: u64) -> Result<String, Failure> {
        let nonce = pending.nonce(&self.key);
        let expected = Expected {
            issuer: &self.configuration.issuer,
            client_id: &self.configuration.client_id,
            nonce: &nonce,
            now,
        };
        let keys = self.discovery.keys(&self.transport).await?;
        let mut verified = id_token::verify(token, &keys, &expected);
        if verified == Err(Unfit::UnknownKey)
            && let Some(keys) = self.discovery.newer_keys(&self.transport).await?
        {
            verified = id_token::verify(token, &keys, &expected);
        }
        verified.map_err(|unfit| match unfit {
            Unfit::UnknownKey => unproven("the ID token's key is not the provider's"),
            Unfit::Wrong(why) => unproven(why),
        })
    }
}

/// HTTP Basic of a client (RFC 6749, section 2.3.1).
fn basic(client_id: &str, secret: &str) -> Result<HeaderValue, Failure> {
    let pair = format!("{}:{}", form::encoded(client_id), form::encoded(secret));
    let pair = Zeroizing::new(pair);
    let text = Zeroizing::new(format!("Basic {}", BASE64.encode(pair.as_bytes())));
    let value = HeaderValue::from_str(&text);
    // Base64 fits into every header.
    value.map_err(|_| unproven("the client's secret fits into no header"))
}

fn unproven(why: &str) -> Failure {
    Failure::Unproven(why.to_owned())
}
