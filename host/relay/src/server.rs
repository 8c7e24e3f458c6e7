//! Takes requests that other hosts pass to this one, from hosts alone: with mutual TLS, the certificate of another host is
//! needed, and without TLS the address is this machine's own.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rialto_edge::authentication::Certified;
use rialto_edge::server::HANDSHAKE_WITHIN;
use rialto_edge::{AnswerGuard, PeerAddress, contained};
use rialto_tls::{ClientCertificate, ListenerTls, Unproven};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

use crate::door::{Door, Lapsed};
use crate::origin::{self, ANSWER, NOT_MINE, Origin};
use crate::written::Unwritten;
use crate::{Answer, any_body};

/// Requests at a time on one connection: more than a host takes at once.
const STREAMS_MAX: u32 = 4_096;
/// The longest header section: a client's, and its certificates.
const HEADER_BYTES_MAX: u32 = 256 << 10;
/// A connection on which nothing comes is asked whether it is well after this time, and given up after as long again.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// The pause between two looks at the files of TLS.
const LOOK: Duration = Duration::from_millis(500);
/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(20);

/// Takes what other hosts pass to this one.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    doors: Arc<BTreeMap<String, Arc<Door>>>,
    tls: Option<Arc<ListenerTls>>,
}

impl Server {
    /// Bind an address for the hosts that pass requests to these doors, each under its listener's name.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn bind(
        address: SocketAddr,
        doors: BTreeMap<String, Arc<Door>>,
        tls: Option<Arc<ListenerTls>>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            doors: Arc::new(doors),
            tls,
        })
    }

    /// The bound address.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serve until the task is aborted.
    pub async fn serve(self) {
        let mut http = http2::Builder::new(contained::Executor);
        http.timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS_MAX)
            .max_header_list_size(HEADER_BYTES_MAX)
            .keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .adaptive_window(true);
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection of another host could not be accepted");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let connection = Connection {
                http: http.clone(),
                doors: self.doors.clone(),
            };
            let tls = self.tls.clone();
            contained::spawn("a connection of another host", async move {
                let Some(tls) = tls else {
                    return connection.serve(stream, std::future::pending()).await;
                };
                let generation = tls.generation();
                match tokio::time::timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await {
                    Ok(Ok((stream, _))) => {
                        connection.serve(stream, renewed(&tls, generation)).await;
                    }
                    Ok(Err(error)) => {
                        tracing::warn!(%error, "somebody who is no host of this scheme was refused at its hosts' address");
                    }
                    Err(_) => tracing::debug!("another host's TLS handshake did not end in time"),
                }
            });
        }
    }
}

struct Connection {
    http: http2::Builder<contained::Executor>,
    doors: Arc<BTreeMap<String, Arc<Door>>>,
}

impl Connection {
    /// Serve a connection, until it has another proof to bring.
    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        renewed: impl Future<Output = ()>,
    ) {
        let unwritten = Arc::new(Unwritten::default());
        let doors = self.doors;
        let answer = service_fn(move |request: Request<Incoming>| {
            let (doors, unwritten) = (doors.clone(), unwritten.clone());
            async move { Ok::<_, Infallible>(answer(&doors, &unwritten, request).await) }
        });
        let mut serving = pin!(self.http.serve_connection(TokioIo::new(stream), answer));
        let ended = tokio::select! {
            ended = &mut serving => ended,
            () = renewed => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection of another host ended");
        }
    }
}

/// Wait until other files are in use than those by which a connection was accepted. Its host connects anew, with a certificate
/// that is verified by these.
async fn renewed(tls: &ListenerTls, generation: u64) {
    while tls.generation() == generation {
        tokio::time::sleep(LOOK).await;
    }
}

async fn answer(
    doors: &BTreeMap<String, Arc<Door>>,
    unwritten: &Arc<Unwritten>,
    request: Request<Incoming>,
) -> Answer {
    let (mut head, body) = request.into_parts();
    if let Some(number) = head.headers.get(ANSWER) {
        if let Some(number) = number.to_str().ok().and_then(|text| text.parse().ok()) {
            unwritten.written(number);
        }
        return empty(StatusCode::NO_CONTENT);
    }
    let origin = match Origin::take_from(&mut head) {
        Ok(origin) => origin,
        Err(error) => {
            tracing::warn!(%error, "another host has passed a request that makes no sense");
            return empty(StatusCode::BAD_REQUEST);
        }
    };
    let door = doors.get(&origin.listener);
    let Some((door, begun)) = door.and_then(|door| Some((door, door.begin()?))) else {
        return not_mine();
    };
    let peer = PeerAddress(origin.peer);
    head.extensions.insert(peer);
    head.extensions.insert(peer.client());
    if let Some(tls) = door.tls() {
        let certificate = tls.client_certificate(origin.certificates);
        // The other host's handshake has seen it, by that host's files.
        if !tls.is_open() && !is_taken(&certificate) {
            return empty(StatusCode::FORBIDDEN);
        }
        if certificate.thumbprint().is_some() {
            head.extensions.insert(Certified(Arc::new(certificate)));
        }
    }
    let may_ask_again = head.method.is_safe();
    let mut answer = match begun.answer(Request::from_parts(head, body)).await {
        Ok(answer) => answer,
        Err(Lapsed) if may_ask_again => return not_mine(),
        Err(Lapsed) => door.lapsed(),
    };
    origin::without_connection(answer.headers_mut());
    // A component that says "not mine" would have the request sent again.
    origin::without_own(answer.headers_mut());
    if let Some(guard) = answer.extensions_mut().remove::<AnswerGuard>() {
        let number = unwritten.keep(guard);
        answer
            .headers_mut()
            .insert(ANSWER, HeaderValue::from(number));
    }
    answer
}

/// Whether a handshake with this host would take a certificate. It asks for no name.
fn is_taken(certificate: &ClientCertificate) -> bool {
    matches!(certificate.identity(), Ok(_) | Err(Unproven::Nameless))
}

/// This host has not looked at a request, or the request only asked.
fn not_mine() -> Answer {
    let mut answer = empty(StatusCode::MISDIRECTED_REQUEST);
    answer
        .headers_mut()
        .insert(NOT_MINE, HeaderValue::from_static("1"));
    answer
}

fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(any_body(Full::new(Bytes::new())));
    *answer.status_mut() = status;
    answer
}
