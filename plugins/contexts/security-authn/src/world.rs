//! Everything outside of this context, as a trait, so that tests can replace it.

use crate::bindings::rialto::host::keys::{Key, KeyError};
use rialto_sdk::auditing::{Audited, Refused};
use rialto_sdk::documents::Store;

/// Everything outside.
pub trait World: Store {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// Random bytes, as lower-case hexadecimal digits.
    fn random(&mut self, bytes: u32) -> String;
    /// A random UUID.
    fn uuid(&mut self) -> String;
    /// A new key that signs with ES256 until this instant, by the preferred provider if it can make one, else by the first
    /// that can.
    ///
    /// # Errors
    /// When the host has no provider of keys, or it does not answer.
    fn generate(
        &mut self,
        label: &str,
        not_after: u64,
        preferred: Option<&str>,
    ) -> Result<Key, KeyError>;
    /// Destroy a key at its provider. One that is gone is no error.
    ///
    /// # Errors
    /// When the provider does not answer, or refuses.
    fn destroy(&mut self, reference: &str) -> Result<(), KeyError>;
    /// Sign.
    ///
    /// # Errors
    /// When the key cannot be used.
    fn sign(&mut self, reference: &str, message: &[u8]) -> Result<Vec<u8>, KeyError>;
    /// Verify with a key's public half.
    ///
    /// # Errors
    /// When the key cannot be used.
    fn verify(
        &mut self,
        public_key: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError>;
    /// SHA-256.
    fn sha256(&mut self, message: &[u8]) -> Vec<u8>;
    /// Write a line for the operator's log, which an operator should look at.
    fn alert(&mut self, line: &str);
    /// Write an entry of the audit log.
    fn audit(&mut self, audited: &Audited);
    /// Keep that somebody was refused. The host bounds how many have entries.
    fn refused(&mut self, refused: &Refused<'_>);
    /// Whether two secrets are the same, in a time that depends on their lengths alone.
    fn same(&mut self, a: &[u8], b: &[u8]) -> bool;
}
