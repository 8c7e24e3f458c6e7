//! How a listener's clients prove who they are, and what follows for a request.
//!
//! The release says what clients must prove. The edge finds the identity before it reads a byte of the body, and
//! gives its name to the component, which compares it with the sender that the message names. The credential itself
//! goes to no component (`credentials.rs` has the one exception).

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, StatusCode};
use rialto_components::http as wit;
use rialto_components::http::ViolationKind;
use rialto_tls::{ClientCertificate, Unproven};
use rialto_tokens::{Invalid, Thumbprint};

use crate::credentials::Presented;
use crate::tokens::{Bound, Denied, Tokens};
use crate::violation::violation;

/// The role of a caller that has proven who it is, and is no operator.
pub const CLIENT: &str = "client";
/// The location of the violation where a client certificate is missing.
const CERTIFICATE: &str = "client certificate";
/// The location of violations of tokens.
const AUTHORIZATION: &str = "header Authorization";
/// The challenge of a 401 for a certificate. HTTP has no registered name for certificates of TLS.
const CERTIFICATE_CHALLENGE: HeaderValue = HeaderValue::from_static("ClientCertificate");
/// The challenge of a 401 for a token, where none was sent (RFC 6750, 3).
const TOKEN_CHALLENGE: HeaderValue = HeaderValue::from_static("Bearer realm=\"rialto\"");

/// How the clients of a listener prove who they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Authentication {
    /// They do not.
    #[default]
    None,
    /// By the certificate of their connection.
    MutualTls,
    /// By an access token in each request.
    Bearer,
    /// By both: the token must be bound to the certificate, and both must have the same name.
    MutualTlsBearer,
}

/// The client certificate of a request's connection. The listener adds it to each request as an extension.
#[derive(Clone)]
pub struct Certified(pub Arc<ClientCertificate>);

/// Whom a connection's certificate proves.
struct Certificate {
    name: Arc<str>,
    thumbprint: Thumbprint,
}

/// What is known of a request's sender.
pub(crate) struct Sender {
    /// The caller, for the component.
    pub caller: Option<wit::Caller>,
    /// The certificate of the connection, if certificates are needed.
    pub certificate: Option<Thumbprint>,
}

/// Why a request is refused before its turn.
pub(crate) struct Refusal {
    pub violation: wit::Violation,
    pub status: RefusalStatus,
}

/// The status of a refusal.
pub(crate) enum RefusalStatus {
    /// The one that the component chooses.
    OfTheComponent,
    /// 401, with this challenge: the client has not proven who it is.
    Unauthorized(HeaderValue),
    /// 403: the caller is known, and may not do this.
    Forbidden,
    /// 403 in the component's words: the caller is known, and may not send from this address.
    ForbiddenAddress,
}

impl From<wit::Violation> for Refusal {
    fn from(violation: wit::Violation) -> Self {
        Self {
            violation,
            status: RefusalStatus::OfTheComponent,
        }
    }
}

impl Authentication {
    /// Whether clients need a certificate.
    #[must_use]
    pub const fn needs_certificate(self) -> bool {
        matches!(self, Self::MutualTls | Self::MutualTlsBearer)
    }

    /// Whether clients need an access token.
    #[must_use]
    pub const fn needs_token(self) -> bool {
        matches!(self, Self::Bearer | Self::MutualTlsBearer)
    }

    /// The sender of a request. An open operation needs no token. Its caller has the certificate's name, if certificates
    /// are needed.
    pub(crate) async fn sender(
        self,
        head: &Parts,
        tokens: Option<&Tokens>,
        is_open: bool,
    ) -> Result<Sender, Refusal> {
        let certificate = self.certificate(head)?;
        let thumbprint = certificate
            .as_ref()
            .map(|certificate| certificate.thumbprint);
        let name = if is_open || !self.needs_token() {
            certificate.map(|certificate| certificate.name)
        } else {
            Some(token_name(self, head, tokens, certificate).await?)
        };
        Ok(Sender {
            caller: name.as_deref().map(client),
            certificate: thumbprint,
        })
    }

