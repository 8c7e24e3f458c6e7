//! Readers that ask what an open console asks: the stream and the time before it once, the last transfers once, and what its
//! page reads again and again. They discard it: a browser that draws it is on another machine.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use rialto_manifest::Manifest;
use rialto_manifest::operator::FIRST_OPERATOR;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::host::OPERATORS;
use crate::operators::token_path;

/// The stream, as the console opens it.
const STREAM: &str = "/live?documents=transfers/transfers";
/// What is read when the page opens.
const FIRST: [&str; 2] = ["/live/past?hours=2&points=360", "/transfers?limit=500"];
/// What is read as long as it is open, and how often.
const AGAIN: &str = "/alerts";
const EVERY: Duration = Duration::from_secs(10);

/// The readers. They end when this is dropped.
pub(super) struct Consoles {
    tasks: Vec<JoinHandle<()>>,
    read: Arc<Read>,
}

#[derive(Default)]
struct Read {
    bytes: AtomicU64,
    /// Streams that have ended, or were refused.
    ended: AtomicU64,
}

impl Consoles {
    /// Opens so many, each as the operator whom the scheme's documents have at least.
    pub fn open(manifest: &Manifest, state: &Path, number: usize) -> anyhow::Result<Self> {
        let mut listeners = manifest.operator().listeners.iter();
        let (_, listener) = listeners
            .find(|(name, _)| name.as_str() == OPERATORS)
            .context("the scheme has no `operators` listener")?;
        let operators = manifest.operator().operators.iter();
        let mut readers = operators.filter(|(_, person)| {
            person.subject.is_none()
                && person
                    .roles
                    .contains(&rialto_manifest::operator::Role::Reader)
        });
        let who = readers
            .next()
            .map_or(FIRST_OPERATOR, |(name, _)| name.as_str());
        let path = token_path(state, who);
        let token = std::fs::read_to_string(&path);
        let token = token.with_context(|| format!("reading {}", path.display()))?;
        let (token, read) = (Arc::<str>::from(token.trim()), Arc::new(Read::default()));
        let address = listener.address.socket();
        let tasks = (0..number).map(|_| {
            let (token, read) = (token.clone(), read.clone());
            tokio::spawn(async move {
                let polling = async {
                    for path in FIRST {
                        let _ = take(address, &token, path, &read).await;
                    }
                    loop {
                        let _ = take(address, &token, AGAIN, &read).await;
                        tokio::time::sleep(EVERY).await;
                    }
                };
                tokio::select! {
                    _ = take(address, &token, STREAM, &read) => {}
                    () = polling => {}
                }
                read.ended.fetch_add(1, Ordering::Relaxed);
            })
        });
        Ok(Self {
            tasks: tasks.collect(),
            read,
        })
    }

    /// What they have read.
    ///
    /// # Errors
    /// When a stream has ended: then they were no consoles.
    pub fn figures(&self) -> anyhow::Result<Value> {
        let ended = self.read.ended.load(Ordering::Relaxed);
        ensure!(
            ended == 0,
            "{ended} of {} consoles have lost their stream",
            self.tasks.len()
        );
        let bytes = self.read.bytes.load(Ordering::Relaxed);
        Ok(json!({ "consoles": self.tasks.len(), "bytes_read": bytes }))
    }
}

impl Drop for Consoles {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Reads an answer to its end, on a connection of its own.
async fn take(address: SocketAddr, token: &str, path: &str, read: &Read) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = stream.read(&mut buffer).await?;
        if n == 0 {
            return Ok(());
        }
        read.bytes.fetch_add(n as u64, Ordering::Relaxed);
    }
}
