//! The server: connections, and which part of the FSP takes a message.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::waiting::Callback;
use super::{CONTROL_PREFIX, Inner, Outgoing, control, payee};
use crate::behaviour::{Answering, Dice};
use crate::limits::BODY_BYTES_MAX;
use crate::message::{ErrorCode, ErrorInformation, Resource, Route};
use crate::text::decoded;
use crate::time;

/// A message in, taken apart.
pub(super) struct Inbound<'a> {
    pub(super) method: &'a Method,
    pub(super) route: Route<'a>,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a Bytes,
}

/// How a message is answered at the HTTP level.
#[derive(Debug, Default)]
pub(super) struct Conduct {
    reset: bool,
    stall: Option<Duration>,
    status: Option<u16>,
}

impl Conduct {
    /// Draws the conduct towards one message.
    pub(super) fn of(answering: &Answering, dice: Dice) -> Self {
        Self {
            reset: dice.hits("reset", answering.reset),
            stall: dice.pause("stall", answering.stall),
            status: answering.status,
        }
    }

    /// True if the message counts as not received.
    pub(super) fn ignores(&self) -> bool {
        self.reset || self.status.is_some_and(|status| status >= 400)
    }
}

/// The handling of a message.
pub(super) struct Reaction {
    conduct: Conduct,
    status: u16,
    body: String,
    then: Then,
}

/// What follows the HTTP answer.
pub(super) enum Then {
    /// Nothing.
    Nothing,
    /// A callback to the switch, after a pause.
    Send(Outgoing, Option<Duration>),
    /// The waiting step gets this callback.
    Deliver,
}

impl Reaction {
    /// The message is accepted: 202 for a request, 200 for a callback.
    pub(super) fn accept(conduct: Conduct, status: u16, then: Then) -> Self {
        Self {
            conduct,
            status,
            body: String::new(),
            then,
        }
    }

    /// The message counts as not received.
    pub(super) fn ignore(conduct: Conduct) -> Self {
        Self {
            conduct,
            status: 500,
            body: String::new(),
            then: Then::Nothing,
        }
    }

    /// The message is refused at once.
    pub(super) fn refuse(status: u16, code: ErrorCode, detail: &str) -> Self {
        Self {
            conduct: Conduct::default(),
            status,
            body: ErrorInformation::new(code, detail).body(),
            then: Then::Nothing,
        }
    }
}

/// The connection is to be reset.
#[derive(Debug, thiserror::Error)]
#[error("the FSP's behaviour resets this connection")]
struct Reset;

