//! A NATS server in a folder of its own, and a reader of its streams that speaks the protocol itself.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rialto_simulator::ports;
use rialto_tests::binaries;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than a server takes to start or to answer.
const SOON: Duration = Duration::from_secs(30);

/// A server. It ends with this value.
pub struct Nats {
    server: Option<Child>,
    port: u16,
    /// More of its configuration.
    settings: String,
    folder: TempDir,
}

/// A message of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its subject.
    pub subject: String,
    /// Its headers.
    pub headers: BTreeMap<String, String>,
    /// Its payload.
    pub data: String,
}

impl Message {
    /// The event's number.
    pub fn number(&self) -> u64 {
        self.headers["ce-sequence"].parse().unwrap()
    }
}

impl Nats {
    /// Starts a server with JetStream.
    pub fn start() -> Self {
        Self::with("jetstream { store_dir: DATA }")
    }

    /// Starts a server with these settings, in which `DATA` stands for its folder of data.
    pub fn with(settings: &str) -> Self {
        let mut nats = Self::stopped(settings);
        nats.go_on();
        nats
    }

    /// A server that does not run yet.
    pub fn stopped(settings: &str) -> Self {
        Self {
            server: None,
            port: ports::free().unwrap(),
            settings: settings.to_owned(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The URL for a host.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts it on its port and its data.
    pub fn go_on(&mut self) {
        let program = binaries::nats_server();
        assert!(
            program.is_file(),
            "there is no NATS server: `cargo xtask test` unpacks Debian's package nats-server"
        );
        let data = format!("{:?}", self.data());
        let (port, settings) = (self.port, self.settings.replace("DATA", &data));
        let file = self.folder.path().join("nats.conf");
        let text = format!("host: 127.0.0.1\nport: {port}\n{settings}\n");
        fs::write(&file, text).unwrap();
        let log = File::create(self.folder.path().join("log")).unwrap();
        let server = Command::new(program)
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.server = Some(server);
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(began.elapsed() < SOON, "the NATS server does not start");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills it.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }

    /// Kills it and removes all its data.
    pub fn lose_everything(&mut self) {
        self.kill();
        fs::remove_dir_all(self.data()).unwrap();
    }

    /// Asks JetStream's API. None if there is no answer.
    pub fn ask(&self, subject: &str, body: &Value) -> Option<Value> {
        Client::of(self.port, "")?.ask(subject, body)
    }

    /// All messages of a stream, in its order.
    pub fn messages(&self, stream: &str) -> Vec<Message> {
        self.messages_as(stream, "").unwrap_or_default()
    }

    /// The same, read by a user.
    pub fn messages_as(&self, stream: &str, user: &str) -> Option<Vec<Message>> {
        let mut client = Client::of(self.port, user)?;
        let info = client.ask(&format!("$JS.API.STREAM.INFO.{stream}"), &json!({}))?;
        let (first, last) = (
            info["state"]["first_seq"].as_u64()?,
            info["state"]["last_seq"].as_u64()?,
        );
        let mut found = Vec::new();
        for seq in first.max(1)..=last {
            let subject = format!("$JS.API.STREAM.MSG.GET.{stream}");
            let answer = client.ask(&subject, &json!({ "seq": seq }))?;
            // It may have been removed.
            if let Some(message) = answer.get("message") {
                found.push(read(message));
            }
        }
        Some(found)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

fn read(message: &Value) -> Message {
    let text = |name: &str| {
        let encoded = message[name].as_str().unwrap_or_default();
        String::from_utf8(BASE64_STANDARD.decode(encoded).unwrap()).unwrap()
    };
    let headers = text("hdrs");
    let headers = headers.lines().filter_map(|line| line.split_once(':'));
    Message {
        subject: message["subject"].as_str().unwrap().to_owned(),
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect(),
        data: text("data"),
    }
}

/// A connection of a client.
struct Client {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
    asked: u32,
}

impl Client {
    /// Connects, as a user with a password: `"user":"…","pass":"…",` or nothing.
    fn of(port: u16, user: &str) -> Option<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let mut client = Self {
            reader: BufReader::new(stream.try_clone().ok()?),
            writer: stream,
            asked: 0,
        };
        client.line()?.strip_prefix("INFO ")?;
        let options = r#""verbose":false,"pedantic":false,"headers":true,"no_responders":true"#;
        client.say(&format!(
            "CONNECT {{{user}{options}}}\r\nSUB _INBOX.t.* 1\r\n"
        ))?;
        Some(client)
    }

    fn say(&mut self, text: &str) -> Option<()> {
        self.writer.write_all(text.as_bytes()).ok()
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        Some(line.trim_end().to_owned())
    }

    fn ask(&mut self, subject: &str, body: &Value) -> Option<Value> {
        self.asked += 1;
        let (body, inbox) = (body.to_string(), format!("_INBOX.t.{}", self.asked));
        self.say(&format!(
            "PUB {subject} {inbox} {}\r\n{body}\r\n",
            body.len()
        ))?;
        loop {
            let line = self.line()?;
            let mut words = line.split(' ');
            match words.next()? {
                "PING" => self.say("PONG\r\n")?,
                "MSG" | "HMSG" => {
                    let to = words.next()?.to_owned();
                    let length: usize = words.next_back()?.parse().ok()?;
                    let mut payload = vec![0; length + 2];
                    self.reader.read_exact(&mut payload).ok()?;
                    if to == inbox {
                        return serde_json::from_slice(&payload[..length]).ok();
                    }
                }
                "-ERR" => return None,
                _ => {}
            }
        }
    }
}
