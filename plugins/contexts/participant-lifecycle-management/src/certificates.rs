//! Certificates that were issued to participants.

use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

/// Certificates by participant and time.
pub const CERTIFICATES: Collection<Certificate> = Collection::new("certificates");

/// A document of the collection `certificates`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Certificate {
    /// Its serial number in hexadecimal digits.
    pub serial: String,
    /// PEM.
    pub certificate: String,
    /// When it expires; UTC, milliseconds since 1970.
    pub not_after: u64,
    /// The kind of its key.
    pub key: String,
    /// The SHA-256 of its SubjectPublicKeyInfo.
    pub fingerprint: String,
    /// When it was issued; UTC, milliseconds since 1970.
    pub issued_at: u64,
    /// The request for it.
    pub request: String,
}

/// The id of a certificate.
#[must_use]
pub fn id(participant: &str, certificate: &Certificate) -> String {
    let Certificate {
        issued_at, serial, ..
    } = certificate;
    format!("{participant}/{issued_at:013}/{serial}")
}
