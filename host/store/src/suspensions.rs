//! Suspensions of rules, kept permanently: who has suspended which rule, who has confirmed it, and who has ended it.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

use crate::Act;

/// A suspension of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSuspension {
    /// Its number; 0 for one that is to be kept.
    pub id: u64,
    /// The rule's name in the scheme.
    pub rule: String,
    /// The person who has suspended it.
    pub person: String,
    /// Why.
    pub note: String,
    /// When.
    pub at: Timestamp,
    /// When it ends unless it is confirmed.
    pub until: Timestamp,
    /// Who has confirmed it.
    pub confirmed: Option<Act>,
    /// Who has ended it.
    pub ended: Option<Act>,
}

/// Keeps suspensions of rules.
pub trait SuspensionStore {
    /// Keep a new suspension.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn add_suspension(&self, suspension: &StoredSuspension) -> Result<(), StoreError>;
    /// Keep who has confirmed a suspension.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn confirm_suspension(&self, id: u64, act: &Act) -> Result<(), StoreError>;
    /// Keep who has ended a suspension.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn end_suspension(&self, id: u64, act: &Act) -> Result<(), StoreError>;
    /// The suspensions that are in force at an instant, and at most this many others: the newest first of both.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn suspensions(&self, now: Timestamp, most: u32) -> Result<Vec<StoredSuspension>, StoreError>;
}
