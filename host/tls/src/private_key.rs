//! Where the private key of a certificate is: in a file, or at a provider that signs with it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use tokio_rustls::rustls::{Error, InconsistentKeys};

use crate::files::{self, BadTls, Snapshot};
use crate::remote::{RemoteKey, RemoteSigner};

/// A private key.
#[derive(Clone, Debug)]
pub enum PrivateKey {
    /// In a file, PEM. Nobody but the host's user may be able to read it.
    File(PathBuf),
    /// At a provider, by a reference in a file.
    Provider(Arc<dyn KeyReference>),
}

/// A file with the reference of a key at a provider.
pub trait KeyReference: fmt::Debug + Send + Sync {
    /// The file. It may change, and is followed like a file with a key.
    fn file(&self) -> &Path;

    /// Read the file and open the key. It asks the provider nothing, which may be away.
    ///
    /// # Errors
    /// When the file cannot be read, or has no reference of such a key.
    fn open(&self) -> Result<Arc<dyn RemoteKey>, BadReference>;
}

/// Why a reference opens no key: what is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadReference(pub String);

impl From<PathBuf> for PrivateKey {
    fn from(file: PathBuf) -> Self {
        Self::File(file)
    }
}

impl PrivateKey {
    /// The file of the key or of its reference.
    #[must_use]
    pub fn file(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Provider(reference) => reference.file(),
        }
    }

    /// The key with its certificate in a file, and the intermediate ones. They belong together.
    pub(crate) fn certified(
        &self,
        snapshot: &Snapshot,
        certificate: &Path,
    ) -> Result<Arc<SingleCertAndKey>, BadTls> {
        // The key first: whoever sets a host up makes it before its certificate.
        let key = self.signing_key(certificate)?;
        let chain = snapshot.certificates(certificate)?;
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            // As rustls does it: a library that cannot tell is no error.
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {
                Ok(Arc::new(certified.into()))
            }
            Err(error) => Err(BadTls::pair(certificate, self, error)),
        }
    }

    fn signing_key(&self, certificate: &Path) -> Result<Arc<dyn SigningKey>, BadTls> {
        match self {
            Self::File(path) => {
                let key = files::private_key(path)?;
                let loaded = aws_lc_rs::default_provider()
                    .key_provider
                    .load_private_key(key);
                loaded.map_err(|error| BadTls::pair(certificate, self, error))
            }
            Self::Provider(reference) => {
                let signer = reference.open();
                let signer = signer.and_then(|key| RemoteSigner::new(key, certificate));
                let bad = |error| BadTls::Reference(reference.file().to_owned(), error);
                Ok(Arc::new(signer.map_err(bad)?))
            }
        }
    }
}

impl BadTls {
    /// The certificate and the key do not belong together.
    pub(crate) fn pair(certificate: &Path, key: &PrivateKey, error: Error) -> Self {
        let (certificate, file) = (certificate.to_owned(), key.file().to_owned());
        match (key, error) {
            (PrivateKey::Provider(_), Error::InconsistentKeys(_)) => {
                Self::OtherKey(certificate, file)
            }
            (_, error) => Self::Pair(certificate, file, error),
        }
    }
}
