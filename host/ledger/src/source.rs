//! The components and collections of the contexts that keep the ledger's documents.

use rialto_engine::CollectionId;
use rialto_store::DocumentSnapshot;

use crate::LedgerError;

/// The component that keeps accounts.
pub const KEEPER: &str = "accounts-and-balances";
/// The component that keeps participants, and the history of their changes.
const REGISTRAR: &str = "participant-lifecycle-management";

/// The collections, as messages name them.
pub(crate) const ACCOUNTS: &str = "accounts";
pub(crate) const ENTRIES: &str = "entries";
pub(crate) const PAGES: &str = "entry-pages";
pub(crate) const RESERVATIONS: &str = "reservations";
pub(crate) const UNSETTLED: &str = "unsettled-changes";
pub(crate) const PARTICIPANTS: &str = "participants";
pub(crate) const CHANGES: &str = "changes";
pub(crate) const REQUESTS: &str = "requests";

/// The collections that were ever written to.
#[derive(Clone, Copy, Debug)]
pub struct Collections {
    pub(crate) accounts: CollectionId,
    pub(crate) entries: Option<CollectionId>,
    pub(crate) pages: Option<CollectionId>,
    pub(crate) reservations: Option<CollectionId>,
    pub(crate) unsettled: Option<CollectionId>,
    pub(crate) participants: Option<CollectionId>,
    pub(crate) changes: Option<CollectionId>,
    pub(crate) requests: Option<CollectionId>,
}

impl Collections {
    pub(crate) fn of(snapshot: &dyn DocumentSnapshot) -> Result<Self, LedgerError> {
        let missing = LedgerError::NoLedger {
            component: KEEPER,
            collection: ACCOUNTS,
        };
        Ok(Self {
            accounts: snapshot.collection(KEEPER, ACCOUNTS).ok_or(missing)?,
            entries: snapshot.collection(KEEPER, ENTRIES),
            pages: snapshot.collection(KEEPER, PAGES),
            reservations: snapshot.collection(KEEPER, RESERVATIONS),
            unsettled: snapshot.collection(KEEPER, UNSETTLED),
            participants: snapshot.collection(REGISTRAR, PARTICIPANTS),
            changes: snapshot.collection(REGISTRAR, CHANGES),
            requests: snapshot.collection(REGISTRAR, REQUESTS),
        })
    }
}