    /// The certificate of a request's connection, if certificates are needed.
    fn certificate(self, head: &Parts) -> Result<Option<Certificate>, Refusal> {
        if !self.needs_certificate() {
            return Ok(None);
        }
        let certificate = proven(head).map_err(|unproven| Refusal {
            violation: violation(ViolationKind::Missing, CERTIFICATE, unproven.to_string()),
            status: RefusalStatus::Unauthorized(CERTIFICATE_CHALLENGE),
        })?;
        Ok(Some(certificate))
    }
}

fn client(name: &str) -> wit::Caller {
    wit::Caller {
        name: name.to_owned(),
        roles: vec![CLIENT.to_owned()],
    }
}

/// The name that a request's token proves, which must be the certificate's if there is one.
async fn token_name(
    authentication: Authentication,
    head: &Parts,
    tokens: Option<&Tokens>,
    certificate: Option<Certificate>,
) -> Result<Arc<str>, Refusal> {
    let presented: Option<&Presented> = head.extensions.get();
    let token = match presented.map_or(Ok(None), Presented::token) {
        Ok(Some(token)) => token,
        Ok(None) => return Err(no_token()),
        Err(invalid) => return Err(invalid_token(invalid)),
    };
    let tokens = tokens.ok_or_else(unknown)?;
    // A token that names a certificate is of no use without it, also where none is needed.
    let shown = match &certificate {
        Some(certificate) => Some(certificate.thumbprint),
        None => proven(head).ok().map(|certificate| certificate.thumbprint),
    };
    let bound = Bound {
        certificate: shown.as_ref(),
        is_required: authentication.needs_certificate(),
    };
    let claims = tokens.claims(token, bound).await;
    let claims = claims.map_err(|denied| match denied {
        Denied::Invalid(invalid) => invalid_token(invalid),
        Denied::Unknown => unknown(),
    })?;
    if certificate.is_some_and(|certificate| certificate.name != claims.name) {
        return Err(invalid_token(Invalid::CertificateName));
    }
    Ok(claims.name.clone())
}

fn no_token() -> Refusal {
    let detail = "the client has sent no access token".to_owned();
    Refusal {
        violation: violation(ViolationKind::Missing, AUTHORIZATION, detail),
        status: RefusalStatus::Unauthorized(TOKEN_CHALLENGE),
    }
}

fn invalid_token(invalid: Invalid) -> Refusal {
    let detail = invalid.to_string();
    let challenge = format!("Bearer error=\"invalid_token\", error_description=\"{detail}\"");
    let challenge = HeaderValue::from_str(&challenge).unwrap_or(TOKEN_CHALLENGE);
    Refusal {
        violation: violation(ViolationKind::Malformed, AUTHORIZATION, detail),
        status: RefusalStatus::Unauthorized(challenge),
    }
}

/// The refusal while it cannot be known whether a token is valid.
fn unknown() -> Refusal {
    let detail = "the host cannot verify access tokens now; try again".to_owned();
    violation(ViolationKind::Overloaded, "", detail).into()
}

fn proven(head: &Parts) -> Result<Certificate, Unproven> {
    let certified: Option<&Certified> = head.extensions.get();
    let Certified(certificate) = certified.ok_or(Unproven::None)?;
    let name = certificate.identity()?.name;
    let thumbprint = certificate.thumbprint().ok_or(Unproven::None)?;
    Ok(Certificate {
        name,
        thumbprint: Thumbprint(*thumbprint),
    })
}

/// Make a refusal in a component's words one of a client that has not proven who it is.
pub(crate) fn challenge<B>(response: &mut http::Response<B>, challenge: HeaderValue) {
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    response
        .headers_mut()
        .insert(http::header::WWW_AUTHENTICATE, challenge);
}
