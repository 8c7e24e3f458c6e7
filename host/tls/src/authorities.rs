//! The authorities that issue clients' certificates: one for any name, others for one name each. An authority that
//! belongs to one participant must not make certificates in the name of another.

use std::collections::BTreeMap;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{CertificateError, Error, RootCertStore};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::client_certificate::{Identity, Unproven};
use crate::files::{AuthorityFiles, BadTls, ListenerFiles, Snapshot};

/// No revocation list tells of the certificate.
const UNLISTED: Error = Error::InvalidCertificate(CertificateError::UnknownRevocationStatus);

/// The verifiers of clients' certificates.
#[derive(Debug)]
pub(crate) struct Authorities {
    /// Any of the authorities: for the handshake.
    pub handshake: Arc<dyn ClientCertVerifier>,
    any_name: Option<Arc<dyn ClientCertVerifier>>,
    /// The host's own authority, if it is among those for any name.
    own: Option<Arc<dyn ClientCertVerifier>>,
    one_name: BTreeMap<String, Arc<dyn ClientCertVerifier>>,
}

/// An authority's certificates and revocation lists.
struct Authority {
    roots: RootCertStore,
    revocations: Vec<CertificateRevocationListDer<'static>>,
}

impl Authority {
    fn read(files: &AuthorityFiles, snapshot: &Snapshot) -> Result<Self, BadTls> {
        let revocations = files.revocations.as_deref();
        let revocations = revocations.map(|path| snapshot.revocations(path));
        Ok(Self {
            roots: snapshot.roots(&files.certificates)?,
            revocations: revocations.transpose()?.unwrap_or_default(),
        })
    }

    fn verifier(
        &self,
        files: &AuthorityFiles,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, BadTls> {
        let roots = Arc::new(self.roots.clone());
        let builder = WebPkiClientVerifier::builder_with_provider(roots, provider.clone());
        let built = builder.with_crls(self.revocations.iter().cloned()).build();
        built.map_err(|error| BadTls::Authority(files.certificates.clone(), error.to_string()))
    }
}

impl Authorities {
    /// Read the authorities of a listener; none if it has none.
    pub fn read(
        files: &ListenerFiles,
        snapshot: &Snapshot,
        provider: &Arc<CryptoProvider>,
        required: bool,
    ) -> Result<Option<Self>, BadTls> {
        let mut roots = RootCertStore::empty();
        let mut revocations = Vec::new();
        let mut read = |files: &AuthorityFiles| {
            let authority = Authority::read(files, snapshot)?;
            let verifier = authority.verifier(files, provider)?;
            roots.extend(authority.roots.roots);
            revocations.extend(authority.revocations);
            Ok::<_, BadTls>(verifier)
        };
        let any_name = files.clients.as_ref().map(&mut read).transpose()?;
        let own = own(files, snapshot, provider)?;
        let mut one_name = BTreeMap::new();
        for (name, files) in &files.clients_of {
            one_name.insert(name.clone(), read(files)?);
        }
        let all = files.clients.iter().chain(files.clients_of.values());
        let Some(first) = all.map(|files| &files.certificates).next() else {
            return Ok(None);
        };
        let builder = WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone());
        // Authorities without revocation lists stand beside others that have some. What the handshake lets through,
        // `identity` verifies against its own authority.
        let mut builder = builder
            .with_crls(revocations)
            .allow_unknown_revocation_status();
        if !required {
            builder = builder.allow_unauthenticated();
        }
        let handshake = builder.build();
        let handshake =
            handshake.map_err(|error| BadTls::Authority(first.clone(), error.to_string()))?;
        Ok(Some(Self {
            handshake,
            any_name,
            own,
            one_name,
        }))
    }

    /// The identity that a chain of certificates proves now. The first one is the client's own.
    pub fn identity(&self, chain: &[CertificateDer<'static>]) -> Result<Identity, Unproven> {
        let (own, intermediates) = chain.split_first().ok_or(Unproven::None)?;
        let identity = Identity::read(own)?;
        let now = UnixTime::now();
        let verified = |verifier: &Arc<dyn ClientCertVerifier>| {
            verifier.verify_client_cert(own, intermediates, now)
        };
        let any = self.any_name.as_ref().map(&verified);
        if matches!(any, Some(Ok(_))) {
            return Ok(identity);
        }
        // The host's own authority has no revocation list: whoever keeps its certificates tells which are revoked.
        let is_unlisted = matches!(&any, Some(Err(error)) if *error == UNLISTED);
        if is_unlisted && matches!(self.own.as_ref().map(&verified), Some(Ok(_))) {
            return Ok(identity);
        }
        match (self.one_name.get(&*identity.name).map(verified), any) {
            (Some(Ok(_)), _) => Ok(identity),
            (Some(Err(error)), _) | (None, Some(Err(error))) => Err(unproven(&error)),
            (None, None | Some(Ok(_))) => Err(Unproven::Untrusted),
        }
    }
}

/// A verifier for certificates of the host's own authority, if the listener trusts it.
fn own(
    files: &ListenerFiles,
    snapshot: &Snapshot,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>, BadTls> {
    let (Some(clients), Some(own)) = (&files.clients, &files.own_authority) else {
        return Ok(None);
    };
    // The host makes it at its first start. No listener trusts it before.
    if !own.exists() {
        return Ok(None);
    }
    let trusted = snapshot.roots(&clients.certificates)?.roots;
    let mut own = snapshot.roots(own)?;
    own.roots.retain(|root| trusted.contains(root));
    if own.is_empty() {
        return Ok(None);
    }
    let authority = Authority {
        roots: own,
        revocations: Vec::new(),
    };
    authority.verifier(clients, provider).map(Some)
}

fn unproven(error: &Error) -> Unproven {
    match error {
        Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => Unproven::Expired,
        Error::InvalidCertificate(CertificateError::Revoked) => Unproven::Revoked,
        _ => Unproven::Untrusted,
    }
}

impl Identity {
    /// What a certificate says of its owner, without looking at who says so. The name is the subject's one common
    /// name.
    fn read(certificate: &CertificateDer<'_>) -> Result<Self, Unproven> {
        let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| Unproven::Nameless)?;
        let mut names = parsed.subject().iter_common_name();
        let (Some(name), None) = (names.next(), names.next()) else {
            return Err(Unproven::Nameless);
        };
        let name = name.as_str().map_err(|_| Unproven::Nameless)?;
        let plain = name.chars().all(|c| c.is_ascii_graphic());
        if name.is_empty() || !plain {
            return Err(Unproven::Nameless);
        }
        let not_after = u64::try_from(parsed.validity().not_after.timestamp());
        Ok(Self {
            name: name.into(),
            serial: HEXLOWER.encode(parsed.raw_serial()).into(),
            not_after: not_after.map_err(|_| Unproven::Expired)?,
        })
    }
}
