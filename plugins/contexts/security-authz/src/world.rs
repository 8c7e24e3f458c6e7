//! Everything outside of this context, as a trait, so that tests can replace it.

use rialto_sdk::documents::Store;

use crate::bindings::rialto::auditing::audit_log_write::Event as AuditEvent;
use crate::bindings::rialto::host::keys::{Algorithm, KeyError};
use crate::bindings::rialto::security_authn::types::Application;
use crate::bindings::rialto::security_authn::verify_token::Verified;
use crate::bindings::rialto::security_authz::privileges_changed::Event;
use crate::fido::Authenticators;
use crate::settings::Settings;

/// Everything outside.
pub trait World: Store + Authenticators {
    /// The turn's instant: UTC, milliseconds since 1970.
    fn now(&mut self) -> u64;
    /// A random UUID.
    fn uuid(&mut self) -> String;
    /// The scheme's name.
    fn scheme(&mut self) -> String;
    /// The component's settings.
    fn settings(&mut self) -> Settings;
    /// What a valid access token says; none if it is not valid now.
    fn verify_token(&mut self, token: &str) -> Option<Verified>;
    /// An application.
    fn application(&mut self, id: &str) -> Option<Application>;
    /// Whether this public key made the signature.
    ///
    /// # Errors
    /// When it is no such key.
    fn verify_with(
        &mut self,
        public_key: &str,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError>;
    /// Publishes something for the audit log.
    fn audit(&mut self, event: &AuditEvent);
    /// Publishes that an approved change took effect, or that a key was revoked.
    fn changed(&mut self, event: &Event);
}
