//! Everything outside of this context, as a trait, so that tests can replace it.

use rialto_sdk::auditing::Audited;
use rialto_sdk::documents::Store;

use crate::bindings::rialto::host::keys::KeyError;
use crate::bindings::rialto::platform_configuration::configuration_values_changed::Event as ValuesChanged;
use crate::bindings::rialto::platform_configuration::secrets_values_changed::Event as SecretsChanged;
use crate::settings::Settings;

/// Everything outside.
pub trait World: Store {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// A random UUID.
    fn uuid(&mut self) -> String;
    /// The component's settings.
    fn settings(&mut self) -> Settings;
    /// Makes a key that encrypts, at a provider of the host. Returns its reference.
    ///
    /// # Errors
    /// When no provider can.
    fn generate(&mut self, label: &str) -> Result<String, KeyError>;
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
    /// The subject that has signed an assertion, which is spent by this: `context/switch`.
    ///
    /// # Errors
    /// When it proves nothing: a sentence that says why.
    fn verify_assertion(&mut self, assertion: &str) -> Result<String, String>;
    /// Writes an entry of the audit log.
    fn audit(&mut self, audited: &Audited);
    /// Writes a warning to the host's log.
    fn warn(&mut self, message: &str);
    /// Publishes that values have changed.
    fn values_changed(&mut self, event: &ValuesChanged);
    /// Publishes that secrets have changed.
    fn secrets_changed(&mut self, event: &SecretsChanged);
}
