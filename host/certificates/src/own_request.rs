//! Requests for certificates (PKCS #10) that the host makes for its own keys. Its private keys are somewhere else, so the
//! bytes to be signed are given out, and the signature is put in later.

use std::cell::RefCell;
use std::net::IpAddr;

use rcgen::string::Ia5String;
use rcgen::{
    CertificateParams, CertificateSigningRequest, DistinguishedName, DnType, Error,
    ExtendedKeyUsagePurpose, KeyUsagePurpose, SanType, SubjectPublicKeyInfo,
};

use crate::authority::NAME_CHARACTERS_MAX;
use crate::draft::{BadSignature, Signer};
use crate::ecdsa;
use crate::request::Request;

/// The most names of a request.
pub const NAMES_MAX: usize = 20;
/// The longest DNS name, and the longest part of one, in characters (RFC 1035, 2.3.4).
const DNS_CHARACTERS_MAX: usize = 253;
const LABEL_CHARACTERS_MAX: usize = 63;

/// Why a request has no certificate's names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// There are none, or too many.
    #[error("a request has 1 to {NAMES_MAX} names")]
    Number,
    /// One is neither of a host nor an address.
    #[error("`{0}` is neither a DNS name, such as `hub.example`, nor an IP address")]
    Malformed(String),
    /// The key is none that can be certified.
    #[error("the public key is of a kind that cannot be certified")]
    Key,
}

/// What a certificate is for. At least one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Its owner serves with it.
    pub server: bool,
    /// Its owner shows it to servers.
    pub client: bool,
}

/// A request without its signature.
#[derive(Debug)]
pub struct OwnRequest {
    params: CertificateParams,
    key: SubjectPublicKeyInfo,
    message: Vec<u8>,
}

impl OwnRequest {
    /// A request for a certificate of this public key (SubjectPublicKeyInfo, DER) with these DNS names and IP addresses.
    /// The first one is the common name too, unless it is too long for that.
    ///
    /// # Errors
    /// When a name is none, or the key cannot be certified.
    pub fn new(public_key: &[u8], names: &[String], uses: Uses) -> Result<Self, BadName> {
        let params = params(names, uses)?;
        let key = SubjectPublicKeyInfo::from_der(public_key).map_err(|_| BadName::Key)?;
        let mut request = Self {
            params,
            key,
            message: Vec::new(),
        };
        let (_, message) = request.with(&[]).map_err(|_| BadName::Key)?;
        request.message = message;
        Ok(request)
    }

    /// Look whether these are names that a request can have.
    ///
    /// # Errors
    /// When one is none.
    pub fn check(names: &[String]) -> Result<(), BadName> {
        params(names, Uses::default()).map(drop)
    }

    /// The bytes to be signed by the private key.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The request as PEM, with its signature: of ECDSA two numbers of a fixed length, one after the other.
    ///
    /// # Errors
    /// When the signature is not one of the key.
    pub fn signed(&self, signature: &[u8]) -> Result<String, BadSignature> {
        let signature = ecdsa::der(signature).ok_or(BadSignature)?;
        let (request, message) = self.with(&signature).map_err(|_| BadSignature)?;
        let text = request.pem().map_err(|_| BadSignature)?;
        // Reading verifies the signature.
        if message != self.message || Request::read(&text).is_err() {
            return Err(BadSignature);
        }
        Ok(text)
    }

    fn with(&self, signature: &[u8]) -> Result<(CertificateSigningRequest, Vec<u8>), Error> {
        let message = RefCell::default();
        let signer = Signer {
            key: &self.key,
            signature,
            message: &message,
        };
        let request = self.params.serialize_request(&signer)?;
        Ok((request, message.into_inner()))
    }
}

fn params(names: &[String], uses: Uses) -> Result<CertificateParams, BadName> {
    if !(1..=NAMES_MAX).contains(&names.len()) {
        return Err(BadName::Number);
    }
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    if let Some(first) = names
        .first()
        .filter(|first| first.len() <= NAME_CHARACTERS_MAX)
    {
        params
            .distinguished_name
            .push(DnType::CommonName, first.as_str());
    }
    for name in names {
        params.subject_alt_names.push(alternative(name)?);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    let wanted = [
        (uses.server, ExtendedKeyUsagePurpose::ServerAuth),
        (uses.client, ExtendedKeyUsagePurpose::ClientAuth),
    ];
    let wanted = wanted.into_iter().filter(|(is_wanted, _)| *is_wanted);
    params.extended_key_usages = wanted.map(|(_, purpose)| purpose).collect();
    Ok(params)
}

fn alternative(name: &str) -> Result<SanType, BadName> {
    let malformed = || BadName::Malformed(name.to_owned());
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    // What looks like an address and is none is no name either.
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    let host = name.strip_prefix("*.").unwrap_or(name);
    let is_name = host.len() <= DNS_CHARACTERS_MAX && host.split('.').all(is_label);
    if is_number || !is_name {
        return Err(malformed());
    }
    let text = Ia5String::try_from(name).map_err(|_| malformed())?;
    Ok(SanType::DnsName(text))
}

/// Whether this is a part of a host's name between two dots.
fn is_label(label: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LABEL_CHARACTERS_MAX).contains(&label.len())
        && label.bytes().all(is_plain)
        && !label.starts_with('-')
        && !label.ends_with('-')
}
