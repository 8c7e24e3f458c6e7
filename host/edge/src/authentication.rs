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
use rialto_tls::{ClientCertificate, Identity, Unproven};
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
#[derive(Clone)]
struct Certificate {
    identity: Identity,
    thumbprint: Thumbprint,
}

/// What is known of a request's sender.
pub(crate) struct Sender {
    /// The caller, for the component.
    pub caller: Option<wit::Caller>,
    /// The certificate of the connection, if certificates are needed.
    pub certificate: Option<Thumbprint>,
    /// The certificate on which it depends who the sender is: also that of a token which is bound to one.
    pub proof: Option<Identity>,
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
    /// 403: the caller is known, and has not confirmed this.
    Unconfirmed,
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
        if is_open || !self.needs_token() {
            let proof = certificate.map(|certificate| certificate.identity);
            return Ok(Sender {
                caller: proof.as_ref().map(|proof| client(&proof.name)),
                certificate: thumbprint,
                proof,
            });
        }
        // A token that names a certificate is of no use without it, also where none is needed.
        let shown = certificate.clone().or_else(|| proven(head).ok());
        let name = token_name(self, head, tokens, (certificate, shown.as_ref())).await?;
        Ok(Sender {
            caller: Some(client(&name)),
            certificate: thumbprint,
            proof: shown.map(|shown| shown.identity),
        })
    }

    /// The certificate of a request's connection, if certificates are needed.
    fn certificate(self, head: &Parts) -> Result<Option<Certificate>, Refusal> {
        if !self.needs_certificate() {
            return Ok(None);
        }
        proven(head).map(Some).map_err(not_proven)
    }
}

/// The refusal of a request whose connection's certificate proves nothing.
pub(crate) fn not_proven(unproven: Unproven) -> Refusal {
    Refusal {
        violation: violation(ViolationKind::Missing, CERTIFICATE, unproven.to_string()),
        status: RefusalStatus::Unauthorized(CERTIFICATE_CHALLENGE),
    }
}

fn client(name: &str) -> wit::Caller {
    wit::Caller {
        name: name.to_owned(),
        roles: vec![CLIENT.to_owned()],
    }
}

/// The name that a request's token proves, which must be that of the needed certificate, if there is one. The token may be
/// bound to the one that was shown.
async fn token_name(
    authentication: Authentication,
    head: &Parts,
    tokens: Option<&Tokens>,
    (certificate, shown): (Option<Certificate>, Option<&Certificate>),
) -> Result<Arc<str>, Refusal> {
    let presented: Option<&Presented> = head.extensions.get();
    let token = match presented.map_or(Ok(None), Presented::token) {
        Ok(Some(token)) => token,
        Ok(None) => return Err(no_token()),
        Err(invalid) => return Err(invalid_token(invalid)),
    };
    let tokens = tokens.ok_or_else(unknown)?;
    let bound = Bound {
        certificate: shown.map(|shown| &shown.thumbprint),
        is_required: authentication.needs_certificate(),
    };
    let claims = tokens.claims(token, bound).await;
    let claims = claims.map_err(|denied| match denied {
        Denied::Invalid(invalid) => invalid_token(invalid),
        Denied::Unknown => unknown(),
    })?;
    if certificate.is_some_and(|certificate| certificate.identity.name != claims.name) {
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
    let identity = certificate.identity()?;
    let thumbprint = certificate.thumbprint().ok_or(Unproven::None)?;
    Ok(Certificate {
        identity,
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
