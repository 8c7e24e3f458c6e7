//! Everything outside of this context, as a trait, so that tests can replace it.

use rialto_sdk::documents::Store;

use crate::bindings::rialto::host::keys::KeyError;
use crate::entries::Entry;
use crate::sealing::Use;
use crate::settings::Settings;

/// Everything outside.
pub trait World: Store {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// A random text of twelve hexadecimal digits.
    fn random(&mut self) -> String;
    /// The component's settings.
    fn settings(&mut self) -> Settings;
    /// Have the log trimmed at this instant.
    fn remind(&mut self, due: u64);
    /// Gives an entry of a program to the operator's collector, if there is one.
    fn forward(&mut self, entry: &Entry);
    /// Tells the operator by the host's log.
    fn alert(&mut self, line: &str);
    /// Makes a key at a provider of the host. Returns its reference.
    ///
    /// # Errors
    /// When no provider can.
    fn generate(&mut self, r#use: Use) -> Result<String, KeyError>;
    /// Signs with a key.
    ///
    /// # Errors
    /// When the key cannot be used.
    fn sign(&mut self, key: &str, message: &[u8]) -> Result<Vec<u8>, KeyError>;
    /// Whether a key has made this signature.
    ///
    /// # Errors
    /// When the key cannot be used.
    fn verify(&mut self, key: &str, message: &[u8], signature: &[u8]) -> Result<bool, KeyError>;
    /// Encrypts with a key.
    ///
    /// # Errors
    /// When the key cannot be used.
    fn encrypt(&mut self, key: &str, plain: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError>;
    /// Decrypts with a key.
    ///
    /// # Errors
    /// When the key cannot be used, or has not made this ciphertext with this `associated`.
    fn decrypt(&mut self, key: &str, cipher: &[u8], associated: &[u8])
    -> Result<Vec<u8>, KeyError>;
}
