//! FSPIOP-Signature as an FSP makes and checks it. Written from the specification for the simulated
//! FSPs, beside what the host has: the two agree only if both are right.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RsaEncoding, RsaKeyPair,
    UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::DATE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Map, Value, json};

use crate::headers::{DESTINATION, SOURCE};

/// The signature.
pub const SIGNATURE: HeaderName = HeaderName::from_static("fspiop-signature");
/// The signed path.
pub const URI: HeaderName = HeaderName::from_static("fspiop-uri");
/// The signed method.
pub const HTTP_METHOD: HeaderName = HeaderName::from_static("fspiop-http-method");

/// A key pair as PEM.
#[derive(Clone, Debug)]
pub struct KeyPair {
    /// PKCS #8.
    pub private: String,
    /// SubjectPublicKeyInfo.
    pub public: String,
}

/// Which kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// RSA, 2048 bits.
    Rsa,
    /// P-256.
    P256,
}

/// A key is not to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// None could be drawn.
    #[error("no key could be drawn")]
    Drawing,
    /// The text has none.
    #[error("the text is no private key: an RSA key or one on P-256, PKCS #8 as PEM")]
    Reading,
}

impl KeyPair {
    /// Draws one.
    ///
    /// # Errors
    /// When the system is out of randomness.
    pub fn generate(kind: KeyKind) -> Result<Self, KeyError> {
        let wrong = |_| KeyError::Drawing;
        let (private, public) = match kind {
            KeyKind::Rsa => {
                let key = RsaKeyPair::generate(KeySize::Rsa2048).map_err(wrong)?;
                let private: Pkcs8V1Der<'_> = key.as_der().map_err(wrong)?;
                let public: PublicKeyX509Der<'_> = key.public_key().as_der().map_err(wrong)?;
                (private.as_ref().to_vec(), public.as_ref().to_vec())
            }
            KeyKind::P256 => {
                let key =
                    EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(wrong)?;
                let private = key.to_pkcs8v1().map_err(wrong)?;
                let public: PublicKeyX509Der<'_> = key.public_key().as_der().map_err(wrong)?;
                (private.as_ref().to_vec(), public.as_ref().to_vec())
            }
        };
        Ok(Self {
            private: pem("PRIVATE KEY", &private),
            public: pem("PUBLIC KEY", &public),
        })
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let base64 = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for (n, c) in base64.chars().enumerate() {
        if n > 0 && n % 64 == 0 {
            text.push('\n');
        }
        text.push(c);
    }
    text + &format!("\n-----END {label}-----\n")
}

fn der(pem: &str) -> Option<Vec<u8>> {
    let lines = pem.lines().filter(|line| !line.starts_with("-----"));
    STANDARD.decode(lines.collect::<String>()).ok()
}

/// Signs messages.
pub struct Signer {
    key: Key,
    hash: Hash,
}

/// How an RSA key signs. One on P-256 has one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// RS256.
    Sha256,
    /// RS384.
    Sha384,
    /// RS512.
    Sha512,
}

enum Key {
    Rsa(Box<RsaKeyPair>),
    P256(Box<EcdsaKeyPair>),
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// A signer with this private key.
    ///
    /// # Errors
    /// When the text is none.
    pub fn of_pem(private: &str) -> Result<Self, KeyError> {
        let der = der(private).ok_or(KeyError::Reading)?;
        let key = match EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der) {
            Ok(key) => Key::P256(Box::new(key)),
            Err(_) => {
                let key = RsaKeyPair::from_pkcs8(&der).map_err(|_| KeyError::Reading)?;
                Key::Rsa(Box::new(key))
            }
        };
        let hash = Hash::Sha256;
        Ok(Self { key, hash })
    }

    /// The same that signs with another hash, if its key is an RSA key.
    #[must_use]
    pub fn hashing(self, hash: Hash) -> Self {
        Self { hash, ..self }
    }

    /// Its algorithm as JWS names it.
    pub fn algorithm(&self) -> &'static str {
        match (&self.key, self.hash) {
            (Key::P256(_), _) => "ES256",
            (Key::Rsa(_), Hash::Sha256) => "RS256",
            (Key::Rsa(_), Hash::Sha384) => "RS384",
            (Key::Rsa(_), Hash::Sha512) => "RS512",
        }
    }

    /// Puts the signature, and the headers that belong to it, into a message that is signed: one with a
    /// body, or a DELETE. `path` has the query. Others stay as they are.
    pub fn sign(&self, method: &Method, path: &str, headers: &mut HeaderMap, body: &[u8]) {
        if !is_signed(method, body) {
            return;
        }
        let mut protected = Map::new();
        protected.insert("alg".to_owned(), self.algorithm().into());
        protected.insert("FSPIOP-URI".to_owned(), path.into());
        protected.insert("FSPIOP-HTTP-Method".to_owned(), method.as_str().into());
        for (name, header) in [
            ("FSPIOP-Source", SOURCE),
            ("FSPIOP-Destination", DESTINATION),
            ("Date", DATE),
        ] {
            if let Some(value) = headers.get(header).and_then(|value| value.to_str().ok()) {
                protected.insert(name.to_owned(), value.into());
            }
        }
        let value = self.signature(&Value::Object(protected).to_string(), body);
        let text = |text: &str| HeaderValue::from_str(text).ok();
        for (name, value) in [
            (URI, text(path)),
            (HTTP_METHOD, text(method.as_str())),
            (SIGNATURE, text(&value)),
        ] {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
    }

    /// The value of FSPIOP-Signature over any protected header.
    pub fn signature(&self, protected: &str, body: &[u8]) -> String {
        let protected = URL_SAFE_NO_PAD.encode(protected);
        let input = input(&protected, body);
        let random = SystemRandom::new();
        let encoding: &'static dyn RsaEncoding = match self.hash {
            Hash::Sha256 => &RSA_PKCS1_SHA256,
            Hash::Sha384 => &RSA_PKCS1_SHA384,
            Hash::Sha512 => &RSA_PKCS1_SHA512,
        };
        let signature = match &self.key {
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(encoding, &random, input.as_bytes(), &mut signature)
                    .map(|()| signature)
            }
            Key::P256(key) => key
                .sign(&random, input.as_bytes())
                .map(|signature| signature.as_ref().to_vec()),
        };
        // Without randomness it cannot sign; then the receiver refuses the message.
        let signature = URL_SAFE_NO_PAD.encode(signature.unwrap_or_default());
        json!({ "signature": signature, "protectedHeader": protected }).to_string()
    }
}

