//! The link to the host that serves: one connection of HTTP/2 for all requests that this host takes for it.
//!
//! A request waits for a host that serves, within its time. It is sent again only if the other host has not looked at it: it
//! could not be sent, or it was answered "not mine"; or if it only asks. If the connection ends before the answer to another
//! request came, nobody knows what became of it, and the client is told so.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioIo, TokioTimer};
use rialto_edge::{AnswerGuard, contained};
use rialto_tls::{OutboundTls, Protocol};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use crate::gathered::Gathered;
use crate::origin::{self, ANSWER, NOT_MINE, Origin};
use crate::{Answer, AnyBody, any_body};

/// How long a connection may take to be made.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
/// The pause before who serves is looked at again.
const PAUSE: Duration = Duration::from_millis(20);
/// A connection on which nothing comes is asked whether it is well after this time, and given up after as long again.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// The media type of answers that no other host has given.
const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");

/// How requests are passed.
pub struct LinkSettings {
    /// The address for other hosts of the one that serves; none if nobody does.
    pub serves: watch::Receiver<Option<SocketAddr>>,
    /// Has somebody look who serves.
    pub look: Box<dyn Fn() + Send + Sync>,
    /// The certificate that this host shows, and whom others must be certified by. Without it, connections have no TLS.
    pub tls: Option<Arc<OutboundTls>>,
    /// How long a request waits for a host that serves.
    pub patience: Duration,
}

/// The link to the host that serves, whichever it is.
pub struct Link {
    settings: LinkSettings,
    connection: Mutex<Option<Connected>>,
}

/// The connection, to which address, and by which files of TLS.
struct Connected {
    to: SocketAddr,
    generation: u64,
    sender: SendRequest<AnyBody>,
}

/// How the requests of a listener are passed.
pub struct Passing {
    /// How long a client may take to send a request's body, and the host that serves to answer.
    pub within: Duration,
    /// Whether a request's body goes on after the answer has begun. Such a body is passed as it comes, so it cannot be sent
    /// again.
    pub streams: fn(&http::request::Parts) -> bool,
    /// Whether a request may only ask, whose answer must be true when it is given.
    pub asks: fn(&Method) -> bool,
    /// The answer to a request that no host has answered.
    pub refused: fn(Refusal) -> Answer,
}

/// Why no host has answered a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its body did not come in time.
    Late,
    /// No host serves at this moment. Nothing was done.
    Nobody,
    /// The connection to the host that serves has ended.
    Unknown,
    /// This host's lease ran out while it answered, so the answer may be out of date.
    Lapsed,
}

impl Refusal {
    /// For people.
    #[must_use]
    pub const fn detail(self) -> &'static str {
        match self {
            Self::Late => "the request's body did not come in time",
            Self::Nobody => {
                "no host serves at this moment; nothing was done, so send the request again"
            }
            Self::Unknown => {
                "the connection to the host that serves has ended, and nobody knows whether it has taken the request: ask \
                 for its outcome, or send it again with the same id"
            }
            Self::Lapsed => {
                "another host may serve since this one has read its answer, which may be out of date: ask again"
            }
        }
    }

    /// As an answer of HTTP with a problem (RFC 9457).
    #[must_use]
    pub fn problem(self) -> Answer {
        let status = match self {
            Self::Late => StatusCode::REQUEST_TIMEOUT,
            Self::Nobody | Self::Lapsed => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unknown => StatusCode::BAD_GATEWAY,
        };
        let title = status.canonical_reason().unwrap_or_default();
        // Neither has a character that JSON would escape.
        let body = format!(
            "{{\"title\":\"{title}\",\"status\":{},\"detail\":\"{}\"}}\n",
            status.as_u16(),
            self.detail()
        );
        let mut answer = Response::new(any_body(Full::new(Bytes::from(body))));
        *answer.status_mut() = status;
        let fields = answer.headers_mut();
        fields.insert(CONTENT_TYPE, PROBLEM);
        if matches!(self, Self::Nobody | Self::Lapsed) {
            fields.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        answer
    }
}

/// What became of one attempt.
enum Attempt {
    Answered(Answer),
    /// The other host has not looked at it, or it only asks and has no answer that is surely true.
    NotTaken,
    /// Nobody knows.
    Unknown,
}

impl Link {
    /// A link. It connects when there is a request.
    #[must_use]
    pub fn new(settings: LinkSettings) -> Arc<Self> {
        Arc::new(Self {
            settings,
            connection: Mutex::default(),
        })
    }

    /// Have the host that serves answer a request.
    pub async fn pass(
        &self,
        request: Request<Incoming>,
        origin: &Origin,
        passing: &Passing,
    ) -> Answer {
        let passed = self.passed(request, origin, passing).await;
        passed.unwrap_or_else(|refusal| (passing.refused)(refusal))
    }