/// Accepts connections until the task is aborted; its connections end with it.
pub(super) async fn serve(fsp: Arc<Inner>, listener: TcpListener, tls: Option<TlsAcceptor>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(Arc::clone(&fsp), stream, tls.clone()));
                }
                Err(error) => {
                    // Out of file descriptors, most likely: let some connections end first.
                    tracing::warn!(fsp = %fsp.settings.id, %error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

async fn connection(fsp: Arc<Inner>, stream: TcpStream, tls: Option<TlsAcceptor>) {
    let _ = stream.set_nodelay(true); // without it answers are merely slower
    let Some(tls) = tls else {
        return exchange(fsp, stream, |stream| stream).await;
    };
    // A client that does not get through the handshake gets no further.
    if let Ok(stream) = tls.accept(stream).await {
        exchange(fsp, stream, |stream| stream.into_inner().0).await;
    }
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    fsp: Arc<Inner>,
    stream: S,
    tcp: impl FnOnce(S) -> TcpStream,
) {
    let service = service_fn(move |request| {
        let fsp = Arc::clone(&fsp);
        Box::pin(async move { answer(&fsp, request).await })
    });
    let mut connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let ended = poll_fn(|context| connection.poll_without_shutdown(context)).await;
    if ended.is_err_and(|error| error.is_user()) {
        // Closing with a linger of zero makes the kernel send RST instead of FIN.
        let _ = tcp(connection.into_parts().io.into_inner()).set_zero_linger();
    }
}

async fn answer(
    fsp: &Arc<Inner>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Reset> {
    let (arrived, at_us) = (time::now(), time::wall_us());
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    let Some(body) = read(body).await else {
        let refusal = Reaction::refuse(400, ErrorCode::TOO_LARGE, "the body exceeds the limit");
        return Ok(response(fsp, refusal.status, refusal.body, None));
    };
    if let Some(rest) = path.strip_prefix(CONTROL_PREFIX) {
        let Ok(answer) = control::answer(fsp, &head.method, rest, &body).await;
        return Ok(answer);
    }
    let route = Route::of(path);
    let reaction = match route {
        Some(route) => {
            let method = &head.method;
            react(
                fsp,
                &Inbound {
                    method,
                    route,
                    headers: &head.headers,
                    body: &body,
                },
            )
        }
        None => Reaction::refuse(404, ErrorCode::UNKNOWN_URI, path),
    };
    let status = reaction.conduct.status.unwrap_or(reaction.status);
    if fsp.recorder.wants() {
        // Recorded before the waiting step continues, so that the recording is complete when the payment ends.
        let took = arrived.elapsed() + reaction.conduct.stall.unwrap_or_default();
        let status = (!reaction.conduct.reset).then_some(status);
        fsp.record_inbound(
            &head.method,
            path,
            &head.headers,
            &body,
            status,
            (at_us, took),
        );
    }
    match (reaction.then, route) {
        (Then::Nothing, _) | (Then::Deliver, None) => {}
        (Then::Send(message, pause), _) => fsp.send_callback(message, pause),
        (Then::Deliver, Some(route)) => deliver(fsp, route, head.headers, body, arrived),
    }
    if let Some(stall) = reaction.conduct.stall {
        tokio::time::sleep(stall).await;
    }
    if reaction.conduct.reset {
        return Err(Reset);
    }
    Ok(response(
        fsp,
        status,
        reaction.body,
        route.map(|route| route.resource),
    ))
}

/// Hands a callback to the waiting step.
fn deliver(fsp: &Inner, route: Route<'_>, headers: HeaderMap, body: Bytes, arrived: Instant) {
    let waited_for = format!("{}/{}", route.resource.name(), decoded(route.key));
    let error = route.error;
    let callback = Callback {
        error,
        headers,
        body,
        arrived,
    };
    if !fsp.waiting.deliver(&waited_for, callback) {
        fsp.counts.unclaimed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Which part of the FSP takes a message.
fn react(fsp: &Arc<Inner>, inbound: &Inbound<'_>) -> Reaction {
    let route = inbound.route;
    let keyed = !route.key.is_empty();
    match (inbound.method.as_str(), route.resource) {
        ("GET", Resource::Parties) if !route.error => payee::lookup(fsp, inbound),
        ("POST", Resource::Quotes) if !keyed => payee::quote(fsp, inbound),
        ("POST", Resource::Transfers) if !keyed => payee::transfer(fsp, inbound),
        ("PUT", _) if keyed => callback(fsp, inbound),
        ("PATCH", Resource::Transfers) if keyed => callback(fsp, inbound),
        _ => Reaction::refuse(
            405,
            ErrorCode::CLIENT_ERROR,
            "this method is not for this path",
        ),
    }
}

/// A callback came in: PUT, or PATCH.
fn callback(fsp: &Arc<Inner>, inbound: &Inbound<'_>) -> Reaction {
    let behaviour = fsp.behaviour();
    let dice = Dice::of(behaviour.seed, inbound.route.key);
    let conduct = Conduct::of(&behaviour.callbacks, dice);
    if conduct.ignores() {
        return Reaction::ignore(conduct);
    }
    if *inbound.method == Method::PATCH {
        fsp.counts.notifications.fetch_add(1, Ordering::Relaxed);
        return Reaction::accept(conduct, 200, Then::Nothing);
    }
    fsp.counts.callbacks.fetch_add(1, Ordering::Relaxed);
    Reaction::accept(conduct, 200, Then::Deliver)
}

async fn read(body: Incoming) -> Option<Bytes> {
    if body.is_end_stream() {
        return Some(Bytes::new());
    }
    let collected = Limited::new(body, BODY_BYTES_MAX).collect().await;
    collected.ok().map(|body| body.to_bytes())
}

fn response(
    fsp: &Inner,
    status: u16,
    body: String,
    resource: Option<Resource>,
) -> Response<Full<Bytes>> {
    let has_body = !body.is_empty();
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if status == 405 {
        headers.insert(ALLOW, HeaderValue::from_static("GET, POST, PUT, PATCH"));
    }
    if let Some(resource) = resource.filter(|_| has_body) {
        headers.insert(CONTENT_TYPE, fsp.letterhead.content_type(resource));
    }
    response
}

/// A JSON answer of the control API.
pub(super) fn json_response(
    status: StatusCode,
    body: impl Into<Bytes>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}
