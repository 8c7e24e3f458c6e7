//! Transfers that are over go to an archive. Of each stays what a repeat of it and a query need: its id is
//! never another transfer's. Its entry by time stays too, so that it is listed as before.

use crate::bindings::exports::rialto::host::retention_handler::{
    Archive, ArchivedBundle, Bundle, DocumentKey, Judged, KeptDocuments,
};
use crate::transfer::{Timing, Transfer};
use rialto_sdk::documents::{Collection, Store};
use rialto_sdk::retention::{Standing, standing};

/// What the operator calls them in `keep`.
pub const NAME: &str = "transfers";
/// Where transfers are.
pub const TRANSFERS: &str = "transfers";
const OF: Collection<Transfer> = Collection::new(TRANSFERS);

/// What may have a period.
#[must_use]
pub fn kept() -> Vec<KeptDocuments> {
    vec![KeptDocuments {
        name: NAME.to_owned(),
        collections: vec![TRANSFERS.to_owned()],
    }]
}

/// Which of these transfers are over since an instant or longer.
pub fn judge(store: &mut impl Store, ids: &[String], before: u64) -> Judged {
    let mut judged = Judged {
        over: Vec::new(),
        young: 0,
        open: 0,
    };
    for id in ids {
        let transfer = OF.within(store).get(id);
        let Some(transfer) = transfer.filter(|transfer| transfer.archived.is_none()) else {
            continue;
        };
        // Messages about it may be later: whoever asks for it does not make it young again.
        let ended = transfer.history.last().map(|step| step.at);
        match ended.filter(|_| transfer.state.is_final()) {
            None => judged.open += 1,
            Some(at) if at > before => judged.young += 1,
            Some(at) => judged.over.push(Bundle {
                subject: format!("transfer:{id}"),
                at,
                documents: vec![DocumentKey {
                    collection: TRANSFERS.to_owned(),
                    id: id.clone(),
                }],
            }),
        }
    }
    judged
}

/// These transfers are in an archive.
pub fn archived(store: &mut impl Store, archive: &Archive, bundles: &[ArchivedBundle]) {
    for bundle in bundles {
        let [document] = bundle.documents.as_slice() else {
            panic!(
                "{} has {} documents, one was given",
                bundle.subject,
                bundle.documents.len()
            );
        };
        let id = &document.id;
        let key = (
            document.collection.as_str(),
            id.as_str(),
            document.sha256.as_str(),
        );
        // One that has changed since may be one that was shortened before a crash.
        if standing(store, key) != Standing::Same {
            continue;
        }
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
