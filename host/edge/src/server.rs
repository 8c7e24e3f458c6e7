//! Listeners: they accept connections within limits, serve HTTP/1.1 with or without TLS, and stop gracefully.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rialto_components::denials::{self, Denials};
use rialto_tls::{ListenerTls, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::answer_tracking::{TrackedBody, TrackedStream, UnwrittenAnswers};
use crate::authentication::Certified;
use crate::contained;
use crate::denied;
use crate::pace::{Pace, Paced};
use crate::peers::{Client, Peer, PeerAddress, Peers};

/// Hyper's buffer for a head, in multiples of the longest header section. A head that is slightly too long is
/// refused by the API in its own words; a longer one by hyper with 431.
const HEAD_BUFFERS: usize = 4;
/// The smallest buffer for a head, in bytes. Hyper needs at least 8 KiB.
const HEAD_BYTES_LEAST: usize = 16 << 10;
/// How long a TLS handshake may take.
pub const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// How long a stopping listener waits for requests under way.
pub const GRACE: Duration = Duration::from_secs(10);

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
    /// How slowly a client may take its answers, and send its bodies.
    pub pace: Pace,
}

/// A bound address.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    limits: ServerLimits,
    denials: Arc<dyn Denials>,
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
            denials: denials::none(),
        })
    }

    /// Keep whose certificates are refused. Without this, nobody keeps it.
    #[must_use]
    pub fn with_denials(mut self, denials: Arc<dyn Denials>) -> Self {
        self.denials = denials;
        self
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serve until told to stop, then finish the requests under way. With `tls`, only over TLS.
    pub async fn serve<S, F, B>(
        self,
        tls: Option<Arc<ListenerTls>>,
        answer: S,
        mut stop: watch::Receiver<bool>,
    ) where
        S: Fn(Request<Incoming>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<B>> + Send + 'static,
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
            + Send
            + Unpin
            + 'static,
    {
        let graceful = GracefulShutdown::new();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .max_buf_size(head_bytes_max(self.limits.header_bytes_max))
            // No `max_headers`: Hyper refuses more than 100 with 431, and another number takes 16 KiB from the heap for each
            // request. No `pipeline_flush`: with it, the answer to a request whose body is not read to its end
            // is never written.
            .half_close(false);
        let mut accepting = self.accepting();
        while let Some((stream, admitted)) = accepting.next(&mut stop).await {
            let connection = Connection {
                http: http.clone(),
                watcher: graceful.watcher(),
                answer: answer.clone(),
                admitted,
            };
            let (tls, stopping) = (tls.clone(), stop.clone());
            contained::spawn("a connection", async move {
                let Some(tls) = tls else {
                    return connection.serve(stream, None).await;
                };
                let shaken = handshake(&tls, stream, &connection.admitted, stopping).await;
                if let Some((stream, certified)) = shaken {
                    connection.serve(stream, certified).await;
                }
            });
        }
        drop(accepting);
        let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    }

    /// Accept connections within the limits, for any protocol.
    #[must_use]
    pub fn accepting(self) -> Accepting {
        Accepting {
            slots: Arc::new(Semaphore::new(self.limits.connections_max)),
            peers: Peers::new(self.limits.connections_per_peer_max),
            pace: self.limits.pace,
            listener: self.listener,
            denials: self.denials,
        }
    }
}

/// An accepted connection before its first request.
struct Connection<S> {
    http: http1::Builder,
    watcher: Watcher,
    answer: S,
    admitted: Admitted,
}

impl<S> Connection<S> {
    async fn serve<F, B>(
        self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        certified: Option<Certified>,
    ) where
        S: Fn(Request<Incoming>) -> F,
        F: Future<Output = Response<B>>,
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
            + Unpin
            + 'static,
    {
        let Self {
            http,
            watcher,
            answer,
            admitted,
        } = self;
        let (client, peer) = (admitted.client(), PeerAddress(admitted.address()));
        let unwritten = UnwrittenAnswers::default();
        let stream = TrackedStream::new(stream, unwritten.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            let extensions = request.extensions_mut();
            extensions.insert(client.clone());
            extensions.insert(peer);
            if let Some(certified) = &certified {
                extensions.insert(certified.clone());
            }
            let (answered, taken) = (answer(request), unwritten.clone());
            async move { Ok::<_, Infallible>(TrackedBody::of(answered.await, taken)) }
        });
        let connection = http.serve_connection(TokioIo::new(stream), service);
        if let Err(error) = watcher.watch(connection).await {
            tracing::debug!(%error, "a connection ended");
        }
        drop(admitted);
    }
}

