//! The passkeys by which operators confirm what they approve.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

/// An act of a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Act {
    /// The person.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A passkey.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passkey {
    /// Its public name.
    pub id: String,
    /// The credential's id: base64url without padding.
    pub credential: String,
    /// Its public key: SubjectPublicKeyInfo, PEM.
    pub public_key: String,
    /// The person of `rialto.toml` whose it is.
    pub person: String,
    /// What authenticators know the person by: base64url without padding.
    pub handle: String,
    /// What its owner calls it.
    pub label: String,
    /// How browsers reach the authenticator, such as `usb`.
    pub transports: Vec<String>,
    /// Whether it may be copied to its owner's other devices.
    pub is_backup_eligible: bool,
    /// When it was registered.
    pub registered: Timestamp,
    /// Who has approved it; none while it waits.
    pub approved: Option<Act>,
    /// Who has ended it; none while it has not ended.
    pub ended: Option<Act>,
    /// The greatest signature counter that was seen.
    pub sign_count: u32,
    /// When it was last used.
    pub used: Option<Timestamp>,
}

/// Keeps the passkeys of operators.
pub trait PasskeyStore {
    /// Keep a new passkey.
    ///
    /// # Errors
    /// When its id or its credential is taken, or the store cannot write or belongs to a newer host.
    fn add_passkey(&self, passkey: &Passkey) -> Result<(), StoreError>;
    /// Keep the state of a passkey: its approval, its end, its counter and its last use. The rest never changes.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn change_passkey(&self, passkey: &Passkey) -> Result<(), StoreError>;
    /// Remove a passkey, if it is there.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn remove_passkey(&self, id: &str) -> Result<(), StoreError>;
    /// All passkeys, in the order of their ids.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn passkeys(&self) -> Result<Vec<Passkey>, StoreError>;
}
