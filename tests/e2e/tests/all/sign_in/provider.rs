//! A certified OpenID provider: `oidc-provider` on Node.js, a process of its own.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::json;

/// The name by which the provider knows the host, and its secret.
pub const CLIENT: &str = "rialto";
pub const SECRET: &str = "a-secret-of-the-client-0123456789";

/// A running provider. It ends with this value.
pub struct Provider {
    child: Child,
    /// Its issuer's URL.
    pub issuer: String,
    /// It ends if nobody reads what it prints.
    _stdout: BufReader<ChildStdout>,
}

impl Provider {
    /// Start one that knows the host at this address.
    pub fn start(address: &str) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = here.join("../../target/tools/openid-provider");
        assert!(
            folder.join("node_modules").exists(),
            "oidc-provider is not installed: `cargo xtask test` installs it"
        );
        let client = json!({
            "client_id": CLIENT,
            "client_secret": SECRET,
            "redirect_uris": [format!("{address}/sign-in/callback")],
        });
        let mut child = Command::new("node")
            .arg(here.join("openid-provider/provider.mjs"))
            .arg(folder)
            .arg(client.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Node.js 20 or newer is needed");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        // Its warnings come first.
        let mut issuer = String::new();
        while !issuer.starts_with("http") {
            issuer.clear();
            let read = stdout.read_line(&mut issuer).unwrap();
            assert!(read > 0, "the provider ended before it listened");
        }
        Self {
            child,
            issuer: issuer.trim().to_owned(),
            _stdout: stdout,
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
