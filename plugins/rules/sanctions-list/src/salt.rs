//! The salt, and the hashes of a party.

use crate::digits;
use crate::hashes::Hash;
use rialto_sdk::bindings::rialto::common::types::PartyId;
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// The fewest bytes of a salt.
const BYTES_MIN: usize = 16;

/// The bytes with which each hash begins.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^([0-9a-f]{2}){16,}$"))]
pub struct Salt(Vec<u8>);

impl TryFrom<String> for Salt {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = "must be at least 16 bytes as hexadecimal digits in lower case";
        let bytes = digits::bytes(text.as_bytes());
        let bytes = bytes.filter(|bytes| bytes.len() >= BYTES_MIN);
        bytes.map(Self).ok_or(wrong)
    }
}

impl Salt {
    /// The hash of a party: of the salt, and `TYPE/IDENTIFIER` or `TYPE/IDENTIFIER/SUBID` in UTF-8.
    #[must_use]
    pub fn hash(&self, id_type: &str, identifier: &str, sub_id: Option<&str>) -> Hash {
        let mut hasher = Sha256::new_with_prefix(&self.0);
        for part in [id_type, "/", identifier] {
            hasher.update(part);
        }
        if let Some(sub_id) = sub_id {
            hasher.update("/");
            hasher.update(sub_id);
        }
        hasher.finalize().into()
    }

    /// The hashes that bar a party: its own, and the one without its sub-id.
    #[must_use]
    pub fn hashes_of(&self, party: &PartyId) -> Vec<Hash> {
        let sub_id = party.sub_id_or_type.as_deref();
        let sub_ids = [None, sub_id]
            .into_iter()
            .skip(usize::from(sub_id.is_none()));
        let hash = |sub_id| self.hash(&party.id_type, &party.identifier, sub_id);
        sub_ids.map(hash).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: &str = "000102030405060708090a0b0c0d0e0f";

    fn salt() -> Salt {
        Salt::try_from(SALT.to_owned()).ok().unwrap()
    }

    fn party(identifier: &str, sub_id: Option<&str>) -> PartyId {
        PartyId {
            id_type: "BUSINESS".to_owned(),
            identifier: identifier.to_owned(),
            sub_id_or_type: sub_id.map(str::to_owned),
        }
    }

    #[test]
    fn hashes_are_those_of_sha256sum() {
        for (id_type, identifier, sub_id, expected) in [
            (
                "MSISDN",
                "123456789",
                None,
                "46f9323e2a49f318db8cc2adadd850c90ca6d51ade0c4c99ee8c47aac51c733d",
            ),
            (
                "BUSINESS",
                "acme",
                Some("paris"),
                "a166aa9008ddebb5abe0f3c41f36a5fd509c53b475ab008aa804480bd2380baa",
            ),
            (
                "ALIAS",
                "Zoë",
                None,
                "56e86a76561ef501ac69d939066e60cb2611abc9e76396f25618932bb63d595f",
            ),
        ] {
            let hash = salt().hash(id_type, identifier, sub_id);
            assert_eq!(digits::bytes_of_hash(expected.as_bytes()), Some(hash));
        }
    }

    #[test]
    fn a_salt_has_at_least_16_bytes() {
        let is_salt = |text: &str| Salt::try_from(text.to_owned()).is_ok();
        assert!(is_salt(SALT));
        assert!(is_salt(&SALT.repeat(5)));
        for text in [
            "",
            &SALT[2..],
            &SALT[1..],
            &format!("{SALT}0"),
            &SALT.to_uppercase(),
            &SALT.replace('f', "g"),
            &SALT.replace("0f", "é"),
        ] {
            assert!(!is_salt(text), "{text}");
        }
    }

    #[test]
    fn hash_without_sub_id_is_of_all_sub_ids() {
        let branch = salt().hash("BUSINESS", "acme", Some("paris"));
        let company = salt().hash("BUSINESS", "acme", None);
        for (party, by_branch, by_company) in [
            (party("acme", Some("paris")), true, true),
            (party("acme", Some("rome")), false, true),
            (party("acme", Some("")), false, true),
            (party("acme", None), false, true),
            (party("Acme", None), false, false),
            (party("paris", Some("acme")), false, false),
        ] {
            let hashes = salt().hashes_of(&party);
            assert_eq!(hashes.contains(&branch), by_branch, "{party:?}");
            assert_eq!(hashes.contains(&company), by_company, "{party:?}");
        }
    }
}
