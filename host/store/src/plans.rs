//! Plans of releases and the officers' approvals, kept permanently.

use rialto_engine::Timestamp;
use rialto_engine::store::StoreError;

/// A plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPlan {
    /// SHA-256 of the content.
    pub digest: String,
    /// The plan's text.
    pub content: String,
    /// The person who made it.
    pub maker: String,
    /// When it was made.
    pub made: Timestamp,
    /// The release that it became, if it was applied.
    pub release: Option<u64>,
}

/// An officer's approval of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSignature {
    /// The plan's digest.
    pub plan: String,
    /// The officer's name.
    pub officer: String,
    /// The signature's algorithm, or `passkey`.
    pub kind: String,
    /// The signature, base64url; empty for a passkey.
    pub signature: String,
    /// When the host took it.
    pub at: Timestamp,
}

/// Keeps plans of releases and the officers' approvals.
pub trait PlanStore {
    /// Keep a plan. One that is there stays as it is.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn add_plan(&self, plan: &StoredPlan) -> Result<(), StoreError>;
    /// Keep that a plan became a release, or that it did not.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn plan_applied(&self, digest: &str, release: Option<u64>) -> Result<(), StoreError>;
    /// Keep an officer's approval of a plan, instead of an earlier one of the same officer.
    ///
    /// # Errors
    /// When the store cannot write or belongs to a newer host.
    fn sign_plan(&self, signature: &PlanSignature) -> Result<(), StoreError>;
    /// A plan, if there is one of this digest.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn plan(&self, digest: &str) -> Result<Option<StoredPlan>, StoreError>;
    /// The digests of the last plans, the newest first, at most this many.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn plan_digests(&self, most: u32) -> Result<Vec<String>, StoreError>;
    /// The approvals of a plan, in the order of the officers' names.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn plan_signatures(&self, plan: &str) -> Result<Vec<PlanSignature>, StoreError>;
}
