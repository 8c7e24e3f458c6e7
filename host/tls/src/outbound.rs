//! TLS of outbound requests: whom destinations must be certified by, and the certificate that the host shows them. Also
//! the TLS of the command line towards its own host.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, WantsVerifier,
};

use crate::expiry::{self, Expiry};
use crate::files::{self, BadTls, ChangedFile, Digests, Snapshot};
use crate::listener::Protocol;
use crate::private_key::PrivateKey;

/// The protocol inside TLS (ALPN) of outbound requests.
const HTTP1: &[u8] = b"http/1.1";

/// The files for destinations.
#[derive(Clone, Debug, Default)]
pub struct OriginFiles {
    /// The certificates of the authority that destinations must be certified by, PEM. Without it, the system's
    /// authorities.
    pub ca: Option<PathBuf>,
    /// The host's own certificate with the intermediate ones, PEM, and its private key.
    pub identity: Option<(PathBuf, PrivateKey)>,
}

impl OriginFiles {
    fn all(&self) -> impl Iterator<Item = &Path> {
        let identity = self.identity.iter();
        let identity = identity.flat_map(|(certificate, key)| [&**certificate, key.file()]);
        self.ca.as_deref().into_iter().chain(identity)
    }

    fn config(&self, snapshot: &Snapshot) -> Result<ClientConfig, BadTls> {
        let roots = match &self.ca {
            Some(path) => snapshot.roots(path)?,
            None => system()?,
        };
        let builder = client(provider()).with_root_certificates(roots);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                builder.with_client_cert_resolver(key.certified(snapshot, certificate)?)
            }
        };
        config.alpn_protocols = vec![HTTP1.to_vec()];
        Ok(config)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// A client of TLS 1.2 and 1.3 that does not trust anybody yet.
fn client(provider: Arc<CryptoProvider>) -> ConfigBuilder<ClientConfig, WantsVerifier> {
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("aws-lc has the suites of TLS 1.2 and 1.3")
}

/// The system's authorities.
fn system() -> Result<RootCertStore, BadTls> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        let first = found.errors.first().map(ToString::to_string);
        let why = first.unwrap_or_else(|| "there are none".to_owned());
        return Err(BadTls::System(why));
    }
    Ok(roots)
}

/// The files for the destinations at one host.
#[derive(Clone, Debug)]
pub struct DestinationFiles {
    /// The host, in lower case; IPv6 addresses in brackets.
    pub host: String,
    /// The port; none for any.
    pub port: Option<u16>,
    /// The files.
    pub files: OriginFiles,
}

/// TLS of all outbound requests.
pub struct OutboundTls {
    usual: OriginFiles,
    destinations: Vec<DestinationFiles>,
    loaded: ArcSwap<Loaded>,
    /// Held while the files are read again, so that the newest ones stay.
    reading: Mutex<()>,
}

struct Loaded {
    /// How often the files were read before.
    generation: u64,
    /// Made for the first https request, because most hosts without files send none.
    usual: OnceLock<Arc<ClientConfig>>,
    /// In the order of `destinations`.
    destinations: Vec<Arc<ClientConfig>>,
    expiries: Vec<Expiry>,
    digests: Digests,
}

