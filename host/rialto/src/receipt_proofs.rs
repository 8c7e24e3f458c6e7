//! Proofs of receipts: each receipt with the entry of the audit log that has its hash, and what is needed to ask its rule
//! again on another machine.

use rialto_components::audit_log::Proof;
use rialto_components::rules::Receipt;
use rialto_engine::store::{Receipt as StoredReceipt, StoreError};
use rialto_receipts::{Malformed, ProofFile, ReceiptProof, Unproven, Why, fields};
use serde_json::value::RawValue;

use crate::host::Shared;
use crate::personal_data::Readable as _;
use crate::replay;

/// The file of these receipts. Receipts without a proof are named in it.
///
/// # Errors
/// When the store cannot be read.
pub fn file(shared: &Shared, receipts: Vec<StoredReceipt>) -> Result<ProofFile, StoreError> {
    let mut file = ProofFile::default();
    for stored in receipts {
        let id = stored.id;
        let opened = shared.people.readable_receipt(stored);
        if !opened.is_readable {
            file.unproven.push(Unproven {
                id,
                why: Why::Unreadable,
            });
            continue;
        }
        match proof(shared, &opened.receipt)? {
            Ok(proof) => {
                file.receipts.push(proof);
                add_facts(shared, &opened.receipt, &mut file);
            }
            Err(why) => file.unproven.push(Unproven { id, why }),
        }
    }
    Ok(file)
}

/// The proof of one receipt, or why there is none.
fn proof(shared: &Shared, stored: &StoredReceipt) -> Result<Result<ReceiptProof, Why>, StoreError> {
    let at = stored.at.0;
    let disclosures = match fields::disclosures(&stored.body, at) {
        Ok(disclosures) => disclosures,
        Err(Malformed::Unsalted) => return Ok(Err(Why::Unsalted)),
        Err(Malformed::Json(error)) => {
            tracing::warn!(receipt = stored.id, %error, "a receipt in the store cannot be read");
            return Ok(Err(Why::Unreadable));
        }
    };
    let (digests, hash) = fields::summed(&disclosures);
    // An entry is in the journal first, and is found when it is in the tables.
    let is_all_there = shared.store.audit_is_flushed()?;
    let Some(found) = shared.audit_reader.find(at, &hash.text())? else {
        return Ok(Err(if is_all_there {
            Why::Unlogged
        } else {
            Why::Unsigned
        }));
    };
    Ok(match found.proof {
        Proof::Verified => Ok(ReceiptProof {
            id: stored.id,
            digests: digests.iter().map(|digest| digest.text()).collect(),
            disclosures,
            index: found.index,
            entry: found.entry,
            path: found.path,
            checkpoint: found.checkpoint,
        }),
        Proof::Unsigned => Err(Why::Unsigned),
        Proof::Changed => Err(Why::Changed),
    })
}

/// Add the settings and the scheme's facts with which a receipt's rule was asked, as far as its release is still there.
fn add_facts(shared: &Shared, stored: &StoredReceipt, file: &mut ProofFile) {
    let Ok(receipt) = serde_json::from_str::<Receipt>(&stored.body) else {
        return;
    };
    let Ok(release) = replay::release(shared, receipt.release) else {
        return;
    };
    let Some(bound) = replay::bound(&release, &receipt) else {
        return;
    };
    let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
    // Whoever gets the file is not to read what nobody may probe. Such a rule cannot be asked again elsewhere.
    let is_open = !is_confidential(shared, &receipt);
    if let Some(settings) = raw(&bound.identity.settings).filter(|_| is_open) {
        let digest = bound.settings_digest.to_string();
        file.settings.insert(digest, settings);
    }
    if let (Some(digest), Some(facts)) = (receipt.scheme_digest, raw(&bound.identity.scheme)) {
        file.schemes.insert(digest.to_string(), facts);
    }
}

/// Whether the rule of a receipt is confidential in its release, or in the current one.
fn is_confidential(shared: &Shared, receipt: &Receipt) -> bool {
    let current = shared.releases.current().map(|(_, document)| document);
    let then = shared.releases.show(receipt.release).ok();
    let documents = [current, then.map(|shown| shown.document)];
    documents.iter().flatten().any(|document| {
        document.scheme().is_ok_and(|scheme| {
            let mut rules = scheme.rules.iter();
            rules.any(|(name, rule)| name.as_str() == &*receipt.rule && rule.confidential)
        })
    })
}
