//! The connections of the gRPC listener: only HTTP/2, with or without TLS, within the listener's limits.
//!
//! A connection is closed when it has no call for a while, or when its client does not read an answer. A stopping
//! listener lets the calls under way end.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rialto_edge::authentication::Certified;
use rialto_edge::server::{GRACE, HANDSHAKE_WITHIN};
use rialto_edge::{Admitted, Listener, Paced, PeerAddress, contained};
use rialto_tls::ListenerTls;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;
use tonic::body::Body;

use crate::service::{self, ReadTimeLimit, Service};

/// Calls at a time on one connection. Beyond this the client must wait.
const STREAMS_MAX: u32 = 128;
/// The idle time after which a connection gets a keep-alive ping.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(30);
/// The timeout of the ping's answer.
const KEEP_ALIVE_WITHIN: Duration = Duration::from_secs(10);
/// The time without a call after which a connection is closed, also if HTTP/2 never began on it. Clients reconnect
/// for their next call.
const IDLE: Duration = Duration::from_secs(60);

/// An answer to come.
pub type Answering = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;
/// Answers the requests of a listener.
pub type Answers = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;

/// A bound address, and who answers there.
pub struct Server {
    listener: Listener,
    answers: Answers,
    /// How long a client may take to read a finite answer.
    answer_within: Duration,
    /// The service whose health is told at the end; none if another one answers.
    service: Option<Arc<Service>>,
    tls: Option<Arc<ListenerTls>>,
    header_bytes_max: u32,
}

impl Server {
    /// Serve on a listener, with TLS if it is given.
    pub fn new(
        listener: Listener,
        service: Service,
        tls: Option<Arc<ListenerTls>>,
        header_bytes_max: usize,
    ) -> Self {
        let service = Arc::new(service);
        let within = service.answer_within();
        let server = Self::passing(
            listener,
            (service.clone().answers(), within),
            tls,
            header_bytes_max,
        );
        Self {
            service: Some(service),
            ..server
        }
    }

    /// Have requests answered elsewhere, and a client read each finite answer within a time.
    pub fn passing(
        listener: Listener,
        (answers, answer_within): (Answers, Duration),
        tls: Option<Arc<ListenerTls>>,
        header_bytes_max: usize,
    ) -> Self {
        Self {
            listener,
            answers,
            answer_within,
            service: None,
            tls,
            header_bytes_max: u32::try_from(header_bytes_max).unwrap_or(u32::MAX),
        }
    }

    /// The bound address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Serve until told to stop, then finish the calls under way.
    pub async fn serve(self, mut stop: watch::Receiver<bool>) {
        let mut http = http2::Builder::new(contained::Executor);
        http.timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(self.header_bytes_max)
            .keep_alive_interval(KEEP_ALIVE_EVERY)
            .keep_alive_timeout(KEEP_ALIVE_WITHIN);
        let health = self.service.clone().map(|service| {
            let stopping = stop.clone();
            tokio::spawn(async move { service.follow_health(stopping).await })
        });
        let (close, closing) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut accepting = self.listener.accepting();
        while let Some((stream, admitted)) = accepting.next(&mut stop).await {
            let connection = Connection {
                http: http.clone(),
                answers: self.answers.clone(),
                answer_within: self.answer_within,
                certified: None,
                closing: closing.clone(),
                admitted,
            };
            let connected = connected(connection, stream, self.tls.clone());
            connections.spawn(contained::told("a connection", connected));
            while connections.try_join_next().is_some() {}
        }
        drop(accepting);
        // Health reports the end before the listener stops.
        if let Some(health) = health {
            let _ = health.await;
        }
        let _ = close.send(true);
        let ended = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, ended).await;
        // Calls that have not ended by now are aborted with the set.
    }
}

struct Connection {
    http: http2::Builder<contained::Executor>,
    answers: Answers,
    answer_within: Duration,
    /// The certificate that the client has shown.
    certified: Option<Certified>,
    /// Whether no more calls are accepted.
    closing: watch::Receiver<bool>,
    admitted: Admitted,
}

