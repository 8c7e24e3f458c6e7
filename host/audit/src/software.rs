//! A witness's private key in memory, for tests.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use data_encoding::BASE64;

use crate::witness::{WitnessKey, message};

/// A witness's private key.
#[derive(Debug)]
pub struct WitnessPair {
    pair: Ed25519KeyPair,
    key: WitnessKey,
}

impl WitnessPair {
    /// Make one of this name. None if the name cannot be one, or no key can be made.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let pair = Ed25519KeyPair::generate().ok()?;
        let public = pair.public_key().as_ref().try_into().ok()?;
        let key = WitnessKey::new(name, public).ok()?;
        Some(Self { pair, key })
    }

    /// Its public key.
    #[must_use]
    pub const fn key(&self) -> &WitnessKey {
        &self.key
    }

    /// The line that it adds to a checkpoint of this text at this time.
    #[must_use]
    pub fn line(&self, text: &str, time: u64) -> String {
        let signature = self.pair.sign(&message(text, time));
        let bytes = [&self.key.id(), &time.to_be_bytes()[..], signature.as_ref()].concat();
        format!("\u{2014} {} {}\n", self.key.name(), BASE64.encode(&bytes))
    }
}
