//! The real surroundings: the host's surfaces, and the other contexts.

use rialto_sdk::bindings::rialto::host::{clock, random};
use rialto_sdk::scheme::{scheme, settings};

use crate::bindings::rialto::auditing::audit_log_write;
use crate::bindings::rialto::host::keys::{self, Algorithm, KeyError};
use crate::bindings::rialto::security_authn::types::Application;
use crate::bindings::rialto::security_authn::{get_application, verify_token};
use crate::bindings::rialto::security_authz::privileges_changed;
use crate::bindings::rialto::security_crypto::fido::{
    self, Authorized, Begun, FidoError, Owner, Transaction,
};
use crate::fido::Authenticators;
use crate::settings::Settings;
use crate::world::World;

/// The host.
pub struct Host;

rialto_sdk::stores_in_host!(Host);

impl Authenticators for Host {
    fn begin(
        &mut self,
        owner: &Owner,
        user: &str,
        transaction: &Transaction,
    ) -> Result<Begun, FidoError> {
        fido::begin_authorization(owner, user, transaction)
    }

    fn finish(
        &mut self,
        owner: &Owner,
        challenge: &str,
        credential: &str,
        expected: &Transaction,
    ) -> Result<Authorized, FidoError> {
        fido::finish_authorization(owner, challenge, credential, Some(expected))
    }
}

impl World for Host {
    fn now(&mut self) -> u64 {
        clock::now()
    }

    fn uuid(&mut self) -> String {
        random::uuid()
    }

    fn scheme(&mut self) -> String {
        scheme().name.clone()
    }

    fn settings(&mut self) -> Settings {
        settings::<Settings>().clone()
    }

    fn verify_token(&mut self, token: &str) -> Option<verify_token::Verified> {
        verify_token::verify_token(token)
    }

    fn application(&mut self, id: &str) -> Option<Application> {
        get_application::get_application(id)
    }

    fn verify_with(
        &mut self,
        public_key: &str,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError> {
        keys::verify_with(public_key, algorithm, message, signature)
    }

    fn audit(&mut self, event: &audit_log_write::Event) {
        audit_log_write::audit_log_write(event);
    }

    fn changed(&mut self, event: &privileges_changed::Event) {
        privileges_changed::privileges_changed(event);
    }
}
