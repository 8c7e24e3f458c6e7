//! A browser with virtual authenticators: headless Chromium, by WebDriver (W3C) and its extension for authenticators (Web
//! Authentication, section 11).

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use rialto_simulator::client::HttpClient;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any answer takes.
pub const SOON: Duration = Duration::from_secs(30);

/// What chromedriver says when it listens, before its port.
const STARTED: &str = "started successfully on port ";

/// A browser.
pub struct Chromium {
    driver: Child,
    http: HttpClient,
    /// The session's address.
    session: String,
    profile: TempDir,
}

/// How often the driver is started: it asks the system for a free port of IPv4, and ends if that of IPv6 is taken.
const STARTS: usize = 5;

/// A driver that runs, and its port.
fn driver() -> (Child, String) {
    for _ in 0..STARTS {
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
        if let Some(port) = port {
            return (driver, port);
        }
        driver.wait().unwrap();
    }
    panic!("chromedriver has ended {STARTS} times without a port");
}

impl Chromium {
    /// A browser on a page.
    pub async fn start(page: &str) -> Self {
        let (driver, port) = driver();
        let mut browser = Self {
            driver,
            http: HttpClient::new(SOON),
            session: format!("http://127.0.0.1:{port}/session"),
            profile: tempfile::tempdir().unwrap(),
        };
        let folder = format!("--user-data-dir={}", browser.profile.path().display());
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", &folder];
        let started = browser
            .command(
                "",
                json!({ "capabilities": { "alwaysMatch": {
                    "browserName": "chrome",
                    "goog:loggingPrefs": { "browser": "ALL" },
                    "goog:chromeOptions": { "args": arguments },
                } } }),
            )
            .await;
        let id = started["sessionId"].as_str().unwrap();
        browser.session = format!("{}/{id}", browser.session);
        browser.go(page).await;
        browser
    }

    /// Go to another page.
    pub async fn go(&self, page: &str) {
        self.command("/url", json!({ "url": page })).await;
    }

    /// A request of WebDriver: its status and its value.
    pub async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
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
    pub async fn command(&self, path: &str, body: Value) -> Value {
        let (status, value) = self.send(Method::POST, path, &body).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// A new virtual authenticator, which has verified its user or cannot: its path.
    pub async fn authenticator(&self, verifies: bool) -> String {
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

    /// The value of a script's expression on the page.
    pub async fn value(&self, expression: &str) -> Value {
        let script = format!("return {expression};");
        let body = json!({ "script": script, "args": [] });
        self.command("/execute/sync", body).await
    }

    /// The value that a script passes to its last argument, once it has it.
    pub async fn value_later(&self, script: &str) -> Value {
        let body = json!({ "script": script, "args": [] });
        self.command("/execute/async", body).await
    }

    /// What the browser has complained of since it was asked last.
    pub async fn complaints(&self) -> Vec<String> {
        let log = self.command("/se/log", json!({ "type": "browser" })).await;
        let entries = log.as_array().unwrap().iter();
        let severe = entries.filter(|entry| entry["level"] == "SEVERE");
        severe
            .map(|entry| entry["message"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The size of the window, in pixels.
    pub async fn resize(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height });
        self.command("/window/rect", size).await;
    }

    /// A picture of what the window shows, PNG.
    pub async fn picture(&self) -> Vec<u8> {
        let (status, value) = self.send(Method::GET, "/screenshot", &Value::Null).await;
        assert_eq!(status, 200, "{value}");
        let text = value.as_str().unwrap();
        BASE64.decode(text.as_bytes()).unwrap()
    }

    /// Press keys in what has the focus.
    pub async fn keys(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": key.to_string() }))
            })
            .collect();
        let body = json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] });
        self.command("/actions", body).await;
    }

    /// Click on the element of a selector.
    pub async fn click(&self, selector: &str) {
        let element = self.element(selector).await;
        let path = format!("/element/{element}/click");
        self.command(&path, json!({})).await;
    }

    /// Type a text into the element of a selector.
    pub async fn write(&self, selector: &str, text: &str) {
        let element = self.element(selector).await;
        let path = format!("/element/{element}/value");
        self.command(&path, json!({ "text": text })).await;
    }

    async fn element(&self, selector: &str) -> String {
        let by = json!({ "using": "css selector", "value": selector });
        let found = self.command("/element", by).await;
        let id = found.as_object().unwrap().values().next().unwrap();
        id.as_str().unwrap().to_owned()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The driver and the browser are one process group of this test's own.
        let group = format!("-{}", self.driver.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.driver.wait();
    }
}
