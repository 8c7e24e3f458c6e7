//! Releases and their components, kept permanently.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

/// A release as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRelease {
    /// Its number; counts up from 1.
    pub number: u64,
    /// SHA-256 over everything in it.
    pub digest: String,
    /// The scheme's document and the digests of its components, as JSON.
    pub document: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// Why.
    pub note: String,
    /// Who made it; empty if not known.
    pub maker: String,
    /// Who approved it, if it needed that and was.
    pub approver: Option<String>,
    /// The release that was current when this one was stored to wait for its approval, 0 for none. `None` for a
    /// release that does not wait.
    pub waits_on: Option<u64>,
}

/// Keeps releases and their components.
pub trait ReleaseStore {
    /// All releases, oldest first.
    fn releases(&self) -> Result<Vec<StoredRelease>, StoreError>;
    /// The release with this number.
    fn release(&self, number: u64) -> Result<Option<StoredRelease>, StoreError>;
    /// The numbers of the releases that are or were current. The activation of any other was refused, or is under
    /// way.
    fn releases_once_current(&self) -> Result<Vec<u64>, StoreError>;
    /// The number of the current release; 0 before the first.
    fn current_release(&self) -> Result<u64, StoreError>;
    /// The number of the release whose activation is under way; 0 if there is none.
    fn activating_release(&self) -> Result<u64, StoreError>;
    /// A component's bytes.
    fn component(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError>;
    /// Store a component.
    fn add_component(&self, digest: &str, bytes: &[u8]) -> Result<(), StoreError>;
    /// Store a release. This does not make it current.
    fn add_release(&self, release: &StoredRelease) -> Result<(), StoreError>;
    /// Store who approved a release. It no longer waits. This does not make it current.
    fn approve_release(&self, number: u64, approver: &str) -> Result<(), StoreError>;
    /// Store that a release's activation begins; 0 when it is given up.
    fn set_activating_release(&self, number: u64) -> Result<(), StoreError>;
}
