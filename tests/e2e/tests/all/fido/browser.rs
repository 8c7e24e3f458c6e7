//! A browser with a virtual authenticator: headless Chromium, by WebDriver (W3C) and its extension for authenticators (Web
//! Authentication, section 11).

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use rialto_simulator::client::HttpClient;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{PARTY, SOON, Scene, named, payment, user};

/// What chromedriver says when it listens, before its port.
const STARTED: &str = "started successfully on port ";

/// A browser on a page of this test.
struct Browser {
    driver: Child,
    http: HttpClient,
    /// The session's address.
    session: String,
    profile: TempDir,
}

impl Browser {
    async fn start(page: &str) -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("no chromedriver: `cargo xtask test` installs Debian's chromium and chromium-driver");
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, port) = line.split_once(STARTED)?;
            Some(port.trim_end_matches('.').to_owned())
        });
        let mut browser = Self {
            driver,
            http: HttpClient::new(SOON),
            session: format!("http://127.0.0.1:{}/session", port.unwrap()),
            profile: tempfile::tempdir().unwrap(),
        };
        let folder = format!("--user-data-dir={}", browser.profile.path().display());
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", &folder];
        let started = browser
            .command(
                "",
                json!({ "capabilities": { "alwaysMatch": {
                    "browserName": "chrome",
                    "goog:chromeOptions": { "args": arguments },
                } } }),
            )
            .await;
        let id = started["sessionId"].as_str().unwrap();
        browser.session = format!("{}/{id}", browser.session);
        browser.command("/url", json!({ "url": page })).await;
        browser
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let mut headers = HeaderMap::new();
        let json = HeaderValue::from_static("application/json");
        headers.insert("content-type", json);
        let uri = format!("{}{path}", self.session).parse().unwrap();
        let body = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        let answer = self.http.send(method, uri, headers, body).await.unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        (answer.status.as_u16(), body["value"].clone())
    }

    /// A command of WebDriver.
    async fn command(&self, path: &str, body: Value) -> Value {
        let (status, value) = self.send(Method::POST, path, &body).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// A new virtual authenticator, which has verified its user or cannot: its path.
    async fn authenticator(&self, verifies: bool) -> String {
        let made = self
            .command(
                "/webauthn/authenticator",
                json!({
                    "protocol": "ctap2",
                    "transport": "usb",
                    "hasResidentKey": false,
                    "hasUserVerification": verifies,
                    "isUserVerified": verifies,
                    "isUserConsenting": true,
                }),
            )
            .await;
        format!("/webauthn/authenticator/{}", made.as_str().unwrap())
    }

    /// The page's answer to options: the browser's own JSON of it, or the name of an error.
    async fn answer(&self, method: &str, options: &Value) -> Value {
        let parse = match method {
            "create" => "parseCreationOptionsFromJSON",
            _ => "parseRequestOptionsFromJSON",
        };
        let script = format!(
            "const [options, done] = arguments; \
             const publicKey = PublicKeyCredential.{parse}(options); \
             navigator.credentials.{method}({{ publicKey }}) \
                 .then((credential) => done(credential.toJSON()), (error) => done(error.name));"
        );
        self.command(
            "/execute/async",
            json!({ "script": script, "args": [options] }),
        )
        .await
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver and the browser are one process group of this test's own.
        let group = format!("-{}", self.driver.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.driver.wait();
    }
}

/// Serves one empty page on a port of its own: its origin.
async fn page() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut head = Vec::new();
                let mut bytes = [0; 4_096];
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut bytes).await {
                        Ok(read @ 1..) => head.extend_from_slice(&bytes[..read]),
                        _ => return,
                    }
                }
                let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\n\
                            connection: close\r\n\r\n<!doctype html>";
                let _ = stream.write_all(page.as_bytes()).await;
            });
        }
    });
    format!("http://{PARTY}:{port}")
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_registers_authenticates_and_authorizes() {
    let origin = page().await;
    let mut scene = Scene::start(&origin);
    let browser = Browser::start(&origin).await;
    let device = browser.authenticator(true).await;

    let (id, options) = scene.begin("/fido-register", &user()).await;
    let credential = browser.answer("create", &options).await;
    let registered = scene.finish("/fido-register", &id, &credential).await;
    assert_eq!(registered["credential"], credential["id"]);
    // The same authenticator knows that it is excluded.
    let (_, options) = scene.begin("/fido-register", &user()).await;
    assert_eq!(
        browser.answer("create", &options).await,
        "InvalidStateError"
    );

    let (id, options) = scene.begin("/fido-authenticate", &named()).await;
    let credential = browser.answer("get", &options).await;
    let authenticated = scene.finish("/fido-authenticate", &id, &credential).await;
    assert_eq!(authenticated["userVerified"], true);

    let (id, options) = scene.begin("/fido-authorize", &payment("100.5")).await;
    let credential = browser.answer("get", &options).await;
    let transaction = &payment("100.5")["transaction"];
    let authorized = scene.authorize(&id, &credential, transaction).await;
    assert_eq!(&authorized["transaction"], transaction);

    // The response to one transaction authorizes no other.
    let (_, options) = scene.begin("/fido-authorize", &payment("1")).await;
    let (other, _) = scene.begin("/fido-authorize", &payment("1000")).await;
    let credential = browser.answer("get", &options).await;
    let transaction = &payment("1000")["transaction"];
    let body = json!({ "id": other, "credential": credential, "transaction": transaction });
    let said = scene.ask("/fido-authorize", &body).await;
    assert_eq!((said.status, said.problem()), (422, "fido-refused"));

    // A copy of the authenticator, whose counter begins anew.
    let credentials = format!("{device}/credentials");
    let (_, kept) = browser.send(Method::GET, &credentials, &Value::Null).await;
    let mut copied = kept[0].clone();
    assert!(copied["signCount"].as_u64().unwrap() > 1, "{copied}");
    copied["signCount"] = json!(0);
    let (status, _) = browser.send(Method::DELETE, &device, &Value::Null).await;
    assert_eq!(status, 200);
    let copy = browser.authenticator(true).await;
    browser.command(&format!("{copy}/credential"), copied).await;
    let (id, options) = scene.begin("/fido-authorize", &payment("1")).await;
    let credential = browser.answer("get", &options).await;
    let transaction = &payment("1")["transaction"];
    let body = json!({ "id": id, "credential": credential, "transaction": transaction });
    let said = scene.ask("/fido-authorize", &body).await;
    assert_eq!(
        (said.status, said.problem()),
        (409, "credential-suspect"),
        "{said:?}"
    );
    scene.end("fido/browser");
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_another_origin_registers_nobody() {
    let origin = page().await;
    let scene = Scene::start("http://localhost:1");
    let browser = Browser::start(&origin).await;
    browser.authenticator(true).await;
    let (id, options) = scene.begin("/fido-register", &user()).await;
    let credential = browser.answer("create", &options).await;
    let body = json!({ "id": id, "credential": credential });
    let said = scene.ask("/fido-register", &body).await;
    assert_eq!((said.status, said.problem()), (422, "fido-refused"));
    assert!(
        said.body["detail"].as_str().unwrap().contains("origin"),
        "{said:?}"
    );
    // An authenticator that cannot verify its user does not take the options.
    let scene = Scene::start(&origin);
    let browser = Browser::start(&origin).await;
    browser.authenticator(false).await;
    let (_, options) = scene.begin("/fido-register", &user()).await;
    let refused = browser.answer("create", &options).await;
    assert!(refused.is_string(), "{refused}");
}
