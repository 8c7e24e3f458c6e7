//! One address for any number of FSPs that only listen: accepts every message, and reports transfer and
//! contents. Answers of FSPs belong to [`crate::fsp`].

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::limits::BODY_BYTES_MAX;
use crate::message::{ErrorInformation, Resource, Route};

/// A message's statement about a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// The payee is asked to take it: it was prepared.
    Prepare,
    /// It failed, with this error code.
    Error(String),
    /// Anything else, such as that it was committed.
    Other,
}

/// The listening address. It closes when this value is dropped.
#[derive(Debug)]
pub struct Sink {
    url: String,
    serving: JoinHandle<()>,
}

impl Sink {
    /// Listens on a free port. Calls `hear` with the id of each transfer and the statement.
    ///
    /// # Errors
    /// When there is no port.
    pub async fn start(hear: impl Fn(&str, Said) + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let serving = tokio::spawn(serve(listener, Arc::new(hear)));
        Ok(Self { url, serving })
    }

    /// Its base address, without a path.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

type Hear = dyn Fn(&str, Said) + Send + Sync;

async fn serve(listener: TcpListener, hear: Arc<Hear>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, Arc::clone(&hear)));
            }
            // Out of file descriptors, most likely: let some connections end first.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, hear: Arc<Hear>) {
    let _ = stream.set_nodelay(true); // without it answers are merely slower
    let service = service_fn(move |request| {
        let hear = Arc::clone(&hear);
        async move { Ok::<_, Infallible>(take(request, &*hear).await) }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _ = connection.await; // a switch that goes away is not the sink's concern
}

/// Take a message: 202 for a request, 200 for a callback, as FSPs do.
async fn take(request: Request<Incoming>, hear: &Hear) -> Response<Full<Bytes>> {
    let is_request = request.method() == Method::POST;
    let path = request.uri().path().to_owned();
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect();
    let Ok(body) = body.await.map(|body| body.to_bytes()) else {
        return answer(StatusCode::BAD_REQUEST);
    };
    if let Some(route) = Route::of(&path).filter(|route| route.resource == Resource::Transfers) {
        if is_request {
            let prepare: Value = serde_json::from_slice(&body).unwrap_or_default();
            hear(
                prepare["transferId"].as_str().unwrap_or_default(),
                Said::Prepare,
            );
        } else if route.error {
            let code = ErrorInformation::of_body(&body).map_or(String::new(), |error| error.code);
            hear(route.key, Said::Error(code));
        } else {
            hear(route.key, Said::Other);
        }
    }
    answer(if is_request {
        StatusCode::ACCEPTED
    } else {
        StatusCode::OK
    })
}

fn answer(status: StatusCode) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = status;
    answer
}
