//! Requests for certificates: PKCS #10 (RFC 2986) as PEM.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use rcgen::SubjectPublicKeyInfo;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::oid_registry::{
    OID_EC_P256, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_EC_P384, OID_PKCS1_RSAENCRYPTION,
    OID_PKCS1_SHA256WITHRSA, OID_PKCS1_SHA384WITHRSA, OID_PKCS1_SHA512WITHRSA,
    OID_SIG_ECDSA_WITH_SHA256, OID_SIG_ECDSA_WITH_SHA384, Oid,
};
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer as _;
use x509_parser::public_key::{PublicKey, RSAPublicKey};
use x509_parser::x509::SubjectPublicKeyInfo as ParsedKey;

/// The longest text of a request, in bytes.
pub const REQUEST_BYTES_MAX: usize = 16 * 1024;
/// The labels of a request (RFC 7468, 7, and what older tools write).
const LABELS: [&str; 2] = ["CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"];
/// The length of RSA keys, in bits.
const RSA_BITS_MIN: usize = 2048;
const RSA_BITS_MAX: usize = 4096;
/// The exponent of RSA keys that all tools make.
const RSA_EXPONENT: u64 = 65_537;

/// Why a request cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// It is too long.
    #[error("it is longer than {REQUEST_BYTES_MAX} bytes")]
    TooLong,
    /// It is no request.
    #[error("it is no certificate request (PKCS #10) as PEM")]
    Unreadable,
    /// Something is behind it.
    #[error("there is more than one certificate request in it")]
    Trailing,
    /// Its key is of another kind.
    #[error("its key is neither RSA nor on the curves P-256 and P-384")]
    Key,
    /// Its RSA key has another length, or an exponent of its own.
    #[error(
        "its RSA key must have {RSA_BITS_MIN} to {RSA_BITS_MAX} bits and the exponent {RSA_EXPONENT}"
    )]
    RsaKey,
    /// It is signed in another way.
    #[error("it is signed by an algorithm that is not accepted: use SHA-256 or SHA-384")]
    Algorithm,
    /// Its key has not signed it.
    #[error("its own key has not signed it, or it was changed since")]
    Signature,
}

/// A request whose sender has the private key.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) key: SubjectPublicKeyInfo,
    kind: String,
    fingerprint: String,
}

impl Request {
    /// Read a request, and verify that its own key has signed it.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn read(text: &str) -> Result<Self, BadRequest> {
        if text.len() > REQUEST_BYTES_MAX {
            return Err(BadRequest::TooLong);
        }
        let unreadable = |_| BadRequest::Unreadable;
        let (rest, pem) = parse_x509_pem(text.as_bytes()).map_err(unreadable)?;
        if !LABELS.contains(&pem.label.as_str()) {
            return Err(BadRequest::Unreadable);
        }
        if !rest.trim_ascii().is_empty() {
            return Err(BadRequest::Trailing);
        }
        let parsed = X509CertificationRequest::from_der(&pem.contents);
        let (rest, request) = parsed.map_err(|_| BadRequest::Unreadable)?;
        if !rest.is_empty() {
            return Err(BadRequest::Unreadable);
        }
        let key = &request.certification_request_info.subject_pki;
        let kind = kind_of(key)?;
        if !is_accepted(&request.signature_algorithm.algorithm) {
            return Err(BadRequest::Algorithm);
        }
        let verified = request.verify_signature();
        verified.map_err(|_| BadRequest::Signature)?;
        Ok(Self {
            key: SubjectPublicKeyInfo::from_der(key.raw).map_err(|_| BadRequest::Key)?,
            kind,
            fingerprint: HEXLOWER.encode(digest(&SHA256, key.raw).as_ref()),
        })
    }

    /// The kind of its key: `P-256`, `P-384` or `RSA 3072`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The SHA-256 of its SubjectPublicKeyInfo in lower-case hexadecimal digits, by which people compare keys.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
}

/// The kind of a key that is accepted.
fn kind_of(key: &ParsedKey<'_>) -> Result<String, BadRequest> {
    let algorithm = &key.algorithm.algorithm;
    match key.parsed().map_err(|_| BadRequest::Key)? {
        PublicKey::RSA(rsa) if *algorithm == OID_PKCS1_RSAENCRYPTION => rsa_kind(&rsa),
        PublicKey::EC(_) if *algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY => {
            let parameters = key.algorithm.parameters.as_ref().ok_or(BadRequest::Key)?;
            let curve = parameters.as_oid().map_err(|_| BadRequest::Key)?;
            let curves = [(OID_EC_P256, "P-256"), (OID_NIST_EC_P384, "P-384")];
            let found = curves.into_iter().find(|(oid, _)| *oid == curve);
            found
                .map(|(_, name)| name.to_owned())
                .ok_or(BadRequest::Key)
        }
        _ => Err(BadRequest::Key),
    }
}

fn rsa_kind(key: &RSAPublicKey<'_>) -> Result<String, BadRequest> {
    let digits = key.modulus.iter().position(|byte| *byte != 0);
    let digits = &key.modulus[digits.unwrap_or(key.modulus.len())..];
    let leading = digits.first().map_or(0, |first| first.leading_zeros());
    let bits = digits.len() * 8 - usize::try_from(leading).unwrap_or_default();
    let is_odd = digits.last().is_some_and(|last| last % 2 == 1);
    let is_usual = key
        .try_exponent()
        .is_ok_and(|exponent| exponent == RSA_EXPONENT);
    if !(RSA_BITS_MIN..=RSA_BITS_MAX).contains(&bits) || !is_odd || !is_usual {
        return Err(BadRequest::RsaKey);
    }
    Ok(format!("RSA {bits}"))
}

/// Whether a request may be signed by this algorithm.
fn is_accepted(algorithm: &Oid<'_>) -> bool {
    [
        OID_PKCS1_SHA256WITHRSA,
        OID_PKCS1_SHA384WITHRSA,
        OID_PKCS1_SHA512WITHRSA,
        OID_SIG_ECDSA_WITH_SHA256,
        OID_SIG_ECDSA_WITH_SHA384,
    ]
    .contains(algorithm)
}
