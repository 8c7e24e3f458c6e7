//! Activations of releases, kept permanently: which release was to become current instead of which, who wanted it, why, and whether it became current.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

/// An activation of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredActivation {
    /// The release.
    pub release: u64,
    /// The release that was current then; 0 for none.
    pub before: u64,
    /// When it began.
    pub at: Timestamp,
    /// The person who wanted it.
    pub person: String,
    /// The operator whose token was used; empty for an action without a token.
    pub operator: String,
    /// Why.
    pub note: String,
    /// Whether the release became current. If not, it was refused, or the activation is under way.
    pub done: bool,
}

/// Keeps activations of releases.
pub trait ActivationStore {
    /// Store that an activation begins, with the mark that `ReleaseStore::activating_release` reads. Sets `before` and
    /// `done` itself.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn begin_activation(&self, begun: &StoredActivation) -> Result<(), StoreError>;
    /// Make a release current. Its activation, if one was under way, is done.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn set_current_release(&self, number: u64) -> Result<(), StoreError>;
    /// All activations, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn activations(&self) -> Result<Vec<StoredActivation>, StoreError>;
}
