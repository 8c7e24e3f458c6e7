//! A server of files over TLS that takes whatever is put, from everybody.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::pki::Authority;

/// The server. It runs on the runtime that started it.
#[derive(Debug)]
pub struct PutServer {
    address: SocketAddr,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl PutServer {
    /// Start it on a free port, with a certificate of this authority.
    ///
    /// # Errors
    /// When the certificate cannot be made or used, or there is no port.
    pub async fn start(authority: &Authority) -> io::Result<Self> {
        let issued = authority.issue("files").map_err(io::Error::other)?;
        let tls = authority.fsp(&issued);
        let config = tls.server_for_everybody().map_err(io::Error::other)?;
        let acceptor = TlsAcceptor::from(config);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let kept = bodies.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that does not believe the certificate ends the handshake.
                let Ok(stream) = acceptor.accept(stream).await else {
                    continue;
                };
                let kept = kept.clone();
                let service = service_fn(move |request| keep(kept.clone(), request));
                let connection = http1::Builder::new();
                let connection = connection.serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
        Ok(Self { address, bodies })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The bodies that were put, in their order.
    #[must_use]
    pub fn bodies(&self) -> Vec<String> {
        self.bodies.lock().clone()
    }
}

async fn keep(
    bodies: Arc<Mutex<Vec<String>>>,
    request: Request<Incoming>,
) -> Result<Response<Empty<Bytes>>, hyper::Error> {
    let is_put = request.method() == Method::PUT;
    let body = request.into_body().collect().await?.to_bytes();
    let mut response = Response::new(Empty::new());
    *response.status_mut() = if is_put {
        bodies
            .lock()
            .push(String::from_utf8_lossy(&body).into_owned());
        StatusCode::NO_CONTENT
    } else {
        StatusCode::METHOD_NOT_ALLOWED
    };
    Ok(response)
}
