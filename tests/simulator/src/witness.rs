//! A witness of transparency logs (c2sp.org/tlog-witness): it signs checkpoints of a log that only grows. It remembers the
//! last one and believes the proof, so it shows what a log does when its witness knows better.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;

/// The type of a key that makes cosignatures with a time (c2sp.org/tlog-cosignature).
const COSIGNATURE: u8 = 4;
/// The media type of a witness's size.
const SIZE_TYPE: &str = "text/x.tlog.size";

/// A witness's key.
#[derive(Debug)]
pub struct WitnessPair {
    pair: Ed25519KeyPair,
    name: String,
}

impl WitnessPair {
    /// Make one of this name. None if no key can be made.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        Some(Self {
            pair: Ed25519KeyPair::generate().ok()?,
            name: name.to_owned(),
        })
    }

    fn typed(&self) -> Vec<u8> {
        [&[COSIGNATURE], self.pair.public_key().as_ref()].concat()
    }

    fn id(&self) -> [u8; 4] {
        let hash = Sha256::digest([self.name.as_bytes(), b"\n", &self.typed()].concat());
        [hash[0], hash[1], hash[2], hash[3]]
    }

    /// The public key, as who verifies has it: `name+id+key`.
    #[must_use]
    pub fn public(&self) -> String {
        let id = u32::from_be_bytes(self.id());
        format!("{}+{id:08x}+{}", self.name, STANDARD.encode(self.typed()))
    }

    /// The line that it adds to a checkpoint of this text at this time, in seconds since 1970.
    #[must_use]
    pub fn line(&self, text: &str, time: u64) -> String {
        let message = format!("cosignature/v1\ntime {time}\n{text}");
        let signature = self.pair.sign(message.as_bytes());
        let bytes = [&self.id(), &time.to_be_bytes()[..], signature.as_ref()].concat();
        format!("\u{2014} {} {}\n", self.name, STANDARD.encode(bytes))
    }
}

/// What it has signed last: size, and root as text.
type Last = Arc<Mutex<(u64, String)>>;

/// A running witness. It ends with the runtime.
#[derive(Debug)]
pub struct Witness {
    address: SocketAddr,
    pair: Arc<WitnessPair>,
    last: Last,
}

impl Witness {
    /// Start one of this name on a free port of this machine.
    ///
    /// # Errors
    /// When no key can be made, or there is no port.
    pub async fn start(name: &str) -> std::io::Result<Self> {
        let pair = WitnessPair::new(name);
        let pair = Arc::new(pair.ok_or_else(|| std::io::Error::other("no key can be made"))?);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let last = Last::default();
        tokio::spawn(accept(listener, pair.clone(), last.clone()));
        Ok(Self {
            address,
            pair,
            last,
        })
    }

    /// Its base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its public key.
    #[must_use]
    pub fn public(&self) -> String {
        self.pair.public()
    }

    /// How many entries it has signed.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.last.lock().0
    }

    /// Make it believe that it has signed a log of this size.
    pub fn has_signed(&self, size: u64) {
        *self.last.lock() = (size, "another root".to_owned());
    }
}

async fn accept(listener: TcpListener, pair: Arc<WitnessPair>, last: Last) {
    while let Ok((stream, _)) = listener.accept().await {
        let (pair, last) = (pair.clone(), last.clone());
        let service = service_fn(move |request| answer(request, pair.clone(), last.clone()));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    request: Request<Incoming>,
    pair: Arc<WitnessPair>,
    last: Last,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let is_known = request.method() == Method::POST && request.uri().path() == "/add-checkpoint";
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    let wanted = if is_known { read(&body) } else { None };
    let Some(Wanted {
        old,
        size,
        root,
        text,
    }) = wanted
    else {
        return Ok(told(StatusCode::BAD_REQUEST, String::new()));
    };
    let mut last = last.lock();
    if old != last.0 || size < old || (size == old && root != last.1) {
        let mut response = told(StatusCode::CONFLICT, format!("{}\n", last.0));
        let media_type = header::HeaderValue::from_static(SIZE_TYPE);
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, media_type);
        return Ok(response);
    }
    *last = (size, root);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs());
    Ok(told(StatusCode::OK, pair.line(&text, now)))
}

fn told(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    response
}

/// What a log wants to be signed.
struct Wanted {
    /// The size that it takes for the last one.
    old: u64,
    size: u64,
    root: String,
    /// The signed part of the checkpoint.
    text: String,
}

fn read(body: &[u8]) -> Option<Wanted> {
    let (head, note) = std::str::from_utf8(body).ok()?.split_once("\n\n")?;
    let old = head.lines().next()?.strip_prefix("old ")?.parse().ok()?;
    let text = note[..note.find("\n\n")? + 1].to_owned();
    let mut lines = text.lines().skip(1);
    let (size, root) = (lines.next()?.parse().ok()?, lines.next()?.to_owned());
    Some(Wanted {
        old,
        size,
        root,
        text,
    })
}
