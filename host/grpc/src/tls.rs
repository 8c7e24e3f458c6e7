//! TLS by the operator's files. They are read again when they change, so that certificates can be renewed while the
//! host runs. With a client authority, only clients with one of its certificates can connect.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use tokio_rustls::rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

/// The time between two looks for changed files.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Permissions of the group and of all others.
const OTHERS: u32 = 0o077;
/// The protocol inside TLS (ALPN).
const HTTP2: &[u8] = b"h2";

/// The files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The listener's certificate with the intermediate ones, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM. Nobody but the host's user may be able to read it.
    pub key: PathBuf,
    /// Certificates of the authority that issues the clients' certificates, PEM.
    pub client_ca: Option<PathBuf>,
}

/// Why files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadTls {
    /// A file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, #[source] io::Error),
    /// A file is not valid PEM.
    #[error("{0} does not hold {1}: {2}")]
    Pem(PathBuf, &'static str, #[source] pem::Error),
    /// A file has no item of the expected kind.
    #[error("{0} holds no certificate")]
    Empty(PathBuf),
    /// Others can read the private key.
    #[error(
        "the private key {0} is open to others (mode {1:o}); `chmod 600 {0}`, and think of a new key if others have been there"
    )]
    Open(PathBuf, u32),
    /// The certificate and the key do not belong together, or are of an unknown kind.
    #[error("the certificate {0} cannot be used with the key {1}: {2}")]
    Pair(PathBuf, PathBuf, #[source] rustls::Error),
    /// The authority cannot be used.
    #[error("the client authority {0} cannot be used: {1}")]
    Authority(PathBuf, String),
}

/// See the module's documentation.
pub struct Tls {
    files: Files,
    config: ArcSwap<ServerConfig>,
}

impl Tls {
    /// Read the files.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn read(files: Files) -> Result<Self, BadTls> {
        let config = ArcSwap::from_pointee(config(&files)?);
        Ok(Self { files, config })
    }

    /// Does the handshake with a client.
    ///
    /// # Errors
    /// When the handshake or the connection fails.
    pub async fn accept<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        TlsAcceptor::from(self.config.load_full())
            .accept(stream)
            .await
    }

    /// Looks at the files regularly until told to stop. If new files cannot be used, the old ones stay.
    pub async fn follow(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut due = tokio::time::interval(LOOK_EVERY);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut seen = stamps(&self.files);
        loop {
            tokio::select! {
                _ = due.tick() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            let now = stamps(&self.files);
            if now == seen {
                continue;
            }
            seen = now;
            match config(&self.files) {
                Ok(config) => {
                    self.config.store(Arc::new(config));
                    tracing::info!(certificate = %self.files.certificate.display(), "a listener's certificate was read again");
                }
                Err(error) => {
                    tracing::error!(%error, "a listener's new certificate cannot be used; the previous one stays in use");
                }
            }
        }
    }
}

/// The times and lengths of the files, which change when they are written.
fn stamps(files: &Files) -> Vec<Option<(SystemTime, u64)>> {
    let paths = [
        Some(&files.certificate),
        Some(&files.key),
        files.client_ca.as_ref(),
    ];
    let stamps = paths.into_iter().flatten().map(|path| {
        let found = fs::metadata(path).ok()?;
        Some((found.modified().ok()?, found.len()))
    });
    stamps.collect()
}

fn config(files: &Files) -> Result<ServerConfig, BadTls> {
    let certificates = certificates(&files.certificate)?;
    let key = private(&files.key)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let pair = |error| BadTls::Pair(files.certificate.clone(), files.key.clone(), error);
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder
        .with_safe_default_protocol_versions()
        .map_err(pair)?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let wrong = |why: String| BadTls::Authority(path.clone(), why);
            let mut roots = RootCertStore::empty();
            for certificate in self::certificates(path)? {
                roots
                    .add(certificate)
                    .map_err(|error| wrong(error.to_string()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            let verifier = verifier
                .build()
                .map_err(|error: VerifierBuilderError| wrong(error.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(certificates, key).map_err(pair)?;
    config.alpn_protocols = vec![HTTP2.to_vec()];
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, BadTls> {
    let text = read(path)?;
    let read = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    match read {
        Ok(none) if none.is_empty() => Err(BadTls::Empty(path.to_owned())),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(BadTls::Pem(path.to_owned(), "certificates", error)),
    }
}

/// The private key in a file that nobody else can read.
fn private(path: &Path) -> Result<PrivateKeyDer<'static>, BadTls> {
    let found = fs::metadata(path).map_err(|error| BadTls::Read(path.to_owned(), error))?;
    let mode = found.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(BadTls::Open(path.to_owned(), mode));
    }
    let key = PrivateKeyDer::from_pem_slice(&read(path)?);
    key.map_err(|error| BadTls::Pem(path.to_owned(), "a private key", error))
}

fn read(path: &Path) -> Result<Vec<u8>, BadTls> {
    fs::read(path).map_err(|error| BadTls::Read(path.to_owned(), error))
}