async fn connected(
    mut connection: Connection,
    stream: Paced<TcpStream>,
    tls: Option<Arc<ListenerTls>>,
) {
    let Some(tls) = tls else {
        return connection.serve(stream).await;
    };
    match tokio::time::timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await {
        Ok(Ok((stream, certificate))) => {
            connection.certified = certificate.map(|shown| Certified(Arc::new(shown)));
            connection.serve(stream).await;
        }
        Ok(Err(error)) => connection.admitted.handshake_failed(&error),
        Err(_) => tracing::debug!("a client's TLS handshake did not end in time"),
    }
}

impl Connection {
    async fn serve(mut self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let (answers, finite) = (self.answers, self.answer_within);
        let certified = self.certified;
        let (counted, mut calls) = watch::channel(0);
        let counted = Arc::new(counted);
        let peer = PeerAddress(self.admitted.address());
        let slow = Arc::new(Notify::new());
        let too_slow = slow.clone();
        let answer = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            if let Some(certified) = &certified {
                request.extensions_mut().insert(certified.clone());
            }
            let usual = service::read_time(request.uri().path(), finite);
            let (answering, call) = (answers(request), ActiveCall::of(&counted));
            let slow = slow.clone();
            async move {
                let answered = answering.await;
                let told = answered.extensions().get::<ReadTimeLimit>().copied();
                let ReadTimeLimit(within) = told.unwrap_or(usual);
                let taken = within.map(|within| watch_over(within, slow));
                // Until the answer was sent, or the client is gone.
                let answered = answered.map(|body| {
                    Body::new(body.map_frame(move |frame| {
                        let _ = (&call, &taken);
                        frame
                    }))
                });
                Ok::<_, Infallible>(answered)
            }
        });
        let mut connection = pin!(self.http.serve_connection(TokioIo::new(stream), answer));
        let ended = tokio::select! {
            ended = &mut connection => Some(ended),
            _ = self.closing.wait_for(|closing| *closing) => None,
            () = idle(&mut calls, IDLE) => None,
            () = too_slow.notified() => {
                // The client would not read a GOAWAY frame either.
                tracing::debug!("a client did not read its answer in time; the host closes its connection");
                return;
            }
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = idle(&mut calls, GRACE) => Ok(()),
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }
}

/// Watch an answer until the returned value is dropped. Notifies `slow` when that takes longer than `within`.
fn watch_over(within: Duration, slow: Arc<Notify>) -> oneshot::Sender<Infallible> {
    let (taken, gone) = oneshot::channel();
    tokio::spawn(async move {
        if tokio::time::timeout(within, gone).await.is_err() {
            slow.notify_one();
        }
    });
    taken
}

/// Counts a call until it is dropped.
struct ActiveCall(Arc<watch::Sender<usize>>);

impl ActiveCall {
    fn of(counted: &Arc<watch::Sender<usize>>) -> Self {
        counted.send_modify(|calls| *calls += 1);
        Self(counted.clone())
    }
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        self.0.send_modify(|calls| {
            let left = calls.checked_sub(1);
            *calls = left.expect("a call is counted before it ends, and ends once");
        });
    }
}

/// Wait until there was no call for this time.
async fn idle(calls: &mut watch::Receiver<usize>, time: Duration) {
    loop {
        // The sender of the count lives as long as the connection.
        let _ = calls.wait_for(|calls| *calls == 0).await;
        if tokio::time::timeout(time, calls.changed()).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_is_idle_only_without_calls() {
        let (counted, mut calls) = watch::channel(0);
        let counted = Arc::new(counted);
        let time = Duration::from_millis(200);
        let call = ActiveCall::of(&counted);
        let waiting = idle(&mut calls, time);
        let early = tokio::time::timeout(2 * time, waiting).await;
        assert!(early.is_err(), "a call is under way");
        drop(call);
        let started = std::time::Instant::now();
        let again = counted.clone();
        tokio::spawn(async move {
            tokio::time::sleep(time / 2).await;
            drop(ActiveCall::of(&again));
        });
        idle(&mut calls, time).await;
        let waited = started.elapsed();
        assert!(
            waited >= time * 3 / 2,
            "a short call begins the time anew: {waited:?}"
        );
    }
}
