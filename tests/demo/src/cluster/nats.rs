//! A NATS server with JetStream, in a folder, on loopback.

use std::fs::{self, DirBuilder, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rialto_simulator::ports;
use serde_json::Value;

/// The variable with the server's program.
const PROGRAM: &str = "RIALTO_NATS_SERVER";
/// How long it may take to start, and to get the last events.
const PATIENCE: Duration = Duration::from_secs(30);
/// After so long without another event, all have come.
const STILL: Duration = Duration::from_secs(2);
/// The time between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// A running server. It ends with this value.
pub struct Nats {
    url: String,
    monitor: SocketAddr,
    child: Child,
}

impl Nats {
    /// Start one; none if this machine has no program for it.
    pub fn start(folder: &Path) -> anyhow::Result<Option<Self>> {
        let Some(program) = std::env::var_os(PROGRAM) else {
            return Ok(None);
        };
        DirBuilder::new().mode(0o700).create(folder)?;
        let address = || anyhow::Ok(SocketAddr::from(([127, 0, 0, 1], ports::free()?)));
        let (clients, monitor) = (address()?, address()?);
        let configuration = folder.join("nats.conf");
        let text = format!(
            "listen: \"{clients}\"\nhttp: \"{monitor}\"\njetstream {{ store_dir: \"{}\" }}\n",
            folder.join("data").display()
        );
        fs::write(&configuration, text)?;
        let log = File::create(folder.join("log"))?;
        let child = Command::new(program)
            .arg("-c")
            .arg(&configuration)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("starting nats-server")?;
        let nats = Self {
            url: format!("nats://{clients}"),
            monitor,
            child,
        };
        let until = Instant::now() + PATIENCE;
        while TcpStream::connect(clients).is_err() {
            ensure!(Instant::now() < until, "nats-server does not start");
            std::thread::sleep(LOOK);
        }
        Ok(Some(nats))
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The number of events that it has, when no more come.
    pub fn settled(&self) -> anyhow::Result<u64> {
        let until = Instant::now() + PATIENCE;
        let (mut last, mut since) = (0, Instant::now());
        loop {
            let now = self.messages()?;
            if now != last {
                (last, since) = (now, Instant::now());
            }
            if last > 0 && since.elapsed() > STILL {
                return Ok(last);
            }
            ensure!(Instant::now() < until, "no event has come to NATS");
            std::thread::sleep(LOOK);
        }
    }

    fn messages(&self) -> anyhow::Result<u64> {
        let mut stream = TcpStream::connect(self.monitor)?;
        stream.write_all(b"GET /jsz HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let body = answer
            .split_once("\r\n\r\n")
            .context("an answer of NATS")?
            .1;
        let said: Value = serde_json::from_str(body).context("what NATS says")?;
        said["messages"].as_u64().context("the number of messages")
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        // A process that has ended needs no kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
