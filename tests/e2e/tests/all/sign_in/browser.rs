//! A browser without a screen: it keeps cookies, follows redirections, and fills in the provider's forms.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Uri};
use rialto_simulator::client::HttpClient;
use rialto_simulator::tls::FspTls;
use serde_json::Value;

/// How long an answer may take.
const SOON: Duration = Duration::from_secs(30);
/// The most redirections in a row.
const HOPS_MAX: usize = 10;

/// An answer.
#[derive(Debug)]
pub struct Page {
    pub status: u16,
    pub url: String,
    pub headers: HeaderMap,
    pub text: String,
}

impl Page {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).map(|value| value.to_str().unwrap());
        value.unwrap_or_default()
    }
}

/// A browser with its cookies, by origin.
#[derive(Clone)]
pub struct Browser {
    http: HttpClient,
    pub cookies: BTreeMap<String, BTreeMap<String, String>>,
}

impl Browser {
    pub fn new() -> Self {
        Self::of(HttpClient::new(SOON))
    }

    /// One that trusts the authority of these certificates.
    pub fn with_tls(tls: &FspTls) -> Self {
        let tls = tls.client_without_certificate().unwrap();
        Self::of(HttpClient::with_tls(SOON, tls))
    }

    fn of(http: HttpClient) -> Self {
        Self {
            http: http.with_answer_bytes_max(1 << 20),
            cookies: BTreeMap::new(),
        }
    }

    /// One request, with the cookies of its origin unless it has some, and with these headers.
    pub async fn send(
        &mut self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Page {
        let uri: Uri = url.parse().unwrap();
        let origin = origin(url);
        let mut all = HeaderMap::new();
        let jar = self.cookies.entry(origin.clone()).or_default();
        let pairs: Vec<String> = jar
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !pairs.is_empty() {
            all.insert("cookie", pairs.join("; ").parse().unwrap());
        }
        for (name, value) in headers {
            let name: HeaderName = name.parse().unwrap();
            all.insert(name, value.parse().unwrap());
        }
        let body = Bytes::from(body.to_owned());
        let answer = self.http.send(method, uri, all, body).await.unwrap();
        for set in answer.headers.get_all("set-cookie") {
            self.keep(&origin, set.to_str().unwrap());
        }
        Page {
            status: answer.status.as_u16(),
            url: url.to_owned(),
            text: String::from_utf8_lossy(&answer.body).into_owned(),
            headers: answer.headers,
        }
    }

    fn keep(&mut self, origin: &str, set: &str) {
        let (pair, attributes) = set.split_once(';').unwrap_or((set, ""));
        let (name, value) = pair.split_once('=').unwrap();
        let jar = self.cookies.entry(origin.to_owned()).or_default();
        let is_over = attributes.to_ascii_lowercase().contains("max-age=0")
            || attributes.contains("01 Jan 1970");
        if value.is_empty() || is_over {
            jar.remove(name);
        } else {
            jar.insert(name.to_owned(), value.to_owned());
        }
    }

    pub async fn get(&mut self, url: &str) -> Page {
        self.send(Method::GET, url, &[], "").await
    }

    /// Follow redirections, from this answer to the first that is none, or to one that leads to a URL with this text.
    pub async fn follow(&mut self, mut page: Page, stop: &str) -> Page {
        for _ in 0..HOPS_MAX {
            if !(300..400).contains(&page.status) {
                return page;
            }
            let next = absolute(&page.url, page.header("location"));
            if next.contains(stop) {
                page.url = next;
                return page;
            }
            page = self.get(&next).await;
        }
        panic!("more than {HOPS_MAX} redirections: {page:?}");
    }

    /// Send the form of a page, with these fields beside the hidden ones.
    async fn submit(&mut self, page: &Page, fields: &str) -> Page {
        let action = between(&page.text, "action=\"", "\"").expect("a form");
        let prompt = between(&page.text, "name=\"prompt\" value=\"", "\"").expect("a prompt");
        let url = absolute(&page.url, action);
        let body = format!("prompt={prompt}&{fields}");
        let form = ("content-type", "application/x-www-form-urlencoded");
        self.send(Method::POST, &url, &[form], &body).await
    }

    /// Sign in at the provider under this name, beginning at this URL of the host. Ends before the browser goes back to
    /// the host: the page's URL is the callback.
    pub async fn authenticate(&mut self, url: &str, name: &str) -> Page {
        let callback = "/sign-in/callback?";
        let begun = self.get(url).await;
        assert_eq!(begun.status, 302, "{begun:?}");
        let mut page = self.follow(begun, callback).await;
        for fields in [format!("login={name}&password=x"), String::new()] {
            if page.url.contains(callback) {
                break;
            }
            let sent = self.submit(&page, &fields).await;
            page = self.follow(sent, callback).await;
        }
        assert!(page.url.contains(callback), "{page:?}");
        page
    }

    /// The same, with the callback. Returns the host's answer to that.
    pub async fn sign_in(&mut self, url: &str, name: &str) -> Page {
        let page = self.authenticate(url, name).await;
        self.get(&page.url).await
    }
}

/// The text between two others, without the entities that URLs have.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(found, _)| found)
}

fn origin(url: &str) -> String {
    url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/")
}

fn absolute(base: &str, location: &str) -> String {
    if location.starts_with('/') {
        format!("{}{location}", origin(base))
    } else {
        location.to_owned()
    }
}
