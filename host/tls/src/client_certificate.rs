//! The certificate of a connection's client, and what it proves. A connection may live longer than its client's
//! certificate: whether it still proves anything is looked at again for each request.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio_rustls::rustls::pki_types::CertificateDer;

use crate::listener::ListenerTls;

/// Whom a certificate proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The subject's common name: printable ASCII.
    pub name: Arc<str>,
    /// The certificate's serial number: hexadecimal digits in lower case, two for each byte. Issuers sign it, so the owner
    /// of a certificate cannot make one with another number of it. The owner can change the thumbprint: an ECDSA
    /// signature has a second form.
    pub serial: Arc<str>,
    /// When it expires: UTC, seconds since 1970.
    pub not_after: u64,
}

/// Why a client certificate proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The client showed none.
    #[error("the client has shown no certificate")]
    None,
    /// It has expired or is not valid yet.
    #[error("the client certificate has expired, or is not valid yet")]
    Expired,
    /// It is revoked.
    #[error("the client certificate is revoked")]
    Revoked,
    /// No authority that may issue certificates in its name has issued it.
    #[error("the client certificate was not issued by an authority for its name")]
    Untrusted,
    /// It has no common name, several, or one that is no name.
    #[error("the client certificate's subject does not have exactly one common name")]
    Nameless,
}

/// The certificate of a connection's client.
pub struct ClientCertificate {
    tls: Arc<ListenerTls>,
    chain: Vec<CertificateDer<'static>>,
    /// The SHA-256 of the client's own certificate; none if the chain is empty.
    thumbprint: Option<[u8; 32]>,
    /// The outcome of the last look, and the generation of the files then.
    seen: Mutex<Option<(u64, Result<Identity, Unproven>)>>,
}

impl ClientCertificate {
    pub(crate) fn new(tls: Arc<ListenerTls>, chain: Vec<CertificateDer<'static>>) -> Self {
        let own = chain.first();
        Self {
            tls,
            thumbprint: own.map(|own| Sha256::digest(own).into()),
            chain,
            seen: Mutex::new(None),
        }
    }

    /// The certificates that the client has shown, as DER: its own first.
    #[must_use]
    pub fn chain(&self) -> Vec<Vec<u8>> {
        self.chain.iter().map(|one| one.to_vec()).collect()
    }

    /// The SHA-256 of the certificate's DER, as in RFC 8705. It is computed once for a connection. It proves nothing:
    /// ask [`ClientCertificate::identity`] first.
    #[must_use]
    pub const fn thumbprint(&self) -> Option<&[u8; 32]> {
        self.thumbprint.as_ref()
    }

    /// Whom the certificate proves now. After a change of the listener's files, such as a new revocation list, it is
    /// verified again.
    ///
    /// # Errors
    /// Why it proves nobody.
    pub fn identity(&self) -> Result<Identity, Unproven> {
        let generation = self.tls.generation();
        let mut seen = self.seen.lock();
        let outcome = match &*seen {
            Some((then, outcome)) if *then == generation => outcome.clone(),
            _ => {
                let outcome = self.tls.identity(&self.chain);
                *seen = Some((generation, outcome.clone()));
                outcome
            }
        };
        outcome.and_then(|identity| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.map_or(0, |since| since.as_secs());
            if now > identity.not_after {
                return Err(Unproven::Expired);
            }
            Ok(identity)
        })
    }
}