/// Whether a message is signed by who signs. A query never is.
fn is_signed(method: &Method, body: &[u8]) -> bool {
    *method == Method::DELETE || (*method != Method::GET && !body.is_empty())
}

fn input(protected: &str, body: &[u8]) -> String {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(body))
}

/// The problem of a message's signature, for its sender's public key (PEM); none if it is valid.
pub fn complaint(
    public: &str,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Option<String> {
    if !is_signed(method, body) {
        return None;
    }
    verified(public, method, path, headers, body)
        .err()
        .map(|what| format!("FSPIOP-Signature: {what}"))
}

fn verified(
    public: &str,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(), String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let value = header(SIGNATURE.as_str()).ok_or("is missing")?;
    let value: Value = serde_json::from_str(value).map_err(|error| error.to_string())?;
    let text = |name: &str| value[name].as_str().ok_or(format!("has no {name}"));
    let (signature, protected) = (text("signature")?, text("protectedHeader")?);
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).map_err(|e| e.to_string());
    let members: Map<String, Value> =
        serde_json::from_slice(&decoded(protected)?).map_err(|error| error.to_string())?;
    let algorithm: &'static dyn VerificationAlgorithm =
        match members.get("alg").and_then(Value::as_str) {
            Some("RS256") => &RSA_PKCS1_2048_8192_SHA256,
            Some("RS384") => &RSA_PKCS1_2048_8192_SHA384,
            Some("RS512") => &RSA_PKCS1_2048_8192_SHA512,
            Some("ES256") => &ECDSA_P256_SHA256_FIXED,
            other => return Err(format!("has the algorithm {other:?}")),
        };
    for (name, value) in members.iter().filter(|(name, _)| *name != "alg") {
        if value.as_str() != header(&name.to_ascii_lowercase()) {
            return Err(format!(
                "protects {name} as {value}, which is not the header"
            ));
        }
    }
    for (name, must) in [
        ("FSPIOP-URI", Some(path)),
        ("FSPIOP-HTTP-Method", Some(method.as_str())),
        ("FSPIOP-Source", header(SOURCE.as_str())),
        ("FSPIOP-Destination", header(DESTINATION.as_str())),
    ] {
        let said = members.get(name).and_then(Value::as_str);
        if said != must {
            return Err(format!("protects {name} as {said:?}, and it is {must:?}"));
        }
    }
    let key = der(public).ok_or("cannot be checked: the key is no PEM")?;
    UnparsedPublicKey::new(algorithm, key)
        .verify(input(protected, body).as_bytes(), &decoded(signature)?)
        .map_err(|_| "is not of this sender and this body".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_verifies_only_the_unchanged_message() {
        for kind in [KeyKind::Rsa, KeyKind::P256] {
            let pair = KeyPair::generate(kind).expect("a key");
            let signer = Signer::of_pem(&pair.private).expect("a signer");
            let mut headers = HeaderMap::new();
            headers.insert(SOURCE, HeaderValue::from_static("payerfsp"));
            headers.insert(DESTINATION, HeaderValue::from_static("payeefsp"));
            signer.sign(&Method::POST, "/quotes", &mut headers, b"{}");
            let check = |path: &str, body: &[u8]| {
                complaint(&pair.public, &Method::POST, path, &headers, body)
            };
            assert_eq!(check("/quotes", b"{}"), None);
            assert!(check("/quotes", b"{ }").is_some());
            assert!(check("/transfers", b"{}").is_some());
            let other = KeyPair::generate(kind).expect("a key").public;
            assert!(complaint(&other, &Method::POST, "/quotes", &headers, b"{}").is_some());
            headers.remove(SIGNATURE);
            assert!(complaint(&pair.public, &Method::POST, "/quotes", &headers, b"{}").is_some());
            let path = "/participants/MSISDN/1?currency=USD";
            signer.sign(&Method::DELETE, path, &mut headers, b"");
            let check = |path: &str| complaint(&pair.public, &Method::DELETE, path, &headers, b"");
            assert_eq!(check(path), None);
            assert!(check("/participants/MSISDN/1").is_some());
        }
    }
}
