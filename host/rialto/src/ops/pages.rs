//! The pages of the host: of a sign-in, without scripts, and of passkeys. Nothing is loaded for them.

use std::sync::LazyLock;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

/// The style of all pages.
const STYLE: &str = include_str!("pages.css");

/// What a browser may load for a page: its style. Nobody may frame it.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = digest(STYLE);
    format!(
        "default-src 'none'; style-src {style}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
});

/// What a browser may load for a page with a script: that script too, which speaks to this host alone.
fn policy(script: Option<&str>) -> String {
    let base = &*POLICY;
    match script {
        None => base.clone(),
        Some(script) => format!("{base}; script-src {}; connect-src 'self'", digest(script)),
    }
}

/// A text of a page by its digest, as a policy names it.
fn digest(text: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(text).into();
    format!("'sha256-{}'", data_encoding::BASE64.encode(&digest))
}

/// A page: its title, and its content.
pub struct Page {
    status: StatusCode,
    title: &'static str,
    body: String,
    script: Option<&'static str>,
}

impl Page {
    /// A page with a title and one paragraph, which may be empty.
    pub fn new(status: StatusCode, title: &'static str, text: &str) -> Self {
        let body = String::new();
        let page = Self {
            status,
            title,
            body,
            script: None,
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

    /// Add a heading.
    #[must_use]
    pub fn section(mut self, title: &str) -> Self {
        self.body = format!("{}<h2>{}</h2>\n", self.body, escaped(title));
        self
    }

    /// Add a text as it stands, with its name.
    #[must_use]
    pub fn listing(mut self, name: &str, text: &str) -> Self {
        let (name, text) = (escaped(name), escaped(text));
        self.body
            .push_str(&format!("<h2>{name}</h2>\n<pre>{text}</pre>\n"));
        self
    }

    /// Add a field for a text of at most so many characters.
    #[must_use]
    pub fn field(mut self, id: &str, label: &str, characters_max: u32) -> Self {
        let (id, label) = (escaped(id), escaped(label));
        self.body.push_str(&format!(
            "<p><label for=\"{id}\">{label}</label><input id=\"{id}\" required maxlength=\"{characters_max}\"></p>\n"
        ));
        self
    }

    /// Add a button for an action of the page's script, with what the action needs.
    #[must_use]
    pub fn button(mut self, action: &str, label: &str, data: &[(&str, &str)]) -> Self {
        let each = data
            .iter()
            .map(|(name, value)| (escaped(name), escaped(value)));
        let data: String = each
            .map(|(name, value)| format!(" data-{name}=\"{value}\""))
            .collect();
        let (action, label) = (escaped(action), escaped(label));
        self.body.push_str(&format!(
            "<p><button type=\"button\" data-action=\"{action}\"{data}>{label}</button></p>\n"
        ));
        self
    }

    /// Add a script, and a place where it says how things stand.
    #[must_use]
    pub fn script(mut self, script: &'static str) -> Self {
        self.body.push_str("<p role=\"status\"></p>\n");
        self.script = Some(script);
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
        let script = self
            .script
            .map(|script| format!("<script>{script}</script>\n"));
        let script = script.unwrap_or_default();
        let text = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title} – Rialto</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n\
             <h1>{title}</h1>\n{}</main>\n{script}</body>\n</html>\n",
            self.body
        );
        let mut response = (self.status, text).into_response();
        let headers = response.headers_mut();
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, html);
        let policy = HeaderValue::try_from(policy(self.script));
        let policy = policy.expect("base64 fits into a header");
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
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
