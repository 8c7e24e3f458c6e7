//! The real surroundings: the host's surfaces.

use crate::bindings::rialto::host::keys::{
    self, Algorithm, Attributes, Hash, Key, KeyError, Provider, Purpose,
};
use crate::world::World;
use rialto_sdk::auditing::{Audited, Refused};
use rialto_sdk::bindings::rialto::host::{clock, random};

/// The host.
pub struct Host;

rialto_sdk::stores_in_host!(Host);

impl World for Host {
    fn now(&mut self) -> u64 {
        clock::now()
    }

    fn random(&mut self, bytes: u32) -> String {
        random::bytes(bytes)
    }

    fn uuid(&mut self) -> String {
        random::uuid()
    }

    fn generate(
        &mut self,
        label: &str,
        not_after: u64,
        preferred: Option<&str>,
    ) -> Result<Key, KeyError> {
        let provider = able(keys::providers(), preferred).ok_or(KeyError::NoProvider)?;
        if preferred.is_some_and(|preferred| preferred != provider.name) {
            let (name, preferred) = (&provider.name, preferred.unwrap_or_default());
            self.alert(&format!(
                "the key that signs tokens is made by `{name}`, because the host no longer has the provider `{preferred}` that was set, or that cannot make such a key"
            ));
        }
        let attributes = Attributes {
            label: label.to_owned(),
            purpose: Purpose::Sign,
            algorithm: Algorithm::Es256,
            not_after: Some(not_after),
        };
        keys::generate(&provider.name, &attributes)
    }

    fn destroy(&mut self, reference: &str) -> Result<(), KeyError> {
        keys::destroy(reference)
    }

    fn sign(&mut self, reference: &str, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        keys::sign(reference, message)
    }

    fn verify(
        &mut self,
        public_key: &str,
        message: &[u8],
        signature: &[u8],
    ) -> Result<bool, KeyError> {
        keys::verify_with(public_key, Algorithm::Es256, message, signature)
    }

    fn sha256(&mut self, message: &[u8]) -> Vec<u8> {
        keys::digest(Hash::Sha256, message)
    }

    fn alert(&mut self, line: &str) {
        rialto_sdk::warn!("ALERT: {line}");
    }

    fn audit(&mut self, audited: &Audited) {
        audited.write();
    }

    fn refused(&mut self, refused: &Refused<'_>) {
        refused.write();
    }

    fn same(&mut self, a: &[u8], b: &[u8]) -> bool {
        keys::same(a, b)
    }
}

/// The preferred provider if it can make a key that signs tokens, else the first that can.
fn able(providers: Vec<Provider>, preferred: Option<&str>) -> Option<Provider> {
    let able = providers.into_iter();
    let able = able.filter(|provider| provider.algorithms.contains(&Algorithm::Es256));
    // `false` is less: the first of those that are not preferred.
    able.min_by_key(|provider| Some(&*provider.name) != preferred)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferred_provider_makes_the_key_if_it_can() {
        let provider = |name: &str, algorithms: &[Algorithm]| Provider {
            name: name.to_owned(),
            kind: "software".to_owned(),
            algorithms: algorithms.to_vec(),
        };
        let all = || {
            vec![
                provider("aes", &[Algorithm::A256Gcm]),
                provider("first", &[Algorithm::Es256]),
                provider("second", &[Algorithm::Es256, Algorithm::A256Gcm]),
            ]
        };
        for (preferred, expected) in [
            (None, "first"),
            (Some("second"), "second"),
            (Some("aes"), "first"),
            (Some("gone"), "first"),
        ] {
            assert_eq!(able(all(), preferred).unwrap().name, expected);
        }
        assert!(able(all()[..1].to_vec(), None).is_none());
    }
}
