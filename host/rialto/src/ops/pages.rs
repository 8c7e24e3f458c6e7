//! The pages of a sign-in: without scripts, and nothing is loaded for them.

use std::sync::LazyLock;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

/// The style of all pages.
const STYLE: &str = include_str!("pages.css");

/// What a browser may load for a page: its style. Nobody may frame it.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest: [u8; 32] = Sha256::digest(STYLE).into();
    let digest = data_encoding::BASE64.encode(&digest);
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).expect("base64 fits into a header")
});

/// A page: its title, and paragraphs.
pub struct Page {
    status: StatusCode,
    title: &'static str,
    body: String,
}

impl Page {
    /// A page with a title and one paragraph, which may be empty.
    pub fn new(status: StatusCode, title: &'static str, text: &str) -> Self {
        let body = String::new();
        let page = Self {
            status,
            title,
            body,
        };
        if text.is_empty() {
            page
        } else {
            page.paragraph(text)
        }
    }

    /// Add a paragraph.
    #[must_use]
    pub fn paragraph(mut self, text: &str) -> Self {
        self.body = format!("{}<p>{}</p>\n", self.body, escaped(text));
        self
    }

    /// Add rows of names and values.
    #[must_use]
    pub fn rows(mut self, rows: &[(&str, &str)]) -> Self {
        self.body.push_str("<dl>\n");
        for (name, value) in rows {
            let (name, value) = (escaped(name), escaped(value));
            self.body
                .push_str(&format!("<dt>{name}</dt><dd>{value}</dd>\n"));
        }
        self.body.push_str("</dl>\n");
        self
    }

    /// Add a link to a sign-in.
    #[must_use]
    pub fn sign_in(mut self, label: &str) -> Self {
        let label = escaped(label);
        self.body
            .push_str(&format!("<p><a href=\"/sign-in\">{label}</a></p>\n"));
        self
    }

    /// Add a button that signs out.
    #[must_use]
    pub fn sign_out(mut self) -> Self {
        self.body.push_str(
            "<form method=\"post\" action=\"/sign-out\"><button>Sign out</button></form>\n",
        );
        self
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let title = escaped(self.title);
        let text = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title} – Rialto</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>{title}</h1>\n{}</main>\n</body>\n</html>\n",
            self.body
        );
        let mut response = (self.status, text).into_response();
        let headers = response.headers_mut();
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, html);
        headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
        for (name, value) in [
            (header::CACHE_CONTROL, "no-store"),
            // With `no-referrer` a form's request would have no origin.
            (header::REFERRER_POLICY, "same-origin"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Text for content or for an attribute in quotation marks.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}
