//! References of keys: what the host says of a key, under the seal of its master key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize as _, Zeroizing};

use crate::attributes::Attributes;
use crate::error::KeyError;
use crate::master::MasterKeys;
use crate::provider::{Made, Material};

/// What is under the seal.
#[derive(Serialize, Deserialize)]
struct Sealed {
    owner: String,
    provider: String,
    attributes: Attributes,
    /// base64.
    material: String,
}

impl Drop for Sealed {
    fn drop(&mut self) {
        self.material.zeroize();
    }
}

/// What a reference says.
pub(super) struct Unsealed {
    pub(super) owner: String,
    pub(super) provider: String,
    pub(super) attributes: Attributes,
    pub(super) material: Material,
}

/// The reference of a key that this provider made.
pub(super) fn seal(
    masters: &MasterKeys,
    owner: &str,
    provider: &str,
    attributes: &Attributes,
    made: &Made,
) -> Result<String, KeyError> {
    let sealed = Sealed {
        owner: owner.to_owned(),
        provider: provider.to_owned(),
        attributes: attributes.clone(),
        material: STANDARD.encode(made.material.as_slice()),
    };
    // There is room for all of it, so that nothing is moved while it is written.
    let mut content = Zeroizing::new(Vec::with_capacity(sealed.material.len() + 1024));
    serde_json::to_writer(&mut *content, &sealed)
        .map_err(|_| KeyError::BadInput("the attributes have no JSON form".to_owned()))?;
    masters.seal(content)
}

/// What this reference says.
pub(super) fn unseal(masters: &MasterKeys, reference: &str) -> Result<Unsealed, KeyError> {
    const OTHER_VERSION: KeyError = KeyError::NoKey("another version of the host made it");
    let content = masters.open(reference)?;
    let mut sealed: Sealed = serde_json::from_slice(&content).map_err(|_| OTHER_VERSION)?;
    let material = STANDARD.decode(&sealed.material).map(Zeroizing::new);
    Ok(Unsealed {
        material: material.map_err(|_| OTHER_VERSION)?,
        owner: std::mem::take(&mut sealed.owner),
        provider: std::mem::take(&mut sealed.provider),
        attributes: sealed.attributes.clone(),
    })
}
