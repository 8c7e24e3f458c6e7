//! Access tokens: JSON Web Tokens (RFC 7519) in the form of RFC 9068, signed with ES256, and bound to the certificate
//! of the connection on which they were asked for (RFC 8705).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::applications::{Application, active};
use crate::bindings::rialto::host::keys::KeyError;
use crate::settings::Settings;
use crate::signing::{self, SigningKey};
use crate::world::World;

/// The longest token that is looked at, in bytes.
const TOKEN_BYTES_MAX: usize = 4_096;

/// The protected header.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    alg: String,
    typ: String,
    kid: String,
}

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The issuer.
    pub iss: String,
    /// In whose name.
    pub sub: String,
    /// For whom.
    pub aud: String,
    /// The application.
    pub client_id: String,
    /// The token's own id.
    pub jti: String,
    /// Issued at: seconds since 1970, UTC.
    pub iat: u64,
    /// Expires at: seconds since 1970, UTC.
    pub exp: u64,
    /// The generation of the application's tokens.
    pub generation: u64,
    /// The certificate that it is bound to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cnf: Option<Confirmation>,
}

/// The certificate that a token is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// SHA-256 of the certificate's DER, base64url.
    #[serde(rename = "x5t#S256")]
    pub thumbprint: String,
}

/// A token, and how many seconds it lasts.
#[derive(Debug)]
pub struct Issued {
    /// The token.
    pub token: String,
    /// What it says.
    pub claims: Claims,
    /// Seconds.
    pub expires_in: u64,
}

/// Issue a token to an application. `thumbprint` is that of the connection's certificate.
///
/// # Errors
/// When no key can sign.
pub fn issue(
    world: &mut impl World,
    settings: &Settings,
    application: &Application,
    thumbprint: Option<&str>,
) -> Result<Issued, KeyError> {
    let key = signing::current(world, settings)?;
    match signed(world, settings, application, thumbprint, &key) {
        // After a change of master keys or providers.
        Err(KeyError::NoKey(_) | KeyError::NoProvider) => {
            signing::give_up(world, &key);
            let key = signing::current(world, settings)?;
            signed(world, settings, application, thumbprint, &key)
        }
        other => other,
    }
}

fn signed(
    world: &mut impl World,
    settings: &Settings,
    application: &Application,
    thumbprint: Option<&str>,
    key: &SigningKey,
) -> Result<Issued, KeyError> {
    let iat = world.now() / 1_000;
    let expires_in = settings.token_lifetime_seconds;
    let claims = Claims {
        iss: settings.issuer.clone(),
        sub: application.name.clone(),
        aud: settings.audience().to_owned(),
        client_id: application.id.clone(),
        jti: world.uuid(),
        iat,
        exp: iat + expires_in,
        generation: application.generation,
        cnf: thumbprint.map(|thumbprint| Confirmation {
            thumbprint: thumbprint.to_owned(),
        }),
    };
    let header = Header {
        alg: "ES256".to_owned(),
        typ: "at+jwt".to_owned(),
        kid: key.id.clone(),
    };
    let mut token = [part(&header), part(&claims)].join(".");
    let signature = world.sign(&key.reference, token.as_bytes())?;
    token.push('.');
    token.push_str(&URL_SAFE_NO_PAD.encode(signature));
    Ok(Issued {
        token,
        claims,
        expires_in,
    })
}

fn part(content: &impl Serialize) -> String {
    let text = serde_json::to_string(content);
    URL_SAFE_NO_PAD.encode(text.expect("texts and numbers always have a JSON text"))
}

/// What a token says, if it is valid now.
pub fn verify(world: &mut impl World, settings: &Settings, token: &str) -> Option<Claims> {
    if token.len() > TOKEN_BYTES_MAX {
        return None;
    }
    let (signed, signature) = token.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let bytes = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
    let header: Header = serde_json::from_slice(&bytes(header)?).ok()?;
    if header.alg != "ES256" || header.typ != "at+jwt" {
        return None;
    }
    let keys = signing::verifying(world);
    let key = keys.into_iter().find(|key| key.id == header.kid)?;
    let is_right = world.verify(&key.public_key, signed.as_bytes(), &bytes(signature)?);
    if is_right != Ok(true) {
        return None;
    }
    let claims: Claims = serde_json::from_slice(&bytes(claims)?).ok()?;
    let now = world.now() / 1_000;
    let is_now = claims.iat <= now && now < claims.exp;
    if !is_now || claims.iss != settings.issuer || claims.aud != settings.audience() {
        return None;
    }
    let application = active(world, &claims.client_id)?;
    let is_its = application.generation == claims.generation && application.name == claims.sub;
    is_its.then_some(claims)
}
