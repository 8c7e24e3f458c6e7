//! The operators' console: its page and its files, which are built into the binary. They hold no secret, so they are open;
//! what the page shows it asks for by the API, as the operator who looks at it.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rialto_console::{File, PAGE, file};

use super::extractors::At;
use super::pages::Page;
use super::problem::{Kind, Problem};
use super::{Host, cookies};

/// What a browser may load for the console: its own files, and answers of this host. No script or style is in the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// What the page says of the sign-in as it is built, and what it says where people sign in with a provider.
const SIGN_IN: (&str, &str) = (r#"data-sign-in="token""#, r#"data-sign-in="provider""#);
/// The same of a session: without one, the page asks the host for nothing before somebody has signed in.
const SESSION: (&str, &str) = (r#"data-session="none""#, r#"data-session="perhaps""#);

/// Names with a digest never mean something else; the page changes with each version.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

/// The page of the console.
pub(super) async fn page(State(shared): Host, headers: HeaderMap) -> Response {
    let Some(page) = file(PAGE) else {
        return not_built();
    };
    let mut text = String::from_utf8_lossy(page.plain).into_owned();
    if shared.sign_in.is_some() {
        text = text.replacen(SIGN_IN.0, SIGN_IN.1, 1);
    }
    if cookies::read(&headers, cookies::SESSION, shared.browsers.is_secure).is_some() {
        text = text.replacen(SESSION.0, SESSION.1, 1);
    }
    answer(&page, text.into_bytes(), "no-store")
}

/// A file of the console.
pub(super) async fn asset(At(name): At<String>, headers: HeaderMap) -> Response {
    let Some(found) = file(&name).filter(|found| found.name != PAGE) else {
        let detail = "the console has no such file; it begins at `/console`";
        return Problem::new(Kind::NotFound, detail).into_response();
    };
    if !takes_gzip(&headers) {
        return answer(&found, found.plain.to_vec(), FOR_EVER);
    }
    let mut response = answer(&found, found.compressed.to_vec(), FOR_EVER);
    let gzip = HeaderValue::from_static("gzip");
    response
        .headers_mut()
        .insert(header::CONTENT_ENCODING, gzip);
    response
}

/// Whether the client takes gzip.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let taken = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut taken = taken
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    taken.any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let is_refused = weight
            .trim()
            .strip_prefix("q=")
            .is_some_and(|q| q.parse() == Ok(0.0_f32));
        name.trim().eq_ignore_ascii_case("gzip") && !is_refused
    })
}

fn answer(file: &File, bytes: Vec<u8>, cache: &'static str) -> Response {
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    let all: [(HeaderName, &'static str); 6] = [
        (header::CONTENT_TYPE, file.media_type()),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, cache),
        (header::VARY, "Accept-Encoding"),
        // With `no-referrer` a form's request would have no origin.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    for (name, value) in all {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The page of a binary without a console.
fn not_built() -> Response {
    let text = "The binary was built without the operators' console. All else works: the API and the commands.";
    Page::new(StatusCode::NOT_FOUND, "This build has no console", text)
        .paragraph("To build it in, run `cargo xtask build` in the project's folder. It needs Node.js with npm.")
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_who_takes_it() {
        let takes = |value: &'static str| {
            let pair = (header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            takes_gzip(&[pair].into_iter().collect())
        };
        assert!(takes("gzip, deflate, br"));
        assert!(takes("br;q=1.0, GZIP;q=0.5"));
        assert!(!takes("br"));
        assert!(!takes("gzip;q=0, br"));
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn the_page_has_what_the_host_replaces() {
        if let Some(page) = file(PAGE) {
            let text = String::from_utf8_lossy(page.plain);
            assert!(text.contains(SIGN_IN.0) && text.contains(SESSION.0));
        }
    }
}
