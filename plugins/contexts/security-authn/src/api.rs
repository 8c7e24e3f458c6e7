//! The operations over HTTP. Each words its refusals as its own standard says: `/oauth2/token` by RFC 6749, the others
//! as problem documents (RFC 9457).

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::bindings::exports::rialto::host::http_handler::{
    Request, RequestHead, Response, Violation, ViolationKind,
};
use crate::login::{From, Wrong, login};
use crate::settings::Settings;
use crate::signing;
use crate::tokens::{self, Issued};
use crate::world::World;

/// The path whose refusals are OAuth's.
const TOKEN: &str = "/oauth2/token";
/// The header by which the host tells the thumbprint of the connection's certificate.
const THUMBPRINT: &str = "x-rialto-client-certificate";
/// The header by which it tells the connection's address.
const ADDRESS: &str = "x-rialto-client-address";
/// What who has to wait is told.
const TOO_MANY: &str = "there were too many wrong secrets from you: wait before the next one";

/// The challenge of a 401.
const CHALLENGE: &str = "Basic realm=\"applications\", charset=\"UTF-8\"";

#[derive(Deserialize)]
struct Login {
    id: String,
    secret: String,
}

/// Answer a request.
pub fn answer(world: &mut impl World, settings: &Settings, request: &Request) -> Response {
    match request.operation_id.as_str() {
        "basicAuth" => basic_auth(world, settings, request),
        "token" => token(world, settings, request),
        "jwks" => cached(&jwks(world)),
        _ => cached(&discovery(settings)),
    }
}

fn basic_auth(world: &mut impl World, settings: &Settings, request: &Request) -> Response {
    let body = request.body.as_deref().unwrap_or_default();
    let Ok(Login { id, secret }) = serde_json::from_str(body) else {
        return problem(400, "malformed", "the body has `id` and `secret`");
    };
    match issued(world, settings, request, (&id, &secret)) {
        Ok(issued) => uncached(
            200,
            &json!({
                "accessToken": issued.token,
                "tokenType": "Bearer",
                "expiresIn": issued.expires_in,
                "claims": issued.claims,
                "metadata": { "appId": issued.claims.client_id },
            }),
        ),
        Err(Failed::Refused(Wrong::Waits(ms))) => {
            problem(429, "too-many-attempts", TOO_MANY).with("retry-after", &seconds(ms))
        }
        Err(Failed::Refused(Wrong::Unknown)) => {
            let detail = "id and secret do not belong together, or get no token";
            problem(401, "unauthenticated", detail).with("www-authenticate", CHALLENGE)
        }
        Err(Failed::NoKey) => problem(503, "provider-away", "no key can sign tokens now"),
    }
}

fn token(world: &mut impl World, settings: &Settings, request: &Request) -> Response {
    let form = form(request.body.as_deref().unwrap_or_default());
    let field = |name: &str| {
        form.iter()
            .find(|(known, _)| known == name)
            .map(|(_, v)| v.as_str())
    };
    if field("grant_type") != Some("client_credentials") {
        let what = "only `grant_type=client_credentials` is taken";
        return oauth(400, "unsupported_grant_type", what);
    }
    let header = header(request, "authorization");
    let given = match (header, field("client_id"), field("client_secret")) {
        (Some(_), _, Some(_)) => {
            // RFC 6749, 2.3 and 5.2.
            let what = "say who you are once: by HTTP Basic, or by `client_secret`";
            return oauth(400, "invalid_request", what);
        }
        (Some(header), id, None) => {
            basic(header).filter(|(basic, _)| id.is_none_or(|id| id == basic))
        }
        (None, Some(id), Some(secret)) => Some((id.to_owned(), secret.to_owned())),
        _ => None,
    };
    let Some((id, secret)) = given else {
        let what = "say who you are: by HTTP Basic, or by `client_id` and `client_secret`";
        return oauth(401, "invalid_client", what);
    };
    match issued(world, settings, request, (&id, &secret)) {
        Ok(issued) => uncached(
            200,
            &json!({
                "access_token": issued.token,
                "token_type": "Bearer",
                "expires_in": issued.expires_in,
            }),
        ),
        Err(Failed::Refused(Wrong::Waits(ms))) => {
            // RFC 6749 has no word for it; RFC 6585 has the status.
            let answer = oauth(429, "temporarily_unavailable", TOO_MANY);
            answer.with("retry-after", &seconds(ms))
        }
        Err(Failed::Refused(Wrong::Unknown)) => {
            let what = "id and secret do not belong together, or get no token";
            oauth(401, "invalid_client", what)
        }
        Err(Failed::NoKey) => oauth(503, "temporarily_unavailable", "no key can sign tokens now"),
    }
}

/// Why no token is issued.
enum Failed {
    Refused(Wrong),
    NoKey,
}

fn issued(
    world: &mut impl World,
    settings: &Settings,
    request: &Request,
    (id, secret): (&str, &str),
) -> Result<Issued, Failed> {
    let from = From {
        certified: request.caller.as_ref().map(|caller| caller.name.as_str()),
        address: header(request, ADDRESS).unwrap_or_default(),
    };
    let application = login(world, id, secret, from).map_err(Failed::Refused)?;
    let thumbprint = header(request, THUMBPRINT);
    tokens::issue(world, settings, &application, thumbprint).map_err(|error| {
        world.alert(&format!("no token can be signed: {error:?}"));
        Failed::NoKey
    })
}

