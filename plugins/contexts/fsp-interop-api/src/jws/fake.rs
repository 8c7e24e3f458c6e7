//! Keys for tests: none at all, and the hub's alone; and base64url as senders write it.

use super::{Algorithm, Keys, Verdict};

/// There are no keys.
#[derive(Debug)]
pub(crate) struct NoKeys;

impl Keys for NoKeys {
    fn has_key(&self, _: &str) -> bool {
        false
    }

    fn verify(&self, _: &str, _: Algorithm, _: &str, _: &str, _: &str) -> Verdict {
        panic!("nobody has a key, so nothing is judged")
    }

    fn has_own_key(&self) -> bool {
        false
    }
}

/// The hub has a key, and nobody else.
#[derive(Debug)]
pub(crate) struct HubKey;

impl Keys for HubKey {
    fn has_key(&self, _: &str) -> bool {
        false
    }

    fn verify(&self, _: &str, _: Algorithm, _: &str, _: &str, _: &str) -> Verdict {
        Verdict::NoKey
    }

    fn has_own_key(&self) -> bool {
        true
    }
}

/// Base64url without padding.
pub(crate) fn encoded(octets: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in octets.chunks(3) {
        let mut bits = [0_u8; 3];
        bits[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, bits[0], bits[1], bits[2]]);
        for place in 0..=chunk.len() {
            text.push(char::from(
                ALPHABET[(bits >> (18 - 6 * place)) as usize & 63],
            ));
        }
    }
    text
}
