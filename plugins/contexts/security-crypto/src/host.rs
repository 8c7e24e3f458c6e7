//! The real surroundings: the host's surfaces.

use crate::bindings::rialto::host::keys::{
    self, Algorithm, Attributes, HandedOut, Hash, Key, KeyError, Provider,
};
use crate::bindings::rialto::host::tls;
use crate::bindings::rialto::security_authn::verify_token::{self, Verified};
use crate::bindings::rialto::security_crypto::adapter_chosen;
use crate::settings::{Fido, Settings};
use crate::world::{PinSide, Providers, World};
use rialto_sdk::bindings::rialto::host::{clock, random, scheduling};
use rialto_sdk::scheme::{self, Scheme};

/// The host.
pub struct Host;

rialto_sdk::stores_in_host!(Host);

impl Providers for Host {
    fn chosen(&mut self, event: &adapter_chosen::Event) {
        adapter_chosen::adapter_chosen(event);
    }

    fn providers(&mut self) -> Vec<Provider> {
        keys::providers()
    }

    fn generate(&mut self, provider: &str, attributes: &Attributes) -> Result<Key, KeyError> {
        keys::generate(provider, attributes)
    }

    fn load(
        &mut self,
        provider: &str,
        attributes: &Attributes,
        unwraps: &str,
        wrapped: &[u8],
    ) -> Result<Key, KeyError> {
        keys::load(provider, attributes, unwraps, wrapped)
    }

    fn destroy(&mut self, reference: &str) -> Result<(), KeyError> {
        keys::destroy(reference)
    }

    fn hand_out(&mut self, algorithm: Algorithm, receiver: &str) -> Result<HandedOut, KeyError> {
        keys::hand_out(algorithm, receiver)
    }

    fn sign(&mut self, reference: &str, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        keys::sign(reference, message)
    }

    fn verify(
        &mut self,
        reference: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError> {
        keys::verify(reference, message, signature)
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

    fn encrypt(
        &mut self,
        reference: &str,
        plaintext: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        keys::encrypt(reference, plaintext, associated)
    }

    fn decrypt(
        &mut self,
        reference: &str,
        ciphertext: &[u8],
        associated: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        keys::decrypt(reference, ciphertext, associated)
    }

    fn translate_pin(
        &mut self,
        from: PinSide<'_>,
        to: PinSide<'_>,
        account: &str,
        block: &[u8],
    ) -> Result<Vec<u8>, KeyError> {
        keys::translate_pin(from.zone, from.format, to.zone, to.format, account, block)
    }

    fn digest(&mut self, hash: Hash, message: &[u8]) -> Vec<u8> {
        keys::digest(hash, message)
    }
}

impl World for Host {
    fn now(&mut self) -> u64 {
        clock::now()
    }

    fn remind(&mut self, id: &str, due: u64) {
        scheduling::set_reminder(id, due, "");
    }

    fn verify_token(&mut self, token: &str) -> Option<Verified> {
        verify_token::verify_token(token)
    }

    fn random(&mut self, bytes: u32) -> String {
        random::bytes(bytes)
    }

    fn uuid(&mut self) -> String {
        random::uuid()
    }

    fn tls_files(&mut self) -> Vec<tls::File> {
        tls::files()
    }

    fn read_tls_again(&mut self) -> Vec<tls::Reading> {
        tls::read_again()
    }

    fn fido(&mut self) -> Option<Fido> {
        scheme::settings::<Settings>().fido.clone()
    }

    fn scheme(&mut self) -> &Scheme {
        scheme::scheme()
    }

    fn alert(&mut self, line: &str) {
        rialto_sdk::warn!("ALERT: {line}");
    }
}
