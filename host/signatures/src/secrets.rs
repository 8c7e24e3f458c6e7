//! Uses of shared secrets: message authentication codes (HMAC-SHA-256), and comparison in constant time.

use aws_lc_rs::{constant_time, hmac};

/// Bytes of a key and of a code.
pub const MAC_BYTES: usize = 32;

/// A key for message authentication codes.
pub struct MacKey(hmac::Key);

impl MacKey {
    /// A key of these bytes, which must be drawn at random.
    #[must_use]
    pub fn new(bytes: &[u8; MAC_BYTES]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// The code of these parts, joined. The code does not cover where one part ends and the next begins. So put a
    /// separator between them that they do not contain.
    #[must_use]
    pub fn code(&self, parts: &[&[u8]]) -> [u8; MAC_BYTES] {
        let mut context = hmac::Context::with_key(&self.0);
        for part in parts {
            context.update(part);
        }
        let mut code = [0; MAC_BYTES];
        code.copy_from_slice(context.sign().as_ref());
        code
    }

    /// Whether this is the code of these parts. The time taken does not depend on where they differ.
    #[must_use]
    pub fn fits(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        same_secret(&self.code(parts), code)
    }
}

/// Whether two secrets are the same, in a time that depends on their lengths alone.
#[must_use]
pub fn same_secret(a: &[u8], b: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(a, b).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mac_is_hmac_sha256_of_the_parts() {
        // RFC 4231, case 3: a key of 20 octets 0xaa, filled up with zeros as HMAC does.
        let mut key = [0; MAC_BYTES];
        key[..20].fill(0xaa);
        let key = MacKey::new(&key);
        let data = [0xdd; 50];
        let code = key.code(&[&data[..7], &data[7..]]);
        let hex: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        );
        assert!(key.fits(&[&data], &code));
        assert!(!key.fits(&[&data[1..]], &code));
        assert!(!key.fits(&[&data], &code[1..]));
    }

    #[test]
    fn secrets_are_the_same_only_if_each_octet_is() {
        assert!(same_secret(b"token", b"token"));
        assert!(!same_secret(b"token", b"tokem"));
        assert!(!same_secret(b"token", b"token "));
        assert!(!same_secret(b"", b"t"));
    }
}
