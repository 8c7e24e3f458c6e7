//! A connection with a token.

use std::time::Duration;

use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

/// The transport of the generated clients.
pub type Connection = InterceptedService<Channel, Caller>;

/// Shows a token with each call, if there is one.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    token: Option<MetadataValue<Ascii>>,
    timeout: Option<Duration>,
}

impl Caller {
    /// A client without a token.
    #[must_use]
    pub fn nobody() -> Self {
        Self::default()
    }

    /// A client with this token.
    ///
    /// # Panics
    /// When it cannot be in a header: the test is wrong.
    #[must_use]
    pub fn with_token(token: &str) -> Self {
        let value = format!("Bearer {token}").parse();
        Self {
            token: Some(value.expect("the token may be in a header")),
            timeout: None,
        }
    }

    /// Waiting no longer than this for each call, and saying so.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }
}

impl Interceptor for Caller {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = &self.token {
            request
                .metadata_mut()
                .insert("authorization", token.clone());
        }
        if let Some(timeout) = self.timeout {
            request.set_timeout(timeout);
        }
        Ok(request)
    }
}

/// A client's TLS certificate.
#[derive(Clone, Debug)]
pub struct Trust {
    /// The authority of the server's certificate, PEM.
    pub authority: String,
    /// The name that the server's certificate must have.
    pub name: String,
    /// The client's own certificate and key, PEM.
    pub identity: Option<(String, String)>,
}

/// Connect to `http://…`, or with trust to `https://…`.
///
/// # Errors
/// If there is no answer, or not the expected one.
pub async fn connect(
    url: &str,
    caller: Caller,
    trust: Option<&Trust>,
) -> Result<Connection, tonic::transport::Error> {
    let mut endpoint = Endpoint::from_shared(url.to_owned())?;
    if let Some(trust) = trust {
        let mut tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&trust.authority))
            .domain_name(&trust.name);
        if let Some((certificate, key)) = &trust.identity {
            tls = tls.identity(Identity::from_pem(certificate, key));
        }
        endpoint = endpoint.tls_config(tls)?;
    }
    let channel = endpoint.connect().await?;
    Ok(InterceptedService::new(channel, caller))
}

/// Call a method by its path, with messages of one's own.
///
/// # Errors
/// The server's error.
pub async fn unary<Q, A>(
    connection: Connection,
    path: &'static str,
    request: Request<Q>,
) -> Result<A, Status>
where
    Q: prost::Message + 'static,
    A: prost::Message + Default + 'static,
{
    let mut grpc = tonic::client::Grpc::new(connection);
    let ready = grpc.ready().await;
    ready.map_err(|error| Status::unavailable(format!("not connected: {error}")))?;
    let path = http::uri::PathAndQuery::from_static(path);
    let codec = tonic_prost::ProstCodec::<Q, A>::default();
    Ok(grpc.unary(request, path, codec).await?.into_inner())
}
