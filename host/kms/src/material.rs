//! How a key is found again: its ARN. The public key of a pair is with it, so that signatures are verified without the
//! service.

use rialto_keys::{KeyError, Material};
use zeroize::Zeroizing;

/// The first bytes. The last one says how the rest is made.
const MAGIC: &[u8] = b"kms\x01";
/// The longest ARN, in bytes.
const ARN_BYTES_MAX: usize = 512;

/// The name of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) arn: Arn,
    /// SubjectPublicKeyInfo, DER; empty for secret keys.
    pub(crate) public_key: Vec<u8>,
}

/// The name of a key for everybody: `arn:aws:kms:REGION:ACCOUNT:key/ID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arn(String);

impl Arn {
    /// The ARN of a key, if the text is one.
    pub(crate) fn of(text: String) -> Option<Self> {
        let is_short = text.len() <= ARN_BYTES_MAX;
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        let parts: Vec<&str> = text.split(':').collect();
        let is_arn = matches!(
            parts.as_slice(),
            ["arn", _, "kms", region, account, key]
                if !region.is_empty() && !account.is_empty() && key.starts_with("key/")
        );
        (is_short && is_plain && is_arn).then_some(Self(text))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn region(&self) -> &str {
        self.0.split(':').nth(3).unwrap_or_default()
    }

    pub(crate) fn account(&self) -> &str {
        self.0.split(':').nth(4).unwrap_or_default()
    }
}

impl Found {
    pub(crate) fn encode(&self) -> Material {
        let arn = self.arn.text().as_bytes();
        // An ARN is short.
        let length = u16::try_from(arn.len()).unwrap_or(u16::MAX);
        Zeroizing::new([MAGIC, &length.to_be_bytes(), arn, &self.public_key].concat())
    }

    /// The key of a reference, in this region.
    pub(crate) fn decode(material: &[u8], region: &str) -> Result<Self, KeyError> {
        let found = || {
            let rest = material.strip_prefix(MAGIC)?;
            let (length, rest) = rest.split_first_chunk()?;
            let (arn, public_key) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
            Some(Self {
                arn: Arn::of(std::str::from_utf8(arn).ok()?.to_owned())?,
                public_key: public_key.to_vec(),
            })
        };
        let found = found().ok_or(KeyError::NoKey("it is not of AWS KMS"))?;
        if found.arn.region() != region {
            return Err(KeyError::NoKey("it is in another region of AWS KMS"));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str =
        "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab";

    #[test]
    fn material_is_read_as_it_was_written() {
        let found = Found {
            arn: Arn::of(ARN.to_owned()).unwrap(),
            public_key: vec![0x30, 1],
        };
        let bytes = found.encode();
        assert_eq!(Found::decode(&bytes, "eu-central-1"), Ok(found.clone()));
        assert_eq!(
            Found::decode(&bytes, "eu-west-1"),
            Err(KeyError::NoKey("it is in another region of AWS KMS"))
        );
        let whole = bytes.len() - found.public_key.len();
        for length in 0..whole {
            let read = Found::decode(&bytes[..length], "eu-central-1");
            assert!(read.is_err(), "{length} bytes");
        }
        // A key in software is no name of a key elsewhere.
        assert!(Found::decode(&[7; 32], "eu-central-1").is_err());
    }

    #[test]
    fn names_of_other_things_are_no_arn() {
        let arn = Arn::of(ARN.to_owned()).unwrap();
        assert_eq!(
            (arn.region(), arn.account()),
            ("eu-central-1", "123456789012")
        );
        for bad in [
            "",
            "1234abcd-12ab-34cd-56ef-1234567890ab",
            "arn:aws:kms:eu-central-1:123456789012:alias/a",
            "arn:aws:s3:eu-central-1:123456789012:key/a",
            "arn:aws:kms::123456789012:key/a",
            "arn:aws:kms:eu-central-1::key/a",
            "arn:aws:kms:eu-central-1:1:key/a:b",
            "arn:aws:kms:eu-central-1:1:key/a\n",
            &format!("{ARN}{}", "a".repeat(ARN_BYTES_MAX)),
        ] {
            assert_eq!(Arn::of(bad.to_owned()), None, "{bad}");
        }
    }
}