    async fn passed(
        &self,
        request: Request<Incoming>,
        origin: &Origin,
        passing: &Passing,
    ) -> Result<Answer, Refusal> {
        let (mut head, body) = request.into_parts();
        let streams = (passing.streams)(&head);
        origin.put_into(&mut head);
        let mut body = if streams {
            Gathered::as_it_comes(body)
        } else {
            let reading = tokio::time::timeout(passing.within, Gathered::read(body));
            let Ok(Ok(read)) = reading.await else {
                return Err(Refusal::Late);
            };
            read
        };
        let until = Instant::now() + self.settings.patience;
        while body.is_there() {
            let times = (until, passing.within);
            match self.attempt(&head, &mut body, times).await {
                Attempt::Answered(answer) => return Ok(answer),
                // What only asks may be asked again (RFC 9110, 9.2.2).
                Attempt::Unknown if !head.method.is_safe() => return Err(Refusal::Unknown),
                Attempt::NotTaken | Attempt::Unknown if Instant::now() >= until => break,
                Attempt::NotTaken | Attempt::Unknown => {
                    (self.settings.look)();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        Err(Refusal::Nobody)
    }

    async fn attempt(
        &self,
        head: &http::request::Parts,
        body: &mut Gathered,
        (until, within): (Instant, Duration),
    ) -> Attempt {
        let Some(mut sender) = self.connected(until).await else {
            return Attempt::NotTaken;
        };
        let Some(sent) = body.take() else {
            return Attempt::NotTaken;
        };
        let request = Request::from_parts(head.clone(), sent);
        let sending = tokio::time::timeout(within, sender.try_send_request(request));
        match sending.await {
            Ok(Ok(response)) if response.headers().contains_key(NOT_MINE) => Attempt::NotTaken,
            Ok(Ok(response)) => Attempt::Answered(answered(response, sender)),
            Ok(Err(mut error)) => {
                self.forget().await;
                match error.take_message() {
                    Some(not_sent) => {
                        body.put_back(not_sent.into_body());
                        Attempt::NotTaken
                    }
                    None => {
                        tracing::warn!(error = %error.error(), "the connection to the host that serves has ended");
                        Attempt::Unknown
                    }
                }
            }
            Err(_) => Attempt::Unknown,
        }
    }

    /// The connection to the host that serves now.
    async fn connected(&self, until: Instant) -> Option<SendRequest<AnyBody>> {
        let address = self.serves(until).await?;
        let mut connection = self.connection.lock().await;
        let tls = self.settings.tls.as_ref();
        let generation = tls.map_or(0, |tls| tls.generation());
        if let Some(connected) = &*connection
            && connected.to == address
            && connected.generation == generation
            && !connected.sender.is_closed()
        {
            return Some(connected.sender.clone());
        }
        *connection = None;
        let connecting = tokio::time::timeout(CONNECT_WITHIN, self.connect(address));
        let failed = match connecting.await {
            Ok(Ok(sender)) => {
                *connection = Some(Connected {
                    to: address,
                    generation,
                    sender: sender.clone(),
                });
                return Some(sender);
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it did not answer in time".to_owned(),
        };
        tracing::debug!(%address, failed, "the host that serves was not reached");
        None
    }

    /// The address of the host that serves.
    async fn serves(&self, until: Instant) -> Option<SocketAddr> {
        let mut serves = self.settings.serves.clone();
        loop {
            if let Some(address) = *serves.borrow_and_update() {
                return Some(address);
            }
            (self.settings.look)();
            let soon = (Instant::now() + PAUSE).min(until);
            let changed = tokio::time::timeout_at(soon, serves.changed()).await;
            if changed.is_err() && Instant::now() >= until {
                return None;
            }
        }
    }

    async fn connect(&self, address: SocketAddr) -> Result<SendRequest<AnyBody>, crate::BodyError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut http = http2::Builder::new(contained::Executor);
        http.timer(TokioTimer::new())
            .keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .adaptive_window(true);
        let Some(tls) = &self.settings.tls else {
            let (sender, connection) = http.handshake(TokioIo::new(stream)).await?;
            contained::spawn("the link to another host", connection);
            return Ok(sender);
        };
        let stream = tls.connect(address, stream, Protocol::Http2).await?;
        let (sender, connection) = http.handshake(TokioIo::new(stream)).await?;
        contained::spawn("the link to another host", connection);
        Ok(sender)
    }

    /// Forget a connection that has failed.
    async fn forget(&self) {
        let mut connection = self.connection.lock().await;
        if connection
            .as_ref()
            .is_some_and(|connected| connected.sender.is_closed())
        {
            *connection = None;
        }
    }
}

/// Another host's answer, for this host's client.
fn answered(response: Response<Incoming>, sender: SendRequest<AnyBody>) -> Answer {
    let (mut head, body) = response.into_parts();
    let number = head.headers.get(ANSWER).cloned();
    origin::answered(&mut head);
    if let Some(number) = number {
        head.extensions
            .insert(AnswerGuard::of(Arc::new(Telling { number, sender })));
    }
    Response::from_parts(head, any_body(body))
}

/// Tells the host that serves, when it is dropped, that the client has the answer.
struct Telling {
    number: HeaderValue,
    sender: SendRequest<AnyBody>,
}

impl Drop for Telling {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let mut sender = self.sender.clone();
        let mut request = Request::new(any_body(Full::new(Bytes::new())));
        *request.uri_mut() = http::Uri::from_static("http://host/");
        request.headers_mut().insert(ANSWER, self.number.clone());
        runtime.spawn(async move {
            if let Err(error) = sender.send_request(request).await {
                tracing::debug!(%error, "the host that serves was not told that an answer was written");
            }
        });
    }
}
