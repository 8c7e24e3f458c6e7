//! The server, which is a process of its own. It ends with this one.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// A running server.
pub struct Server {
    pub port: u16,
    /// May do everything.
    pub user: Access,
    /// May list keys alone.
    pub onlooker: Access,
    /// Temporary credentials. They may do everything.
    pub session: Access,
    child: Child,
}

/// Credentials.
#[derive(Clone)]
pub struct Access {
    pub id: String,
    pub secret: String,
    pub token: Option<String>,
}

impl Server {
    /// The server of most tests. Each test has keys of its own in it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Server> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// A server with TLS: its certificate and its key.
    pub fn with_tls(certificate: &Path, key: &Path) -> Self {
        Self::start(&[certificate, key])
    }

    fn start(tls: &[&Path]) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = here.join("../../target/tools/aws-kms/bin/python");
        assert!(
            python.exists(),
            "moto is not installed: `cargo xtask test` installs it"
        );
        let mut child = Command::new(python)
            .arg(here.join("tests/service/server.py"))
            .args(tls)
            // It ends when this is closed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A line for each request.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let about: Value = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("the server does not start: run {}", script().display()));
        let access = |name: &str| Access {
            id: about[name]["id"].as_str().unwrap().to_owned(),
            secret: about[name]["secret"].as_str().unwrap().to_owned(),
            token: about[name]["token"].as_str().map(str::to_owned),
        };
        Self {
            port: about["port"].as_u64().unwrap().try_into().unwrap(),
            user: access("user"),
            onlooker: access("onlooker"),
            session: access("session"),
            child,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/server.py")
}
