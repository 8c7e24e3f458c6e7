//! Sessions that are given for tokens: what their cookies say, when they end, and what other pages can do with them.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, Method};
use rialto_simulator::client::HttpClient;
use serde_json::{Value, json};

use super::{SOON, Scene};

/// An answer: its status, the cookie that it sets, and its body.
#[derive(Debug)]
struct Said {
    status: u16,
    cookie: String,
    body: Value,
}

impl Said {
    fn problem(&self) -> &str {
        let of = self.body["type"].as_str().unwrap_or_default();
        of.trim_start_matches("urn:rialto:problem:")
    }

    /// The cookie as a browser sends it.
    fn shown(&self) -> String {
        self.cookie.split(';').next().unwrap().to_owned()
    }
}

impl Scene {
    async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Said {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).unwrap();
            all.insert(name, value.parse().unwrap());
        }
        let uri = self.url(path).parse().unwrap();
        let client = HttpClient::new(SOON);
        let body = bytes::Bytes::from(body.to_owned());
        let answer = client.send(method, uri, all, body).await.unwrap();
        let cookie = answer.headers.get("set-cookie");
        Said {
            status: answer.status.as_u16(),
            cookie: cookie.map_or_else(String::new, |c| c.to_str().unwrap().to_owned()),
            body: serde_json::from_slice(&answer.body).unwrap_or_default(),
        }
    }

    /// A session for a token.
    async fn session(&self, token: &str) -> Said {
        let token = format!("Bearer {token}");
        self.send(
            Method::POST,
            "/session",
            &[("authorization", token.as_str())],
            "",
        )
        .await
    }

    /// GET with a cookie.
    async fn get(&self, cookie: &str, path: &str) -> Said {
        self.send(Method::GET, path, &[("cookie", cookie)], "")
            .await
    }

    /// POST JSON with a cookie and these headers.
    async fn act(&self, cookie: &str, path: &str, more: &[(&str, &str)], body: &str) -> Said {
        let own = [("cookie", cookie), ("content-type", "application/json")];
        let all: Vec<_> = own.iter().chain(more).copied().collect();
        self.send(Method::POST, path, &all, body).await
    }

    /// The address of the operators' listener, as a browser names it.
    fn origin(&self) -> String {
        self.url("")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_for_a_token_ends_at_once() {
    let scene = Scene::begin().await;
    let given = scene.session(&scene.token("anna")).await;
    assert_eq!(
        (given.status, &given.body["person"], &given.body["kind"]),
        (201, &json!("anna"), &json!("session")),
        "{given:?}"
    );
    let attributes: Vec<&str> = given.cookie.split("; ").skip(1).collect();
    // No TLS here, so the cookie cannot be Secure.
    assert_eq!(attributes[0], "Path=/");
    assert!(attributes[1].starts_with("Max-Age=7"), "{attributes:?}");
    assert_eq!(attributes[2..], ["HttpOnly", "SameSite=Strict"]);
    let cookie = given.shown();
    assert_eq!(scene.get(&cookie, "/releases").await.status, 200);
    let listed = scene.office.get("anna", "/tokens").await.unwrap();
    assert_eq!(listed[0]["label"], "for the token in a file");

    let origin = scene.origin();
    let own = [("origin", origin.as_str())];
    let again = scene.act(&cookie, "/session", &own, "").await;
    assert_eq!((again.status, again.problem()), (403, "session-by-session"));

    // Signed out, it is of no use to anybody; another one goes on.
    let other = scene.session(&scene.token("anna")).await.shown();
    let out = scene.act(&cookie, "/sign-out", &own, "").await;
    assert_eq!(out.status, 204, "{out:?}");
    assert!(out.cookie.contains("Max-Age=0"), "{out:?}");
    assert_eq!(scene.get(&cookie, "/releases").await.status, 401);
    assert_eq!(scene.get(&other, "/releases").await.status, 200);

    // Ended by its operator from elsewhere.
    let id = scene.get(&other, "/session").await.body["id"].clone();
    let path = format!("/tokens/{}", id.as_str().unwrap());
    let ended = scene
        .office
        .send("anna", "DELETE", &path, &[], &Value::Null);
    assert_eq!(ended.await.unwrap().status, 204);
    assert_eq!(scene.get(&other, "/releases").await.status, 401);
    let wrong = scene.session("wrong").await;
    assert_eq!((wrong.status, wrong.cookie.as_str()), (401, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn session_ends_with_its_personal_token_and_with_the_host() {
    let mut scene = Scene::begin().await;
    let wanted = json!({ "label": "a laptop", "roles": ["reader"] });
    let made = scene.office.post("anna", "/tokens", &wanted).await.unwrap();
    let token = made.body["token"].as_str().unwrap().to_owned();
    let desk = scene.signed_in_with(&token).await;
    desk.shows("reader").await;
    let cookie = scene.session(&token).await.shown();
    let of_file = scene.session(&scene.token("anna")).await.shown();
    let path = format!("/tokens/{}", made.body["id"].as_str().unwrap());
    let ended = scene
        .office
        .send("anna", "DELETE", &path, &[], &Value::Null);
    assert_eq!(ended.await.unwrap().status, 204);
    assert_eq!(scene.get(&cookie, "/releases").await.status, 401);
    assert_eq!(scene.get(&of_file, "/releases").await.status, 200);
    desk.open("participants").await;
    desk.shows("Your session has ended.").await;

    scene.world.host.restart().unwrap();
    assert_eq!(scene.get(&of_file, "/releases").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn session_for_a_token_has_no_more_than_the_token() {
    let scene = Scene::begin().await;
    let wanted = json!({ "label": "a script", "roles": ["reader"] });
    let made = scene.office.post("anna", "/tokens", &wanted).await.unwrap();
    let given = scene.session(made.body["token"].as_str().unwrap()).await;
    assert_eq!(given.body["roles"], json!(["reader"]));
    let (cookie, origin) = (given.shown(), scene.origin());
    let origin = [("origin", origin.as_str())];
    let asked = [
        ("/tokens", r#"{"label":"more"}"#, "token-by-token"),
        ("/rules/amount-limits/suspend", "{}", "role-missing"),
        ("/books/check", "", "role-missing"),
    ];
    for (path, body, problem) in asked {
        let refused = scene.act(&cookie, path, &origin, body).await;
        assert_eq!(
            (refused.status, refused.problem()),
            (403, problem),
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_another_origin_does_nothing_with_the_session() {
    let scene = Scene::begin().await;
    let cookie = scene.session(&scene.token("anna")).await.shown();
    let origin = scene.origin();
    let port = origin.rsplit(':').next().unwrap();
    let (other_port, other_name, other_scheme) = (
        "http://127.0.0.1:1".to_owned(),
        format!("http://evil.example:{port}"),
        format!("ftp://127.0.0.1:{port}"),
    );
    let mut foreign: Vec<BTreeMap<&str, &str>> = vec![
        BTreeMap::new(),
        [("sec-fetch-site", "cross-site")].into(),
        [("sec-fetch-site", "same-site")].into(),
        [("origin", "null")].into(),
        [("origin", "null"), ("sec-fetch-site", "same-origin")].into(),
    ];
    for other in [&other_port, &other_name, &other_scheme] {
        foreign.push([("origin", other.as_str())].into());
    }
    let path = format!(
        "/participants/{}/accounts/USD/limit-updates",
        rialto_tests::world::PAYER
    );
    let limit = r#"{"limit":null,"reason":"x"}"#;
    for headers in &foreign {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| (*name, *value))
            .collect();
        // By the host's own API, and by a component's.
        for (path, body) in [
            ("/rules/amount-limits/suspend", r#"{"note":"x"}"#),
            (path.as_str(), limit),
            ("/sign-out", ""),
        ] {
            let refused = scene.act(&cookie, path, &headers, body).await;
            assert_eq!(
                (refused.status, refused.problem()),
                (403, "foreign-origin"),
                "{headers:?} {path}: {refused:?}"
            );
        }
    }
    let none = scene.office.get("anna", "/suspensions").await.unwrap();
    assert_eq!(none, json!([]));
    let own = [("origin", origin.as_str())];
    let asked = scene.act(&cookie, &path, &own, limit).await;
    assert_eq!(asked.status, 201, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_keeps_the_session_from_pages_of_other_sites() {
    let scene = Scene::begin().await;
    let desk = scene.signed_in("anna").await;
    // The same host by another name is another site.
    let elsewhere = scene.url("/console").replace("127.0.0.1", "localhost");
    desk.0.go(&elsewhere).await;
    desk.shows("Sign in").await;
    let script = format!(
        "const done = arguments[arguments.length - 1]; \
         fetch({:?}, {{ method: 'POST', mode: 'no-cors', credentials: 'include' }}) \
         .then(() => done('sent'), e => done(String(e)))",
        scene.url("/sign-out")
    );
    // The policy of the page lets it connect to its own origin alone; without it the cookie would be missing.
    let sent = desk.0.value_later(&script).await;
    assert_ne!(sent, "sent", "{sent}");
    desk.0.go(&scene.url("/console")).await;
    desk.shows("Signed in as").await;
}
