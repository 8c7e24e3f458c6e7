//! Public keys as PEM. Whether the key itself can be used is found where keys are used.

use std::fmt;
use std::str::FromStr;

use super::{Invalid, text_value};

const BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const END: &str = "-----END PUBLIC KEY-----";

/// A public key as PEM.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKeyPem(String);

text_value!(
    PublicKeyPem,
    "public-key-pem",
    "a public key as PEM",
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n",
    r"^\s*-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$"
);

impl PublicKeyPem {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PublicKeyPem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for PublicKeyPem {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let content = text.trim().strip_prefix(BEGIN);
        let content = content.and_then(|rest| rest.strip_suffix(END));
        let base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c) || c.is_whitespace();
        match content {
            Some(content) if !content.trim().is_empty() && content.chars().all(base64) => {
                Ok(Self(text.to_owned()))
            }
            Some(_) => Err(Invalid::new(
                "between its first and its last line a PEM text is base64",
            )),
            None => Err(Invalid::new(format!(
                "it begins with the line `{BEGIN}` and ends with `{END}`; `openssl pkey -pubout` writes keys so"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_one_block_and_nothing_around_it() {
        let key = format!("\n{BEGIN}\nAAAA\n{END}\n");
        assert!(key.parse::<PublicKeyPem>().is_ok());
        for wrong in [
            "AAAA".to_owned(),
            format!("{BEGIN}\n{END}"),
            format!("{BEGIN}\nAAAA\n{END}\n{BEGIN}\nAAAA\n{END}"),
            format!("{BEGIN}\nAA-A\n{END}"),
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----".to_owned(),
        ] {
            assert!(wrong.parse::<PublicKeyPem>().is_err(), "{wrong}");
        }
    }
}
