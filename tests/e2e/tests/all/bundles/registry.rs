//! A registry in a folder of its own, and one that gives other bytes.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rialto_simulator::ports;
use rialto_tests::handbook::root;
use tempfile::TempDir;

/// Longer than a registry takes to start.
const SOON: Duration = Duration::from_secs(30);

/// A registry. It ends with this value.
pub struct Registry {
    server: Child,
    address: String,
    _folder: TempDir,
}

impl Registry {
    /// Starts one on a free port of this machine.
    pub fn start() -> Self {
        let program = root().join("target/tools/docker-registry/usr/bin/docker-registry");
        assert!(
            program.is_file(),
            "there is no registry: `cargo xtask test` unpacks Debian's package docker-registry"
        );
        let folder = tempfile::tempdir().unwrap();
        let address = format!("127.0.0.1:{}", ports::free().unwrap());
        let data = folder.path().join("data");
        let settings = folder.path().join("config.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {data:?}}}}}\nhttp: {{addr: \"{address}\"}}\n"
        );
        fs::write(&settings, text).unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let server = Command::new(program)
            .arg("serve")
            .arg(&settings)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let registry = Self {
            server,
            address,
            _folder: folder,
        };
        let began = Instant::now();
        while TcpStream::connect(&registry.address).is_err() {
            assert!(began.elapsed() < SOON, "the registry does not start");
            thread::sleep(Duration::from_millis(50));
        }
        registry
    }

    /// Its address.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A registry that has what another one has, with the last byte of each blob changed. Returns its address.
pub fn liar(honest: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let honest = honest.to_owned();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let honest = honest.clone();
            thread::spawn(move || lie(client, &honest));
        }
    });
    address
}

/// Answers one request.
fn lie(mut client: TcpStream, honest: &str) -> std::io::Result<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head);
    let mut server = TcpStream::connect(honest)?;
    let closing = head.replacen("\r\n", "\r\nConnection: close\r\n", 1);
    server.write_all(closing.as_bytes())?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    let is_blob = head.starts_with("GET ") && head.contains("/blobs/");
    if let Some(last) = answer.last_mut().filter(|_| is_blob) {
        *last ^= 1;
    }
    client.write_all(&answer)
}
