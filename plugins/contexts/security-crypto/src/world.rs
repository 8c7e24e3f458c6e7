//! Everything outside of this context, as a trait, so that tests can replace it.

use crate::bindings::rialto::host::keys::{
    Algorithm, Attributes, HandedOut, Hash, Key, KeyError, PinFormat, Provider,
};
use crate::bindings::rialto::host::tls;
use crate::bindings::rialto::security_authn::verify_token::Verified;
use crate::bindings::rialto::security_crypto::adapter_chosen::Event;
use crate::settings::Fido;
use rialto_sdk::documents::Store;
use rialto_sdk::scheme::Scheme;

/// One side of the translation of a PIN block.
#[derive(Debug, Clone, Copy)]
pub struct PinSide<'a> {
    /// The reference of the zone's key.
    pub zone: &'a str,
    /// The format of the block.
    pub format: PinFormat,
}

/// The providers of keys; see `rialto:host/keys`.
pub trait Providers {
    /// Tells other contexts which provider makes new keys.
    fn chosen(&mut self, event: &Event);
    /// The providers, in the order of their names.
    fn providers(&mut self) -> Vec<Provider>;
    /// Makes a new key.
    ///
    /// # Errors
    /// As the provider says.
    fn generate(&mut self, provider: &str, attributes: &Attributes) -> Result<Key, KeyError>;
    /// Loads a wrapped key.
    ///
    /// # Errors
    /// As the provider says.
    fn load(
        &mut self,
        provider: &str,
        attributes: &Attributes,
        unwraps: &str,
        wrapped: &[u8],
    ) -> Result<Key, KeyError>;
    /// Destroys a key at its provider for good.
    ///
    /// # Errors
    /// When the key may still be at its provider.
    fn destroy(&mut self, reference: &str) -> Result<(), KeyError>;
    /// Makes a key pair for somebody else.
    ///
    /// # Errors
    /// As the host says.
    fn hand_out(&mut self, algorithm: Algorithm, receiver: &str) -> Result<HandedOut, KeyError>;
    /// Signs, or makes a message authentication code.
    ///
    /// # Errors
    /// As the provider says.
    fn sign(&mut self, reference: &str, message: &[u8]) -> Result<Vec<u8>, KeyError>;
    /// Verifies a signature or code.
    ///
    /// # Errors
    /// As the provider says.
    fn verify(
        &mut self,
        reference: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError>;
    /// Verifies a signature by a public key.
    ///
    /// # Errors
    /// As the host says.
    fn verify_with(
        &mut self,
        public_key: &str,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError>;
    /// Encrypts.
    ///
    /// # Errors
    /// As the provider says.
    fn encrypt(
        &mut self,
        reference: &str,
        plaintext: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError>;
    /// Decrypts.
    ///
    /// # Errors
    /// As the provider says.
    fn decrypt(
        &mut self,
        reference: &str,
        ciphertext: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError>;
    /// Translates a PIN block.
    ///
    /// # Errors
    /// As the provider says.
    fn translate_pin(
        &mut self,
        from: PinSide<'_>,
        to: PinSide<'_>,
        account: &str,
        block: &[u8],
    ) -> Result<Vec<u8>, KeyError>;
    /// The hash of a message.
    fn digest(&mut self, hash: Hash, message: &[u8]) -> Vec<u8>;
}

/// Everything outside.
pub trait World: Store + Providers {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// Sets a reminder, or replaces the one of this id: UTC, milliseconds since 1970.
    fn remind(&mut self, id: &str, due: u64);
    /// What a valid access token says; none if it is not valid now.
    fn verify_token(&mut self, token: &str) -> Option<Verified>;
    /// Random bytes, as lower-case hexadecimal digits.
    fn random(&mut self, bytes: u32) -> String;
    /// A random UUID.
    fn uuid(&mut self) -> String;
    /// The TLS files that the host uses.
    fn tls_files(&mut self) -> Vec<tls::File>;
    /// Has the host read them again.
    fn read_tls_again(&mut self) -> Vec<tls::Reading>;
    /// The relying party of the settings.
    fn fido(&mut self) -> Option<Fido>;
    /// The scheme's facts.
    fn scheme(&mut self) -> &Scheme;
    /// Tells the operator that something is wrong. The line has no secret.
    fn alert(&mut self, line: &str);
}
