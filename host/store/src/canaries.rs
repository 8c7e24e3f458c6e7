//! Canaries that were held back, kept permanently, and the secret by which requests are chosen for canaries.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

/// A canary that was held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldBack {
    /// The digest of the component.
    pub component: String,
    /// The digest of its settings.
    pub settings: String,
    /// When.
    pub at: Timestamp,
    /// Why.
    pub why: String,
}

/// Keeps which canaries were held back, and the secret of canaries.
pub trait CanaryStore {
    /// Keep that a canary was held back. The first reason stays.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn hold_back(&self, held: &HeldBack) -> Result<(), StoreError>;
    /// All canaries that were held back.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn held_back(&self) -> Result<Vec<HeldBack>, StoreError>;
    /// The secret by which requests are chosen for canaries. If there is none yet, it is `made`.
    ///
    /// # Errors
    /// When the store cannot be read or written, or belongs to a newer host.
    fn canary_secret(&self, made: [u8; 32]) -> Result<[u8; 32], StoreError>;
}
