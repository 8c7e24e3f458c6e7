//! Certificates that wait for their signature. The private key may be in a module or a service that answers late, so the
//! bytes to be signed are given out, and the signature is put in later.

use std::cell::RefCell;

use data_encoding::HEXLOWER;
use rcgen::{
    Certificate, CertificateParams, Error, Issuer, PublicKeyData, SignatureAlgorithm, SigningKey,
    SubjectPublicKeyInfo,
};
use x509_parser::pem::parse_x509_pem;

use crate::authority::BadAuthority;
use crate::ecdsa;

/// A signature that does not fit the certificate or the request: another key has made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature is not one of the key")]
pub struct BadSignature;

/// A certificate without its signature.
#[derive(Debug)]
pub struct Draft {
    params: CertificateParams,
    /// Whose certificate it is.
    key: SubjectPublicKeyInfo,
    /// The issuer's certificate as PEM, none if it issues its own, and its key.
    issuer: (Option<String>, SubjectPublicKeyInfo),
    message: Vec<u8>,
}

/// A certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// PEM.
    pub certificate: String,
    /// Its serial number in lower-case hexadecimal digits.
    pub serial: String,
    /// UTC, seconds since 1970.
    pub not_after: u64,
}

/// Stands for a private key: notes what is to be signed, and gives a signature that somebody else has made.
pub(crate) struct Signer<'s> {
    pub key: &'s SubjectPublicKeyInfo,
    pub signature: &'s [u8],
    pub message: &'s RefCell<Vec<u8>>,
}

impl PublicKeyData for Signer<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.key.der_bytes()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.key.algorithm()
    }
}

impl SigningKey for Signer<'_> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        message.clone_into(&mut self.message.borrow_mut());
        Ok(self.signature.to_vec())
    }
}

impl Draft {
    pub(crate) fn new(
        params: CertificateParams,
        key: SubjectPublicKeyInfo,
        issuer: (Option<String>, SubjectPublicKeyInfo),
    ) -> Result<Self, BadAuthority> {
        let mut draft = Self {
            params,
            key,
            issuer,
            message: Vec::new(),
        };
        let (_, message) = draft.with(&[]).map_err(|_| BadAuthority::Key)?;
        draft.message = message;
        Ok(draft)
    }

    /// The bytes to be signed by the issuer's key.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The certificate with its signature: of ECDSA two numbers of a fixed length, one after the other.
    ///
    /// # Errors
    /// When it is not one of the issuer's key.
    pub fn signed(&self, signature: &[u8]) -> Result<Issued, BadSignature> {
        let is_rsa = *self.issuer.1.algorithm() == rcgen::PKCS_RSA_SHA256;
        let signature = if is_rsa {
            signature.to_vec()
        } else {
            ecdsa::der(signature).ok_or(BadSignature)?
        };
        let (certificate, message) = self.with(&signature).map_err(|_| BadSignature)?;
        let text = certificate.pem();
        let (_, pem) = parse_x509_pem(text.as_bytes()).map_err(|_| BadSignature)?;
        let parsed = pem.parse_x509().map_err(|_| BadSignature)?;
        let key = self.issuer.1.subject_public_key_info();
        let key = x509_parser::prelude::FromDer::from_der(&key);
        let (_, key): (_, x509_parser::x509::SubjectPublicKeyInfo<'_>) =
            key.map_err(|_| BadSignature)?;
        let verified = parsed.verify_signature(Some(&key));
        if message != self.message || verified.is_err() {
            return Err(BadSignature);
        }
        let not_after = parsed.validity().not_after.timestamp();
        Ok(Issued {
            serial: HEXLOWER.encode(parsed.raw_serial()),
            not_after: u64::try_from(not_after).unwrap_or_default(),
            certificate: text,
        })
    }

    /// The certificate with these bytes as its signature, and what they must sign.
    fn with(&self, signature: &[u8]) -> Result<(Certificate, Vec<u8>), Error> {
        let message = RefCell::default();
        let (issuer, key) = &self.issuer;
        let signer = Signer {
            key,
            signature,
            message: &message,
        };
        let certificate = match issuer {
            Some(issuer) => {
                let issuer = Issuer::from_ca_cert_pem(issuer, signer)?;
                self.params.signed_by(&self.key, &issuer)?
            }
            None => self.params.self_signed(&signer)?,
        };
        Ok((certificate, message.into_inner()))
    }
}
