//! How a key is found again: the token's serial number and the key's id. The public key of a pair is with them, so
//! that signatures are verified without the token.

use rialto_keys::{KeyError, Material, random};
use zeroize::Zeroizing;

/// The first byte. It says how the rest is made.
const VERSION: u8 = 1;
/// Bytes of an id.
const ID_BYTES: usize = 16;

/// `CKA_ID` of a key.
pub(crate) type Id = [u8; ID_BYTES];

/// The name of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) id: Id,
    /// The token's serial number.
    pub(crate) serial: String,
    /// SubjectPublicKeyInfo, DER; empty for secret keys.
    pub(crate) public_key: Vec<u8>,
}

/// A new id.
pub(crate) fn new_id() -> Result<Id, KeyError> {
    let mut id = [0; ID_BYTES];
    id.copy_from_slice(&random(ID_BYTES)?);
    Ok(id)
}

/// An id as operators' tools print it.
pub(crate) fn hex(id: &Id) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Found {
    pub(crate) fn encode(&self) -> Result<Material, KeyError> {
        let serial = u8::try_from(self.serial.len()).map_err(|_| {
            KeyError::Unsupported("the token's serial number is too long".to_owned())
        })?;
        let mut bytes = vec![VERSION];
        bytes.extend_from_slice(&self.id);
        bytes.push(serial);
        bytes.extend_from_slice(self.serial.as_bytes());
        bytes.extend_from_slice(&self.public_key);
        Ok(Zeroizing::new(bytes))
    }

    pub(crate) fn decode(material: &[u8]) -> Result<Self, KeyError> {
        let found = || {
            let (&version, rest) = material.split_first()?;
            let (id, rest) = rest.split_first_chunk::<ID_BYTES>()?;
            let (&length, rest) = rest.split_first()?;
            let (serial, public_key) = rest.split_at_checked(length.into())?;
            let serial = std::str::from_utf8(serial).ok()?;
            (version == VERSION).then(|| Self {
                id: *id,
                serial: serial.to_owned(),
                public_key: public_key.to_vec(),
            })
        };
        found().ok_or(KeyError::NoKey("it is not of a PKCS #11 token"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_is_read_as_it_was_written() {
        let found = Found {
            id: new_id().unwrap(),
            serial: "4f1c".to_owned(),
            public_key: vec![0x30, 1],
        };
        let bytes = found.encode().unwrap();
        assert_eq!(Found::decode(&bytes), Ok(found.clone()));
        let whole = bytes.len() - found.public_key.len();
        for length in 0..whole {
            assert!(Found::decode(&bytes[..length]).is_err(), "{length} bytes");
        }
        // A key in software is no name of a key in a token.
        assert!(Found::decode(&[7; 32]).is_err());
    }
}
