//! Keys for tests: none at all, and the hub's alone.

use super::{Algorithm, Keys, Signed, Verdict};

/// Nobody has a key.
#[derive(Debug)]
pub(crate) struct NoKeys;

impl Keys for NoKeys {
    fn has_key(&self, _: &str) -> bool {
        false
    }

    fn verify(&self, _: &str, _: Algorithm, _: &str, _: &str, _: &str) -> Verdict {
        panic!("nobody has a key, so nothing is judged")
    }

    fn sign(&self, _: &str, _: &str) -> Option<Signed> {
        None
    }
}

/// The hub has a key, whose signatures are what they are over.
#[derive(Debug)]
pub(crate) struct HubKey;

impl Keys for HubKey {
    fn has_key(&self, _: &str) -> bool {
        false
    }

    fn verify(&self, _: &str, _: Algorithm, _: &str, _: &str, _: &str) -> Verdict {
        Verdict::NoKey
    }

    fn sign(&self, members: &str, payload: &str) -> Option<Signed> {
        Some(Signed {
            protected_header: members.to_owned(),
            signature: payload.to_owned(),
        })
    }
}