impl OutboundTls {
    /// Read the files: those for most destinations, and those for others.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn read(usual: OriginFiles, destinations: Vec<DestinationFiles>) -> Result<Self, BadTls> {
        let loaded = ArcSwap::from_pointee(Loaded::read(&usual, &destinations, 0)?);
        Ok(Self {
            usual,
            destinations,
            loaded,
            reading: Mutex::default(),
        })
    }

    /// How often new files have come into use. Connections from before were made with other authorities and certificates.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.loaded.load().generation
    }

    /// The configuration for a destination.
    ///
    /// # Errors
    /// When the system has no authorities, and none was named.
    pub fn config(&self, host: &str, port: u16) -> Result<Arc<ClientConfig>, BadTls> {
        let loaded = self.loaded.load();
        let of = |one: &DestinationFiles| {
            one.host.eq_ignore_ascii_case(host) && one.port.is_none_or(|its| its == port)
        };
        if let Some(index) = self.destinations.iter().position(of) {
            return Ok(loaded.destinations[index].clone());
        }
        if let Some(config) = loaded.usual.get() {
            return Ok(config.clone());
        }
        let config = Arc::new(self.usual.config(&Snapshot::default())?);
        Ok(loaded.usual.get_or_init(|| config).clone())
    }

    /// Does the handshake with a server at this address, whose certificate must be for its IP address, for this protocol.
    ///
    /// # Errors
    /// When the handshake or the connection fails, or there are no authorities.
    pub async fn connect<S>(
        &self,
        address: SocketAddr,
        stream: S,
        protocol: Protocol,
    ) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let config = self.config(&address.ip().to_string(), address.port());
        let mut config = (*config.map_err(io::Error::other)?).clone();
        config.alpn_protocols = vec![protocol.alpn().to_vec()];
        let name = ServerName::from(address.ip());
        TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
    }

    /// When the certificates expire.
    #[must_use]
    pub fn expiries(&self) -> Vec<Expiry> {
        self.loaded.load().expiries.clone()
    }

    /// Reads the files again when they change, until told to stop. New connections use the new ones. If they cannot be
    /// used, the old ones stay.
    pub async fn follow(
        self: Arc<Self>,
        stop: watch::Receiver<bool>,
        mut changed: impl FnMut(Result<Vec<ChangedFile>, BadTls>) + Send,
    ) {
        let all = self.usual.all();
        let all = all.chain(self.destinations.iter().flat_map(|one| one.files.all()));
        let all: Vec<PathBuf> = all.map(Into::into).collect();
        if all.is_empty() {
            return;
        }
        files::follow(all, stop, || changed(self.read_again())).await;
    }

    /// Whether the operator's document names files.
    #[must_use]
    pub fn has_files(&self) -> bool {
        let all = self.destinations.iter().flat_map(|one| one.files.all());
        self.usual.all().chain(all).next().is_some()
    }

    /// Reads the files again. Returns those that are other ones than before. Now they are in use.
    ///
    /// # Errors
    /// When they cannot be used. The old ones stay.
    pub fn read_again(&self) -> Result<Vec<ChangedFile>, BadTls> {
        let _one = self.reading.lock();
        let next = self.generation() + 1;
        match Loaded::read(&self.usual, &self.destinations, next) {
            Ok(loaded) => {
                let changed = files::changed(&self.loaded.load().digests, &loaded.digests);
                self.loaded.store(Arc::new(loaded));
                tracing::info!("the TLS files of outbound requests were read again");
                Ok(changed)
            }
            Err(error) => {
                tracing::error!(%error, "new TLS files of outbound requests cannot be used; the previous ones stay in use");
                Err(error)
            }
        }
    }
}

impl Loaded {
    fn read(
        usual: &OriginFiles,
        destinations: &[DestinationFiles],
        generation: u64,
    ) -> Result<Self, BadTls> {
        let (made, snapshot) = (OnceLock::new(), Snapshot::default());
        // Files that were named are read now, so that a mistake in them is seen at the start.
        if usual.all().next().is_some() {
            let config = Arc::new(usual.config(&snapshot)?);
            made.get_or_init(|| config);
        }
        let mut configs = Vec::with_capacity(destinations.len());
        let mut expiries = Vec::new();
        for destination in destinations {
            configs.push(Arc::new(destination.files.config(&snapshot)?));
        }
        let all = destinations.iter().map(|destination| &destination.files);
        for files in std::iter::once(usual).chain(all) {
            if let Some(path) = &files.ca {
                expiries.push(expiry::of_certificates(&snapshot, path, "authority")?);
            }
            if let Some((path, _)) = &files.identity {
                expiries.push(expiry::of_certificates(&snapshot, path, "certificate")?);
            }
        }
        Ok(Self {
            generation,
            usual: made,
            destinations: configs,
            expiries,
            digests: snapshot.digests(),
        })
    }
}

/// The configuration for a client that takes exactly one certificate, whatever its names and its authority: that of a
/// host on the same machine.
///
/// # Errors
/// When the certificate cannot be read.
pub fn pinned(certificate: &Path) -> Result<ClientConfig, BadTls> {
    let own = Snapshot::default();
    let own = own.certificates(certificate)?.swap_remove(0);
    let provider = provider();
    let verifier = Pinned {
        own,
        provider: provider.clone(),
    };
    let builder = client(provider)
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![HTTP1.to_vec()];
    Ok(config)
}

/// The configuration for a client that takes no certificate.
#[must_use]
pub fn nobody() -> ClientConfig {
    client(provider())
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth()
}

/// Takes one certificate. The server still proves that it has its key.
#[derive(Debug)]
struct Pinned {
    own: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *end_entity == self.own {
            Ok(ServerCertVerified::assertion())
        } else {
            let another = CertificateError::ApplicationVerificationFailure;
            Err(Error::InvalidCertificate(another))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