/// Does the TLS handshake with a client, unless it takes too long or the listener stops.
async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
    tls: &Arc<ListenerTls>,
    stream: S,
    admitted: &Admitted,
    mut stopping: watch::Receiver<bool>,
) -> Option<(TlsStream<S>, Option<Certified>)> {
    let accepted = tokio::time::timeout(HANDSHAKE_WITHIN, tls.accept(stream));
    let accepted = tokio::select! {
        accepted = accepted => accepted,
        _ = stopping.wait_for(|stop| *stop) => return None,
    };
    match accepted {
        Ok(Ok((stream, certificate))) => {
            let certified = certificate.map(|certificate| Certified(Arc::new(certificate)));
            Some((stream, certified))
        }
        Ok(Err(error)) => {
            admitted.handshake_failed(&error);
            None
        }
        Err(_) => {
            tracing::debug!("a client's TLS handshake did not end in time");
            None
        }
    }
}

/// Accepts the connections of a listener.
pub struct Accepting {
    listener: TcpListener,
    slots: Arc<Semaphore>,
    peers: Peers,
    pace: Pace,
    denials: Arc<dyn Denials>,
}

/// Counts an accepted connection until it is dropped.
#[derive(Debug)]
pub struct Admitted {
    _slot: OwnedSemaphorePermit,
    peer: Peer,
    denials: Arc<dyn Denials>,
}

impl Admitted {
    /// The client at its other end.
    #[must_use]
    pub fn client(&self) -> Client {
        self.peer.client()
    }

    /// The address that stands for the peer.
    #[must_use]
    pub fn address(&self) -> IpAddr {
        self.peer.address()
    }

    /// Tell that its TLS handshake has failed.
    pub fn handshake_failed(&self, error: &io::Error) {
        tracing::debug!(%error, "a client's TLS handshake failed");
        denied::in_handshake(&*self.denials, &self.client(), error);
    }
}

impl Accepting {
    /// The next connection. None after the stop signal.
    pub async fn next(
        &mut self,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<(Paced<TcpStream>, Admitted)> {
        loop {
            let (slots, listener) = (self.slots.clone(), &self.listener);
            let taken = async move {
                let slot = slots.acquire_owned().await.ok()?;
                Some((slot, listener.accept().await))
            };
            let (slot, accepted) = tokio::select! {
                taken = taken => taken?,
                _ = stop.wait_for(|stop| *stop) => return None,
            };
            let (stream, peer) = match accepted {
                Ok((stream, peer)) => (stream, self.peers.admit(peer.ip())),
                Err(error) => {
                    // Probably out of file descriptors: other connections must be closed first.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            // A connection beyond its peer's bound is closed at once; an answer would cost more.
            let Some(peer) = peer else { continue };
            let _ = stream.set_nodelay(true);
            let admitted = Admitted {
                _slot: slot,
                peer,
                denials: self.denials.clone(),
            };
            return Some((Paced::new(stream, self.pace), admitted));
        }
    }
}

/// Hyper's buffer for a head, in bytes, for this longest header section.
fn head_bytes_max(header_bytes_max: usize) -> usize {
    header_bytes_max
        .saturating_mul(HEAD_BUFFERS)
        .max(HEAD_BYTES_LEAST)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[tokio::test]
    async fn a_full_listener_stops_when_told_to() {
        let limits = ServerLimits {
            connections_max: 1,
            connections_per_peer_max: 8,
            header_bytes_max: 1 << 10,
            head_timeout: Duration::from_secs(1),
            pace: Pace {
                bytes_per_second: 1,
                grace: Duration::from_secs(1),
            },
        };
        let bound = Listener::bind("127.0.0.1:0".parse().unwrap(), limits).await;
        let bound = bound.unwrap();
        let address = bound.address();
        let mut accepting = bound.accepting();
        let (stop, mut stopped) = watch::channel(false);
        let _first = TcpStream::connect(address).await.unwrap();
        let _second = TcpStream::connect(address).await.unwrap();
        let taken = accepting.next(&mut stopped).await;
        assert!(taken.is_some());
        let waiting = tokio::spawn(async move { accepting.next(&mut stopped).await.is_some() });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!waiting.is_finished(), "there is one place only");
        stop.send(true).unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(5), waiting).await;
        assert!(!ended.unwrap().unwrap());
        drop(taken);
    }
}
