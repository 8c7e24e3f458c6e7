//! A log's key, and entries.

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::encoding::PublicKeyX509Der;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use rialto_audit::{Checkpoint, PublicKey, Tree};

pub const ORIGIN: &str = "hub.example/audit";

/// A private key.
pub struct Key(EcdsaKeyPair);

impl Key {
    pub fn new() -> Self {
        Self(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap())
    }

    pub fn public(&self) -> PublicKey {
        let der: PublicKeyX509Der<'_> = self.0.public_key().as_der().unwrap();
        PublicKey::of_der(der.as_ref().to_vec())
    }

    pub fn signature(&self, message: &[u8]) -> Vec<u8> {
        let signed = self.0.sign(&SystemRandom::new(), message);
        signed.unwrap().as_ref().to_vec()
    }

    /// The signed checkpoint of a tree.
    pub fn sign(&self, tree: &Tree) -> String {
        let unsigned = checkpoint(tree).unsigned().unwrap();
        let signature = self.signature(unsigned.message());
        unsigned.signed(&self.public(), &signature).unwrap()
    }
}

pub fn checkpoint(tree: &Tree) -> Checkpoint {
    Checkpoint {
        origin: ORIGIN.to_owned(),
        size: tree.size(),
        root: tree.root(),
    }
}

pub fn entry(at: u64) -> Vec<u8> {
    format!("entry {at}").into_bytes()
}
