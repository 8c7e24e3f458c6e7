//! Archiving of transfers that are over. A shortened document stays, for repeats and queries, so that the id is
//! never reused. Requests to end a transfer are archived with it, and index documents after the last of their
//! transfers. Counters have a period of their own, from the end of their windows on.

use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, ArchivedDocument, Bundle, DocumentKey, Judged, KeptDocuments,
};
use crate::counters::COUNTERS;
use crate::endings::ENDINGS;
use crate::index::BY_TIME;
use crate::transfer::{Timing, Transfer};
use rialto_sdk::documents::{Collection, Store};
use rialto_sdk::retention::{Standing, standing};

/// Their name in the operator's `keep`.
pub const NAME: &str = "transfers";
/// The collection of transfers.
pub const TRANSFERS: &str = "transfers";
const OF: Collection<Transfer> = Collection::new(TRANSFERS);
/// The most transfers that a call reads, unless one document has more: a turn may touch 4096 documents. Documents
/// of an earlier release have up to 64 transfers: the host asks for the rest of them again.
const READ_MAX: usize = 3600;

/// The names that may have a period.
#[must_use]
pub fn kept() -> Vec<KeptDocuments> {
    let collections = [TRANSFERS, ENDINGS.name(), BY_TIME.name()];
    vec![
        KeptDocuments {
            name: NAME.to_owned(),
            collections: collections.map(str::to_owned).into(),
        },
        KeptDocuments {
            name: COUNTERS.name().to_owned(),
            collections: vec![COUNTERS.name().to_owned()],
        },
    ]
}

/// The state of a document for archiving.
enum Found {
    /// It does not exist, or stays for good.
    Gone,
    /// One of its transfers has not ended.
    Open,
    /// The last of its transfers ended at this instant.
    Over(u64),
}

/// The documents of a collection that have been over since an instant or longer.
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
            // Its id is the transfer's.
            _ if collection == ENDINGS.name() => found(store, id, true),
            _ if collection == COUNTERS.name() => counter(store, id),
            // Not of this release.
            _ if collection != BY_TIME.name() => Found::Gone,
            _ if read < READ_MAX => slice(store, id, before, &mut read),
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
                    sha256: None,
                }],
                people: Vec::new(),
            }),
        }
    }
    judged
}

/// The subjects of a document in the archive.
fn subject(collection: &str, id: &str) -> String {
    if collection == COUNTERS.name() {
        format!("counter:{id}")
    } else if collection == BY_TIME.name() {
        format!("transfers-by-time:{id}")
    } else {
        format!("transfer:{id}")
    }
}

/// The state of a transfer, or of a document beside it, which may exist when the transfer is already archived.
fn found(store: &mut impl Store, id: &str, is_beside: bool) -> Found {
    let Some(transfer) = OF.within(store).get(id) else {
        return Found::Gone;
    };
    if transfer.archived.is_some() && !is_beside {
        return Found::Gone;
    }
    // Later messages do not count: a query does not make a transfer younger.
    let ended = transfer.history.last().map(|step| step.at);
    match ended.filter(|_| transfer.state.is_final()) {
        None => Found::Open,
        Some(at) => Found::Over(at),
    }
}

/// The state of a counter's document: it is over when its last slot has left its window.
fn counter(store: &mut impl Store, id: &str) -> Found {
    let document = COUNTERS.within(store).get(id);
    document.map_or(Found::Gone, |document| Found::Over(document.until))
}

/// The state of an index document. Adds the number of transfers read to `read`. Reads none if a transfer arrived
/// after `before`: then it cannot have ended before that.
fn slice(store: &mut impl Store, id: &str, before: u64, read: &mut usize) -> Found {
    let Some(slice) = BY_TIME.within(store).get(id) else {
        return Found::Gone;
    };
    let entries = slice.entries(id);
    let youngest = entries.iter().map(|entry| entry.at).max().unwrap_or(0);
    if youngest > before {
        return Found::Over(youngest);
    }
    let mut over = 0;
    for entry in entries {
        *read += 1;
        match found(store, &entry.transfer_id, true) {
            Found::Gone => {}
            Found::Open => return Found::Open,
            Found::Over(at) => over = over.max(at),
        }
    }
    Found::Over(over)
}

/// Removes documents that are in an archive. Documents of a collection that this release does not know stay
/// whole: only the release that archived them knows what has to stay in their place.
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
        // A changed document may have been shortened before a crash.
        if standing(store, key) != Standing::Same {
            continue;
        }
        if document.collection == TRANSFERS {
            shorten(store, document, archive);
        } else if [ENDINGS.name(), BY_TIME.name(), COUNTERS.name()].contains(&key.0) {
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

/// The shortened document of a transfer.
fn shortened(transfer: Transfer, archive: &Archive) -> Transfer {
    Transfer {
        condition: String::new(),
        payer_version: None,
        settlement: Timing::Deferred,
        agreed: None,
        payer_accounts: None,
        payee_accounts: None,
        history: transfer.history.last().copied().into_iter().collect(),
        counted: Vec::new(),
        deliveries: Vec::new(),
        archived: Some(archive.file.clone()),
        ..transfer
    }
}
