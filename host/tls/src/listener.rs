//! TLS of a listener.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

use crate::authorities::Authorities;
use crate::client_certificate::{ClientCertificate, Identity, Unproven};
use crate::expiry::{self, Expiry};
use crate::files::{self, BadTls, ChangedFile, Digests, ListenerFiles, Snapshot};

/// The protocol inside TLS (ALPN).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1
    Http1,
    /// HTTP/2
    Http2,
}

impl Protocol {
    pub(crate) const fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http1 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }
}

/// Whether clients must show a certificate, where the listener has an authority for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientCertificates {
    /// Without one there is no connection.
    Required,
    /// Without one there is no identity; whoever reads requests decides what that means.
    Optional,
}

/// See the module's documentation.
pub struct ListenerTls {
    files: ListenerFiles,
    protocol: Protocol,
    clients: ClientCertificates,
    loaded: ArcSwap<Loaded>,
    /// Held while the files are read again, so that the newest ones stay.
    reading: Mutex<()>,
}

struct Loaded {
    /// How often the files were read before.
    generation: u64,
    config: Arc<ServerConfig>,
    authorities: Option<Authorities>,
    expiries: Vec<Expiry>,
    digests: Digests,
}

impl ListenerTls {
    /// Read the files.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn read(
        files: ListenerFiles,
        protocol: Protocol,
        clients: ClientCertificates,
    ) -> Result<Self, BadTls> {
        let loaded = ArcSwap::from_pointee(Loaded::read(&files, protocol, clients, 0)?);
        Ok(Self {
            files,
            protocol,
            clients,
            loaded,
            reading: Mutex::default(),
        })
    }

    /// Does the handshake with a client. Also returns the client's certificate if it has shown one.
    ///
    /// # Errors
    /// When the handshake or the connection fails.
    pub async fn accept<S>(
        self: &Arc<Self>,
        stream: S,
    ) -> io::Result<(TlsStream<S>, Option<ClientCertificate>)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let config = self.loaded.load().config.clone();
        let stream = TlsAcceptor::from(config).accept(stream).await?;
        let chain = stream.get_ref().1.peer_certificates();
        let chain = chain.map(|chain| chain.iter().map(|c| c.clone().into_owned()).collect());
        let certificate = chain.map(|chain| ClientCertificate::new(self.clone(), chain));
        Ok((stream, certificate))
    }

    /// Whether a client may connect without a certificate of one of its authorities.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.clients == ClientCertificates::Optional || self.loaded.load().authorities.is_none()
    }

    /// The certificate of a client whose handshake another host has done, with the same files: DER, its own first. Whom it
    /// proves is verified here. That the client has its key was verified there.
    #[must_use]
    pub fn client_certificate(self: &Arc<Self>, chain: Vec<Vec<u8>>) -> ClientCertificate {
        let chain = chain.into_iter().map(CertificateDer::from).collect();
        ClientCertificate::new(self.clone(), chain)
    }

    /// Reads the files again when they change, until told to stop. If new files cannot be used, the old ones stay.
    /// `changed` is told after each change what [`Self::read_again`] says.
    pub async fn follow(
        self: Arc<Self>,
        stop: watch::Receiver<bool>,
        mut changed: impl FnMut(Result<Vec<ChangedFile>, BadTls>) + Send,
    ) {
        let files: Vec<PathBuf> = self.files.all().into_iter().map(Into::into).collect();
        files::follow(files, stop, || changed(self.read_again())).await;
    }

    /// Reads the files again. Returns those that are other ones than before. Now they are in use.
    ///
    /// # Errors
    /// When they cannot be used. The old ones stay.
    pub fn read_again(&self) -> Result<Vec<ChangedFile>, BadTls> {
        let _one = self.reading.lock();
        let next = self.generation() + 1;
        match Loaded::read(&self.files, self.protocol, self.clients, next) {
            Ok(loaded) => {
                let changed = files::changed(&self.loaded.load().digests, &loaded.digests);
                self.loaded.store(Arc::new(loaded));
                tracing::info!(certificate = %self.files.certificate.display(), "a listener's TLS files were read again");
                Ok(changed)
            }
            Err(error) => {
                tracing::error!(%error, "a listener's new TLS files cannot be used; the previous ones stay in use");
                Err(error)
            }
        }
    }

    /// When the listener's certificates and revocation lists expire.
    #[must_use]
    pub fn expiries(&self) -> Vec<Expiry> {
        self.loaded.load().expiries.clone()
    }

    /// The files.
    #[must_use]
    pub fn files(&self) -> &ListenerFiles {
        &self.files
    }

    /// How often new files have come into use. Connections from before were accepted by other authorities.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.loaded.load().generation
    }

    pub(crate) fn identity(&self, chain: &[CertificateDer<'static>]) -> Result<Identity, Unproven> {
        match &self.loaded.load().authorities {
            Some(authorities) => authorities.identity(chain),
            None => Err(Unproven::Untrusted),
        }
    }
}

/// Why a client's certificate was refused in a handshake, in words; none if the handshake has failed otherwise.
#[must_use]
pub fn refused_certificate(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    let is_about_it = matches!(
        error,
        rustls::Error::InvalidCertificate(_)
            | rustls::Error::InvalidCertRevocationList(_)
            | rustls::Error::NoCertificatesPresented
    );
    is_about_it.then(|| error.to_string())
}

impl Loaded {
    fn read(
        files: &ListenerFiles,
        protocol: Protocol,
        clients: ClientCertificates,
        generation: u64,
    ) -> Result<Self, BadTls> {
        let snapshot = Snapshot::default();
        let certified = files.key.certified(&snapshot, &files.certificate)?;
        let expiries = expiry::of_listener(&snapshot, files)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let required = clients == ClientCertificates::Required;
        let authorities = Authorities::read(files, &snapshot, &provider, required)?;
        let pair = |error| BadTls::pair(&files.certificate, &files.key, error);
        let builder = ServerConfig::builder_with_provider(provider);
        let builder = builder
            .with_safe_default_protocol_versions()
            .map_err(pair)?;
        let builder = match &authorities {
            None => builder.with_no_client_auth(),
            Some(authorities) => builder.with_client_cert_verifier(authorities.handshake.clone()),
        };
        let mut config = builder.with_cert_resolver(certified);
        config.alpn_protocols = vec![protocol.alpn().to_vec()];
        Ok(Self {
            generation,
            config: Arc::new(config),
            authorities,
            expiries,
            digests: snapshot.digests(),
        })
    }
}
