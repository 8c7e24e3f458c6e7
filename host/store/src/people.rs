//! Which file has the keys of the people whom records name. The keys are not stored.

use rialto_engine::store::StoreError;

/// The file of people's keys that the store's records are encrypted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeopleKeys {
    /// Its id.
    pub id: [u8; 16],
    /// How often keys in it were destroyed, as far as the store knows.
    pub shreddings: u64,
}

/// Keeps which file has people's keys.
pub trait PeopleKeyStore {
    /// The file of people's keys; none if there never was one.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn people_keys(&self) -> Result<Option<PeopleKeys>, StoreError>;
    /// Note which file it is. It is on disk when this returns.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn set_people_keys(&self, keys: PeopleKeys) -> Result<(), StoreError>;
}
