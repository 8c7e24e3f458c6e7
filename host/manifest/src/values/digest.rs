//! SHA-256 digests, which pin components and identify schemes by content.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use super::{Invalid, text_value};

/// A SHA-256 digest, written `sha256:` and 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

text_value!(
    Digest,
    "digest",
    "a digest",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "^sha256:[0-9a-f]{64}$"
);

impl Digest {
    /// The digest of these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest itself.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let malformed =
            || Invalid::new("a digest is `sha256:` and 64 lower-case hexadecimal digits");
        let digits = text.strip_prefix("sha256:").ok_or_else(malformed)?;
        if digits.len() != 64 {
            return Err(malformed());
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            let (high, low) = (nibble(pair[0]), nibble(pair[1]));
            *byte = (high.ok_or_else(malformed)? << 4) | low.ok_or_else(malformed)?;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_digest_is_sha_256() {
        assert_eq!(
            Digest::of(b"").to_string(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        let hex = "0".repeat(64);
        assert!(format!("sha256:{hex}").parse::<Digest>().is_ok());
        for bad in [
            hex.clone(),
            format!("sha512:{hex}"),
            format!("sha256:{}", &hex[1..]),
            format!("sha256:{}G", &hex[1..]),
            format!("sha256:{}A", &hex[1..]),
            format!("sha256:{}+1", &hex[2..]),
            format!("sha256:{}é", &hex[2..]),
        ] {
            assert!(bad.parse::<Digest>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_digest_is_read_as_it_was_written(bytes: [u8; 32]) {
            let digest = Digest(bytes);
            prop_assert_eq!(digest.to_string().parse(), Ok(digest));
        }
    }
}
