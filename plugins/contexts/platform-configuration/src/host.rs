//! The real surroundings: the host's surfaces, and Security (authorization).

use rialto_sdk::auditing::Audited;
use rialto_sdk::bindings::rialto::host::{clock, random};
use rialto_sdk::scheme::settings;
use rialto_sdk::warn;

use crate::bindings::rialto::host::keys::{self, Algorithm, Attributes, KeyError, Purpose};
use crate::bindings::rialto::platform_configuration::configuration_values_changed::{
    self, Event as ValuesChanged,
};
use crate::bindings::rialto::platform_configuration::secrets_values_changed::{
    self, Event as SecretsChanged,
};
use crate::bindings::rialto::security_authz::verify_assertion::{self, AssertionError};
use crate::settings::Settings;
use crate::world::World;

/// The host.
pub struct Host;

rialto_sdk::stores_in_host!(Host);

impl World for Host {
    fn now(&mut self) -> u64 {
        clock::now()
    }

    fn uuid(&mut self) -> String {
        random::uuid()
    }

    fn settings(&mut self) -> Settings {
        settings::<Settings>().clone()
    }

    fn generate(&mut self, label: &str) -> Result<String, KeyError> {
        let algorithm = Algorithm::A256Gcm;
        let mut providers = keys::providers().into_iter();
        let provider = providers.find(|provider| provider.algorithms.contains(&algorithm));
        let attributes = Attributes {
            label: label.to_owned(),
            purpose: Purpose::Encrypt,
            algorithm,
            not_after: None,
        };
        let provider = provider.ok_or(KeyError::NoProvider)?;
        let key = keys::generate(&provider.name, &attributes)?;
        Ok(key.reference)
    }

    fn encrypt(&mut self, key: &str, plain: &[u8], associated: &[u8]) -> Result<Vec<u8>, KeyError> {
        keys::encrypt(key, plain, associated)
    }

    fn decrypt(
        &mut self,
        key: &str,
        cipher: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        keys::decrypt(key, cipher, associated)
    }

    fn verify_assertion(&mut self, assertion: &str) -> Result<String, String> {
        let verified = verify_assertion::verify_assertion(assertion);
        verified
            .map(|verified| verified.subject)
            .map_err(|AssertionError::InvalidAssertion(why)| why)
    }

    fn audit(&mut self, audited: &Audited) {
        audited.write();
    }

    fn warn(&mut self, message: &str) {
        warn!("{message}");
    }

    fn values_changed(&mut self, event: &ValuesChanged) {
        configuration_values_changed::configuration_values_changed(event);
    }

    fn secrets_changed(&mut self, event: &SecretsChanged) {
        secrets_values_changed::secrets_values_changed(event);
    }
}
