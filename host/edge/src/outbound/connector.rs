//! Connections to destinations: TCP, and TLS for https.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rialto_tls::OutboundTls;
use tokio::net::TcpStream;
use tower_service::Service;

use super::resolver::Resolver;

type BoxError = Box<dyn Error + Send + Sync>;

/// Connects to a URI's origin.
#[derive(Clone)]
pub(super) struct Connector {
    tcp: HttpConnector<Resolver>,
    tls: Arc<OutboundTls>,
}

impl Connector {
    /// A connector whose connections must be there within `timeout`.
    pub fn new(resolver: Resolver, tls: Arc<OutboundTls>, timeout: Duration) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(resolver);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(timeout));
        tcp.enforce_http(false);
        Self { tcp, tls }
    }

    /// How often files of TLS have changed.
    pub fn generation(&self) -> u64 {
        self.tls.generation()
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        if uri.scheme_str() != Some("https") {
            let connecting = self.tcp.call(uri);
            return Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) });
        }
        let port = uri.port_u16().unwrap_or(443);
        let config = self.tls.config(uri.host().unwrap_or_default(), port);
        match config {
            Ok(config) => Box::pin(HttpsConnector::from((self.tcp.clone(), config)).call(uri)),
            Err(error) => Box::pin(std::future::ready(Err(error.into()))),
        }
    }
}
