//! Listeners: accepting connections within limits, serving HTTP/1.1, stopping gracefully.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::peers::Peers;

/// How many times the longest header section hyper buffers before it gives up by itself, with 431:
/// what is just too long is refused by the API, in its own words.
const HEAD_BUFFERS: usize = 4;
/// The least that hyper buffers, in bytes; it takes no less than 8 KiB.
const HEAD_BYTES_LEAST: usize = 16 << 10;
/// Headers of one request; beyond, hyper gives up with 431.
const HEADERS_MAX: usize = 256;
/// How long a stopping listener waits for requests under way.
const GRACE: Duration = Duration::from_secs(10);

/// Bounds of a listener.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    /// Connections at a time.
    pub connections_max: usize,
    /// Connections at a time from one address.
    pub connections_per_peer_max: usize,
    /// The longest header section of a request, in bytes.
    pub header_bytes_max: usize,
    /// How long a client may take to send a request's head.
    pub head_timeout: Duration,
}

/// A bound address.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    limits: ServerLimits,
}

impl Listener {
    /// Bind an address; port 0 picks a free one.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn bind(address: SocketAddr, limits: ServerLimits) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            limits,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serve until told to stop, then finish what is under way.
    pub async fn serve<S, F, B>(self, answer: S, mut stop: watch::Receiver<bool>)
    where
        S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
            + Send
            + 'static,
    {
        let slots = Arc::new(Semaphore::new(self.limits.connections_max));
        let peers = Peers::new(self.limits.connections_per_peer_max);
        let graceful = GracefulShutdown::new();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .max_buf_size(head_bytes_max(self.limits.header_bytes_max))
            .max_headers(HEADERS_MAX)
            // No `pipeline_flush`: with it, the answer to a request whose body is not read to its
            // end is never written.
            .half_close(false);
        loop {
            let Ok(slot) = slots.clone().acquire_owned().await else {
                break;
            };
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let (stream, peer) = match accepted {
                Ok((stream, peer)) => (stream, peers.admit(peer.ip())),
                Err(error) => {
                    // Out of file descriptors, most likely: others must be closed first.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            // Beyond its bound a peer's connection is closed at once: an answer would cost more.
            let Some(peer) = peer else { continue };
            let _ = stream.set_nodelay(true);
            let answer = answer.clone();
            let service = service_fn(move |request| {
                let answered = answer(request);
                async move { Ok::<_, Infallible>(answered.await) }
            });
            let connection = http.serve_connection(TokioIo::new(stream), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "a connection ended");
                }
                drop((slot, peer));
            });
        }
        drop(self.listener);
        let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    }
}

/// What hyper may buffer of a head, for the longest header section that is taken.
fn head_bytes_max(header_bytes_max: usize) -> usize {
    header_bytes_max
        .saturating_mul(HEAD_BUFFERS)
        .max(HEAD_BYTES_LEAST)
}
