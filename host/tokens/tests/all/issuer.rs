//! An issuer of tokens, for tests and benchmarks: right tokens, and wrong ones.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each user needs a part of it, and stops at what it did not expect"
)]

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::Rules;

/// The time of most tests: UTC, seconds since 1970.
pub const NOW: u64 = 1_800_000_000;
/// The key's id.
pub const KEY: &str = "key-1";
/// The issuer.
pub const ISSUER: &str = "https://switch.example";
/// The audience.
pub const AUDIENCE: &str = "demo";

/// An issuer with one key.
pub struct Issuer {
    pair: EcdsaKeyPair,
}

impl Issuer {
    pub fn new() -> Self {
        Self {
            pair: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap(),
        }
    }

    /// Its public key as PEM.
    pub fn pem(&self) -> String {
        use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
        let der: PublicKeyX509Der<'_> = self.pair.public_key().as_der().unwrap();
        pem(der.as_ref())
    }

    pub fn rules(&self) -> Rules {
        Rules::new(ISSUER, AUDIENCE, [(KEY, self.pem())]).unwrap()
    }

    /// The claims of a right token.
    pub fn claims(&self) -> Value {
        json!({
            "iss": ISSUER,
            "sub": "alpha",
            "aud": AUDIENCE,
            "client_id": "c-1",
            "jti": "7f1d3c52-6f0e-4d5b-9d0f-6a4e1c0a2b11",
            "iat": NOW,
            "nbf": NOW,
            "exp": NOW + 600,
            "generation": 3,
        })
    }

    /// The same with other members; null removes one.
    pub fn claims_with(&self, others: &[(&str, Value)]) -> Value {
        let mut claims = self.claims();
        for (name, value) in others {
            claims[*name] = value.clone();
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(*name);
            }
        }
        claims
    }

    /// A token with these claims.
    pub fn token(&self, claims: &Value) -> String {
        self.token_with(&header(), claims)
    }

    /// A token with this header, signed in any case.
    pub fn token_with(&self, header: &Value, claims: &Value) -> String {
        self.token_of(header.to_string().as_bytes(), claims.to_string().as_bytes())
    }

    /// A token of these texts.
    pub fn token_of(&self, header: &[u8], claims: &[u8]) -> String {
        let message = format!("{}.{}", encoded(header), encoded(claims));
        let signed = self.pair.sign(&SystemRandom::new(), message.as_bytes());
        format!("{message}.{}", encoded(signed.unwrap().as_ref()))
    }
}

/// The header of a right token.
pub fn header() -> Value {
    json!({ "alg": "ES256", "typ": "at+jwt", "kid": KEY })
}

pub fn encoded(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub fn pem(der: &[u8]) -> String {
    let content = STANDARD.encode(der);
    let lines: Vec<&str> = content
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        lines.join("\n")
    )
}
