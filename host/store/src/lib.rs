//! The store as a host uses it: the engine's [`Store`], and what the host keeps beside groups. Each subject has its
//! types and one small trait. A backend implements all of them, and is a [`HostStore`].
//!
//! Every call blocks its thread, which must not be a thread of a runtime. A change is durable when it returns. It fails
//! with `StoreError::Fenced` when another host has taken over.

mod activations;
mod archives;
mod audit;
mod canaries;
mod credentials;
mod deliveries;
mod dump;
mod history;
mod load;
mod operations;
mod passkeys;
mod people;
mod plans;
mod publications;
mod receipts;
mod releases;
mod scheduled;
mod snapshot;
mod suspensions;

use rialto_engine::publications::Outbox;
use rialto_engine::store::Store;

pub use activations::{ActivationStore, StoredActivation};
pub use archives::{Archive, ArchiveStore, Class};
pub use audit::{
    AuditSnapshot, AuditStore, EntryFilter, HEAD_BYTES, StoredCheckpoint, StoredEntry, StoredTile,
};
pub use canaries::{CanaryStore, HeldBack};
pub use credentials::{Credential, CredentialKind, CredentialStore};
pub use deliveries::DeliveryHead;
pub use dump::{Pending, StoreDump};
pub use history::HistoryStore;
pub use load::{MOVED, NextNumbers, Redelivered, StoreLoad, UNFINISHED_LOAD};
pub use operations::{Operation, OperationStore, Outcome};
pub use passkeys::{Act, Passkey, PasskeyStore};
pub use people::{PeopleKeyStore, PeopleKeys};
pub use plans::{PlanSignature, PlanStore, StoredPlan};
pub use publications::PublicationSnapshot;
pub use receipts::ReceiptPages;
pub use releases::{ReleaseStore, StoredRelease};
pub use scheduled::{ScheduleStore, ScheduledRelease};
pub use snapshot::{DocumentSnapshot, Order};
pub use suspensions::{StoredSuspension, SuspensionStore};

/// A store on which a host runs.
pub trait HostStore:
    Store
    + ActivationStore
    + ArchiveStore
    + AuditStore
    + CanaryStore
    + CredentialStore
    + HistoryStore
    + OperationStore
    + Outbox
    + PasskeyStore
    + PeopleKeyStore
    + PlanStore
    + ReleaseStore
    + ScheduleStore
    + SuspensionStore
{
}

impl<T> HostStore for T where
    T: Store
        + ActivationStore
        + ArchiveStore
        + AuditStore
        + CanaryStore
        + CredentialStore
        + HistoryStore
        + OperationStore
        + Outbox
        + PasskeyStore
        + PeopleKeyStore
        + PlanStore
        + ReleaseStore
        + ScheduleStore
        + SuspensionStore
{
}
