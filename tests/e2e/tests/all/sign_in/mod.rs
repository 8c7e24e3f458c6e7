//! Sign-in of operators with an OpenID provider, their sessions and their personal tokens.

mod attacks;
mod browser;
mod commands;
mod console;
mod fake;
mod flow;
mod passkeys;
mod provider;
mod tokens;

use std::os::unix::fs::PermissionsExt as _;

use http::Method;
use rialto_tests::{RunningHost, TestScheme};
use serde_json::Value;

use browser::{Browser, Page};
use provider::{CLIENT, SECRET};

/// Anna and ben sign in. The subject of ben is not his name. The robot has a token in a file.
const PEOPLE: &str = r#"
[operators.anna]
roles = ["reader", "maker", "admin"]
subject = "anna"

[operators.ben]
roles = ["reader", "context"]
subject = "b-7"

[operators.robot]
roles = ["reader", "maker"]

"#;

/// A host that signs people in.
struct Scene {
    scheme: TestScheme,
    host: RunningHost,
    /// Where browsers reach its operators' listener.
    address: String,
}

/// The demonstration, and the address of its operators' listener.
fn scheme() -> (TestScheme, String) {
    let scheme = TestScheme::demo().unwrap();
    let document = std::fs::read_to_string(scheme.path().join("rialto.toml")).unwrap();
    let document: toml::Value = toml::from_str(&document).unwrap();
    let address = &document["listeners"]["operators"]["address"];
    let address = format!("http://{}", address.as_str().unwrap());
    (scheme, address)
}

impl Scene {
    /// A host that takes this issuer.
    fn of(scheme: TestScheme, address: &str, issuer: &str) -> Self {
        Self::with_people(scheme, address, issuer, PEOPLE)
    }

    /// The same with the tables of these people, and others.
    fn with_people(scheme: TestScheme, address: &str, issuer: &str, people: &str) -> Self {
        let secret = scheme.path().join("sign-in.secret");
        std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        let tables = format!(
            "[sign-in]\nissuer = \"{issuer}\"\nclient-id = \"{CLIENT}\"\naddress = \"{address}\"\n\
             client-secret = {{ file = \"sign-in.secret\" }}\n{people}"
        );
        scheme.add_host_settings(&tables).unwrap();
        let host = RunningHost::start(&scheme).unwrap();
        Self {
            scheme,
            host,
            address: address.to_owned(),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.address)
    }

    /// The value of `Authorization` of the robot.
    fn robot(&self) -> String {
        let path = self.scheme.state().join("operators/robot.token");
        format!("Bearer {}", std::fs::read_to_string(path).unwrap().trim())
    }

    /// Send JSON with this browser's cookies, as a page of the host does.
    async fn act(&self, browser: &mut Browser, method: Method, path: &str, body: &str) -> Page {
        let headers = [
            ("origin", self.address.as_str()),
            ("content-type", "application/json"),
        ];
        browser.send(method, &self.url(path), &headers, body).await
    }

    /// Send JSON with a token, as a script does.
    async fn with(&self, token: &str, method: Method, path: &str, body: &str) -> Page {
        let token = format!("Bearer {token}");
        let headers = [
            ("authorization", token.as_str()),
            ("content-type", "application/json"),
        ];
        let mut program = Browser::new();
        program.send(method, &self.url(path), &headers, body).await
    }

    /// The entries of the audit log with this action: person, outcome and reason.
    async fn audited(&self, action: &str) -> Vec<(String, String, String)> {
        let robot = self.robot();
        let token = robot.trim_start_matches("Bearer ");
        let log = self
            .with(token, Method::GET, "/audit-log?last=1000", "")
            .await;
        let log = log.json();
        let of = log
            .as_array()
            .unwrap()
            .iter()
            .filter(|e| e["action"] == action);
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        of.map(|e| (text(e, "person"), text(e, "outcome"), text(e, "reason")))
            .collect()
    }
}

/// The names of a list of roles.
fn roles(page: &Page) -> Vec<String> {
    let session = page.json();
    let roles = session["roles"].as_array().unwrap().iter();
    roles
        .map(|role| role.as_str().unwrap().to_owned())
        .collect()
}

/// The kind of a problem document.
fn problem(page: &Page) -> String {
    let kind = page.json()["type"].as_str().unwrap_or_default().to_owned();
    kind.trim_start_matches("urn:rialto:problem:").to_owned()
}
