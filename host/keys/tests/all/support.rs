//! A host's keys, and attributes, for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use rialto_keys::{Algorithm, Attributes, Keys, MasterKeys, Provider, Software};

/// The component whose keys these are.
pub const OWNER: &str = "security";
/// The provider's name.
pub const PROVIDER: &str = "local";
/// The time of the tests.
pub const NOW: u64 = 1_000;

pub fn keys() -> Keys {
    let provider: Arc<dyn Provider> = Arc::new(Software);
    let providers = BTreeMap::from([(PROVIDER.to_owned(), provider)]);
    Keys::new(MasterKeys::of_bytes(&[9; 32]).unwrap(), providers)
}

pub fn attributes(algorithm: Algorithm) -> Attributes {
    Attributes {
        label: "a key".to_owned(),
        purpose: algorithm.purpose(),
        algorithm,
        not_after: None,
    }
}

/// The reference of a new key.
pub fn reference(keys: &Keys, algorithm: Algorithm) -> String {
    let made = keys.generate(OWNER, PROVIDER, &attributes(algorithm));
    made.unwrap().reference
}
