//! FIDO2 from outside: an authenticator in software and a browser's virtual one, over real HTTP.

mod browser;
mod rows;
mod signed;

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use rialto_simulator::client::HttpClient;
use rialto_tests::catalogue;
use rialto_tests::office::{Office, Said};
use rialto_tests::{RunningHost, TestScheme};
use serde_json::{Value, json};

/// Longer than any answer takes.
const SOON: Duration = Duration::from_secs(30);
/// The relying party of the demonstration.
const PARTY: &str = "localhost";
/// The origin in the demonstration's scheme.toml.
const ORIGIN: &str = "http://localhost:8080";
/// Programs of the scheme, and operators who are none.
const PEOPLE: &[(&str, &str)] = &[
    ("wallet", r#""context""#),
    ("shop", r#""context""#),
    ("anna", r#""admin", "reader""#),
    ("maya", r#""maker""#),
];

struct Scene {
    office: Office,
    host: RunningHost,
    _scheme: TestScheme,
    http: HttpClient,
    seen: BTreeSet<String>,
}

impl Scene {
    /// A host whose relying party has pages of this origin.
    fn start(origin: &str) -> Self {
        let scheme = TestScheme::demo().unwrap();
        scheme.replace("scheme.toml", ORIGIN, origin).unwrap();
        Self::of(scheme)
    }

    /// A host of this scheme.
    fn of(scheme: TestScheme) -> Self {
        scheme.add_operators(PEOPLE).unwrap();
        let host = RunningHost::start(&scheme).unwrap();
        let names: Vec<&str> = PEOPLE.iter().map(|(name, _)| *name).collect();
        Self {
            office: Office::of(&scheme, &host, &names).unwrap(),
            host,
            _scheme: scheme,
            http: HttpClient::new(SOON),
            seen: BTreeSet::new(),
        }
    }

    async fn ask_as(&self, who: &str, path: &str, body: &Value) -> Said {
        self.office.post(who, path, body).await.unwrap()
    }

    async fn ask(&self, path: &str, body: &Value) -> Said {
        self.ask_as("wallet", path, body).await
    }

    /// Begins: the challenge's id and the options.
    async fn begin(&self, path: &str, body: &Value) -> (Value, Value) {
        let said = self.ask(path, body).await;
        assert_eq!(said.status, 201, "{path}: {said:?}");
        (said.body["id"].clone(), said.body["publicKey"].clone())
    }

    /// Finishes with success.
    async fn finish(&mut self, path: &str, id: &Value, credential: &Value) -> Value {
        self.finish_with(path, &json!({ "id": id, "credential": credential }))
            .await
    }

    /// Finishes the authorization of a transaction with success.
    async fn authorize(&mut self, id: &Value, credential: &Value, transaction: &Value) -> Value {
        let body = json!({ "id": id, "credential": credential, "transaction": transaction });
        self.finish_with("/fido-authorize", &body).await
    }

    async fn finish_with(&mut self, path: &str, body: &Value) -> Value {
        let said = self.ask(path, body).await;
        assert_eq!(said.status, 200, "{path}: {said:?}");
        self.seen
            .insert(format!("C-{}", path.trim_start_matches('/')));
        said.body
    }

    /// Asks on the FSPs' listener in the name of a participant: the status and the body.
    async fn as_fsp(&self, fsp: &str, body: &Value) -> (u16, Value) {
        self.with_headers(headers(fsp), body).await
    }

    /// Asks on the FSPs' listener with these headers: the status and the body.
    async fn with_headers(&self, headers: HeaderMap, body: &Value) -> (u16, Value) {
        let uri = format!("{}/app-fido-register", self.host.url("fsps").unwrap());
        let body = Bytes::from(body.to_string());
        let sent = self
            .http
            .send(Method::POST, uri.parse().unwrap(), headers, body);
        let answer = sent.await.unwrap();
        let media = answer.headers["content-type"].to_str().unwrap();
        assert_eq!(media, "application/json");
        let body = serde_json::from_slice(&answer.body).unwrap();
        (answer.status.as_u16(), body)
    }

    /// All that security-crypto keeps of FIDO2.
    async fn kept(&self) -> Value {
        let names = [
            "fido-users",
            "fido-credentials",
            "fido-challenges",
            "fido-expiries",
        ];
        let names = names.map(|name| ("security-crypto".to_owned(), name.to_owned()));
        json!(self.office.everything(&names).await.unwrap())
    }

    fn end(self, case: &str) {
        catalogue::seen(case, self.seen.iter().map(String::as_str)).unwrap();
    }
}

/// Headers of an unsigned message of a participant.
fn headers(fsp: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert("content-type", json);
    headers.insert("fspiop-source", fsp.parse().unwrap());
    headers
}

fn user() -> Value {
    json!({ "user": { "id": "alice", "name": "alice@bank.example", "displayName": "Alice" } })
}

fn named() -> Value {
    json!({ "user": { "id": "alice" } })
}

fn payment(amount: &str) -> Value {
    let transaction = json!({
        "transferId": "b51ec534-ee48-4575-b6a9-ead2955b8069",
        "amount": { "currency": "USD", "amount": amount },
        "payee": "Bob's Bikes",
    });
    json!({ "user": { "id": "alice" }, "transaction": transaction })
}
