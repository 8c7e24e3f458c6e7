//! Transfers that are over go to an archive. Of each stays what a repeat of it and a query need: its id is
//! never another transfer's. What was kept for operators goes with them: the request to end one, and documents
//! of the order of time all of whose transfers are over.

use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, ArchivedDocument, Bundle, DocumentKey, Judged, KeptDocuments,
};
use crate::endings::ENDINGS;
use crate::index::BY_TIME;
use crate::transfer::{Timing, Transfer};
use rialto_sdk::documents::{Collection, Store};
use rialto_sdk::retention::{Standing, standing};

/// What the operator calls them in `keep`.
pub const NAME: &str = "transfers";
/// Where transfers are.
pub const TRANSFERS: &str = "transfers";
const OF: Collection<Transfer> = Collection::new(TRANSFERS);
/// Transfers that are read in a call, at most and as far as one document does not have more: a turn may touch 4096
/// documents. All documents of a call have fewer, but those of an earlier release, which had up to 64 transfers
/// each: what is left of them is judged when they are asked for again.
const READ_MAX: usize = 3600;

/// What may have a period.
#[must_use]
pub fn kept() -> Vec<KeptDocuments> {
    let collections = [TRANSFERS, ENDINGS.name(), BY_TIME.name()];
    vec![KeptDocuments {
        name: NAME.to_owned(),
        collections: collections.map(str::to_owned).into(),
    }]
}

/// How a document stands.
enum Found {
    /// It is not there, or stays for good.
    Gone,
    /// A transfer that it is about has not ended.
    Open,
    /// The last of the transfers that it is about ended then.
    Over(u64),
}

/// Which of these documents of a collection are over since an instant or longer.
pub fn judge(store: &mut impl Store, collection: &str, ids: &[String], before: u64) -> Judged {
    let mut judged = Judged {
        over: Vec::new(),
        young: 0,
        open: 0,
    };
    let mut read = 0;
    for id in ids {
        let found = match collection {
            TRANSFERS => found(store, id, false),
            // It is of the transfer whose id it has.
            _ if collection == ENDINGS.name() => found(store, id, true),
            // Not of this release.
            _ if collection != BY_TIME.name() => Found::Gone,
            _ if read < READ_MAX => slice(store, id, &mut read),
            // Another time.
            _ => Found::Open,
        };
        match found {
            Found::Gone => {}
            Found::Open => judged.open += 1,
            Found::Over(at) if at > before => judged.young += 1,
            Found::Over(at) => judged.over.push(Bundle {
                subject: subject(collection, id),
                at,
                documents: vec![DocumentKey {
                    collection: collection.to_owned(),
                    id: id.clone(),
                }],
            }),
        }
    }
    judged
}

/// What a document is found by in the archive.
fn subject(collection: &str, id: &str) -> String {
    if collection == BY_TIME.name() {
        format!("transfers-by-time:{id}")
    } else {
        format!("transfer:{id}")
    }
}

/// How a transfer stands, or what is kept beside it: that is there even when the transfer is in an archive.
fn found(store: &mut impl Store, id: &str, is_beside: bool) -> Found {
    let Some(transfer) = OF.within(store).get(id) else {
        return Found::Gone;
    };
    if transfer.archived.is_some() && !is_beside {
        return Found::Gone;
    }
    // Messages about it may be later: whoever asks for it does not make it young again.
    let ended = transfer.history.last().map(|step| step.at);
    match ended.filter(|_| transfer.state.is_final()) {
        None => Found::Open,
        Some(at) => Found::Over(at),
    }
}

/// How a document of the order of time stands. Adds to `read` how many transfers were read.
fn slice(store: &mut impl Store, id: &str, read: &mut usize) -> Found {
    let Some(slice) = BY_TIME.within(store).get(id) else {
        return Found::Gone;
    };
    let mut over = 0;
    for entry in slice.entries(id) {
        *read += 1;
        match found(store, &entry.transfer_id, true) {
            Found::Gone => {}
            Found::Open => return Found::Open,
            Found::Over(at) => over = over.max(at),
        }
    }
    Found::Over(over)
}

/// These documents are in an archive. What stays of a collection that this release does not know, only the one
/// knows that has archived it: such documents stay whole, until that release is back and archives them again.
pub fn archived(store: &mut impl Store, archive: &Archive, bundles: &[ArchivedBundle]) {
    for bundle in bundles {
        let [document] = bundle.documents.as_slice() else {
            panic!(
                "{} has {} documents, one was given",
                bundle.subject,
                bundle.documents.len()
            );
        };
        let key = (
            document.collection.as_str(),
            document.id.as_str(),
            document.sha256.as_str(),
        );
        // One that has changed since may be one that was shortened before a crash.
        if standing(store, key) != Standing::Same {
            continue;
        }
        if document.collection == TRANSFERS {
            shorten(store, document, archive);
        } else if [ENDINGS.name(), BY_TIME.name()].contains(&key.0) {
            store.delete(&document.collection, &document.id);
        }
    }
}

fn shorten(store: &mut impl Store, document: &ArchivedDocument, archive: &Archive) {
    let id = &document.id;
    let transfer = OF.within(store).get_for_update(id);
    let Some(transfer) = transfer else {
        panic!("transfer {id} is as the archive has it, and is not there");
    };
    assert!(
        transfer.state.is_final() && transfer.archived.is_none(),
        "transfer {id} is {:?} and in an archive",
        transfer.state
    );
    OF.within(store).put(id, &shortened(transfer, archive));
}

/// What stays of a transfer.
fn shortened(transfer: Transfer, archive: &Archive) -> Transfer {
    Transfer {
        condition: String::new(),
        payer_version: None,
        settlement: Timing::Deferred,
        payer_accounts: None,
        payee_accounts: None,
        history: transfer.history.last().copied().into_iter().collect(),
        deliveries: Vec::new(),
        archived: Some(archive.file.clone()),
        ..transfer
    }
}