/// Milliseconds as whole seconds, rounded up.
fn seconds(ms: u64) -> String {
    ms.div_ceil(1_000).to_string()
}

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    let found = request.headers.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

/// Id and secret of HTTP Basic. Both are form-encoded within it (RFC 6749, 2.3.1).
fn basic(header: &str) -> Option<(String, String)> {
    let (scheme, content) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(content.trim()).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    Some((decoded(id), decoded(secret)))
}

/// The fields of a form, which the host has found to be well-formed.
fn form(body: &str) -> Vec<(String, String)> {
    let fields = body.split('&').filter(|field| !field.is_empty());
    let fields = fields.map(|field| field.split_once('=').unwrap_or((field, "")));
    fields
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

/// Without percent-encoding, and with spaces for `+`. What is no UTF-8 becomes a sign that no id and no secret has.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        let hex = match after {
            [high, low, ..] => digit(high).zip(digit(low)),
            _ => None,
        };
        match (first, hex) {
            (b'%', Some((high, low))) => {
                bytes.extend(u8::try_from(high * 16 + low));
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(*other),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The keys whose tokens are valid now (RFC 7517).
fn jwks(world: &mut impl World) -> Value {
    let keys = signing::verifying(world).into_iter().filter_map(|key| {
        let (x, y) = coordinates(&key.public_key)?;
        Some(json!({
            "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": key.id,
            "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
        }))
    });
    json!({ "keys": keys.collect::<Vec<_>>() })
}

/// The point of a key on P-256. Its SubjectPublicKeyInfo ends with the two numbers, of 32 bytes each.
fn coordinates(pem: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let base64: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    let der = STANDARD.decode(base64).ok()?;
    let point = der.len().checked_sub(65).map(|at| &der[at..])?;
    let [4, numbers @ ..] = point else {
        return None;
    };
    let (x, y) = numbers.split_at(32);
    Some((x.to_vec(), y.to_vec()))
}

/// What clients need to know (RFC 8414).
fn discovery(settings: &Settings) -> Value {
    let issuer = &settings.issuer;
    json!({
        "issuer": issuer,
        "token_endpoint": format!("{issuer}{TOKEN}"),
        "jwks_uri": format!("{issuer}/.well-known/jwks.json"),
        "response_types_supported": [],
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
    })
}

/// Word a refusal of the host.
#[must_use]
pub fn refusal(head: &RequestHead, violation: &Violation) -> Response {
    let detail = format!("{}: {}", violation.location, violation.detail);
    let (status, kind) = match violation.kind {
        ViolationKind::UnknownPath => (404, "not-found"),
        ViolationKind::MethodNotAllowed => (405, "method-not-allowed"),
        ViolationKind::BodyTooLarge => (413, "too-large"),
        ViolationKind::HeadersTooLarge => (431, "too-large"),
        ViolationKind::Overloaded => (503, "overloaded"),
        ViolationKind::Internal => (500, "internal"),
        _ => (400, "malformed"),
    };
    let is_token = head.path.split('?').next() == Some(TOKEN);
    let response = match status {
        400 if is_token => oauth(400, "invalid_request", &detail),
        503 if is_token => oauth(503, "temporarily_unavailable", &detail),
        _ => problem(status, kind, &detail),
    };
    match violation.kind {
        ViolationKind::MethodNotAllowed => response.with("allow", &violation.allowed.join(", ")),
        ViolationKind::Overloaded => response.with("retry-after", "1"),
        _ => response,
    }
}

trait With {
    fn with(self, name: &str, value: &str) -> Self;
}

impl With for Response {
    fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

fn response(status: u16, media_type: &str, body: &Value) -> Response {
    Response {
        status,
        headers: vec![("content-type".to_owned(), media_type.to_owned())],
        body: Some(body.to_string()),
    }
}

/// An answer with a token, or about one: nobody may keep it (RFC 6749, 5.1).
fn uncached(status: u16, body: &Value) -> Response {
    response(status, "application/json", body).with("cache-control", "no-store")
}

/// A document that clients may keep for a while.
fn cached(body: &Value) -> Response {
    response(200, "application/json", body).with("cache-control", "public, max-age=300")
}

fn oauth(status: u16, error: &str, description: &str) -> Response {
    let body = json!({ "error": error, "error_description": description });
    let answer = uncached(status, &body);
    match status {
        401 => answer.with(
            "www-authenticate",
            "Basic realm=\"oauth2\", charset=\"UTF-8\"",
        ),
        _ => answer,
    }
}

fn problem(status: u16, kind: &str, detail: &str) -> Response {
    let title = match status {
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    };
    let body = json!({
        "type": format!("urn:rialto:problem:{kind}"), "title": title, "status": status, "detail": detail,
    });
    response(status, "application/problem+json", &body).with("cache-control", "no-store")
}
