//! When certificates and revocation lists expire.

use std::path::{Path, PathBuf};

use tokio_rustls::rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use x509_parser::prelude::{CertificateRevocationList, FromDer as _, X509Certificate};

use crate::files::{BadTls, ListenerFiles, Snapshot};

/// When what a file holds expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The file.
    pub file: PathBuf,
    /// What is in it: `certificate`, `authority`, `authority-of-one` or `revocations`.
    pub kind: &'static str,
    /// The earliest expiry of a certificate in it, or when a revocation list in it should have been replaced: UTC,
    /// seconds since 1970. May be in the past.
    pub at: i64,
}

/// The expiry of the certificates in a file.
pub(crate) fn of_certificates(
    snapshot: &Snapshot,
    path: &Path,
    kind: &'static str,
) -> Result<Expiry, BadTls> {
    let certificates = snapshot.certificates(path)?;
    earliest(
        (path, kind),
        "certificate",
        certificates.iter(),
        certificate,
    )
}

/// The expiries of a listener's files, the private key left out.
pub(crate) fn of_listener(
    snapshot: &Snapshot,
    files: &ListenerFiles,
) -> Result<Vec<Expiry>, BadTls> {
    let mut expiries = vec![of_certificates(
        snapshot,
        &files.certificate,
        "certificate",
    )?];
    let any = files.clients.iter().map(|files| (files, "authority"));
    let one = files.clients_of.values();
    for (authority, kind) in any.chain(one.map(|files| (files, "authority-of-one"))) {
        expiries.push(of_certificates(snapshot, &authority.certificates, kind)?);
        if let Some(path) = &authority.revocations {
            let lists = snapshot.revocations(path)?;
            let place = (&**path, "revocations");
            expiries.push(earliest(
                place,
                "revocation list",
                lists.iter(),
                revocations,
            )?);
        }
    }
    Ok(expiries)
}

fn earliest<'a, T: 'a>(
    (path, kind): (&Path, &'static str),
    what: &'static str,
    items: impl Iterator<Item = &'a T>,
    at: impl Fn(&T) -> Result<i64, String>,
) -> Result<Expiry, BadTls> {
    let mut earliest = i64::MAX;
    for item in items {
        let at = at(item).map_err(|why| BadTls::Malformed(path.to_owned(), what, why))?;
        earliest = earliest.min(at);
    }
    Ok(Expiry {
        file: path.to_owned(),
        kind,
        at: earliest,
    })
}

fn certificate(certificate: &CertificateDer<'_>) -> Result<i64, String> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|e| e.to_string())?;
    Ok(parsed.validity().not_after.timestamp())
}

fn revocations(list: &CertificateRevocationListDer<'_>) -> Result<i64, String> {
    let (_, parsed) = CertificateRevocationList::from_der(list).map_err(|e| e.to_string())?;
    let next = parsed.next_update();
    Ok(next.map_or(i64::MAX, |next| next.timestamp()))
}
