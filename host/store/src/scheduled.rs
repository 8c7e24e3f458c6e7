//! Releases that come into force at an instant, kept permanently.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

use crate::Act;

/// A release that comes into force at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledRelease {
    /// The release.
    pub release: u64,
    /// The instant from which on turns run on it.
    pub from: Timestamp,
    /// When it was scheduled.
    pub at: Timestamp,
    /// The person who wanted it.
    pub person: String,
    /// The operator whose token was used; empty for an action without a token.
    pub operator: String,
    /// Why.
    pub note: String,
    /// Who has withdrawn it.
    pub withdrawn: Option<Act>,
}

/// Keeps which releases come into force at an instant.
pub trait ScheduleStore {
    /// Keep that releases come into force: all of them, or none.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn schedule_releases(&self, all: &[ScheduledRelease]) -> Result<(), StoreError>;
    /// Keep who has withdrawn the scheduled releases from a number on.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn withdraw_scheduled(&self, from: u64, act: &Act) -> Result<(), StoreError>;
    /// The releases that were scheduled, the earliest instant first. Those that are or were current are among them.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn scheduled_releases(&self) -> Result<Vec<ScheduledRelease>, StoreError>;
}
