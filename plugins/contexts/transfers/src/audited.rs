//! What of a transfer is in the audit log: each of its outcomes, in the turn in which it happens. The movement of the funds is
//! in the same turn, so the entry of a transfer stands for it too.

use rialto_sdk::auditing::Audited;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Money};
use rialto_sdk::money;
use serde_json::json;

use crate::surroundings::Publication;

/// The entry of what is published; none for what changes nothing.
#[must_use]
pub fn of(publication: &Publication) -> Option<Audited> {
    let about = |id: &str| format!("transfer:{id}");
    let refused = |action, id: &str, error: &ErrorInformation| {
        let why = format!("{} {}", error.code, error.description);
        Some(Audited::refused(action, about(id), &why))
    };
    match publication {
        Publication::Prepared(event) => Some(Audited::done(
            "transfer.prepared",
            about(&event.transfer_id),
            terms(&event.payer_fsp, &event.payee_fsp, &event.amount),
        )),
        Publication::CommittedFulfiled(event) => Some(Audited::done(
            "transfer.committed",
            about(&event.transfer_id),
            terms(&event.payer_fsp, &event.payee_fsp, &event.amount),
        )),
        Publication::QueryResponse(_) => None,
        Publication::RejectRequestProcessed(event) => {
            refused("transfer.rejected", &event.transfer_id, &event.error)
        }
        Publication::PrepareRequestTimedout(event) => {
            refused("transfer.timed-out", &event.transfer_id, &event.error)
        }
        Publication::FulfilComitRequestTimedout(event) => {
            // A late answer changes nothing: the transfer has ended before.
            let action = match event.late_mode {
                Some(_) => "transfer.late-answer",
                None => "transfer.timed-out",
            };
            refused(action, &event.transfer_id, &event.error)
        }
        Publication::PrepareDuplicateCheckFailed(event) => {
            refused("transfer.duplicate", &event.transfer_id, &event.error)
        }
        Publication::PrepareLiquidityCheckFailed(event) => {
            refused("transfer.failed", &event.transfer_id, &event.error)
        }
        Publication::PrepareInvalidPayerCheckFailed(event) => {
            refused("transfer.failed", &event.transfer_id, &event.error)
        }
        Publication::PrepareInvalidPayeeCheckFailed(event) => {
            refused("transfer.failed", &event.transfer_id, &event.error)
        }
        Publication::PrepareRuleCheckFailed(event) => {
            refused("transfer.failed", &event.transfer_id, &event.error)
        }
    }
}

/// The entry of a timeout that comes after the commit. The commit is final, so the timeout is what is refused.
#[must_use]
pub fn post_commit_timeout(id: &str) -> Audited {
    let why = "post-commit timeout rejected: the transfer stays committed";
    Audited::refused(
        "transfer.post-commit-timeout",
        format!("transfer:{id}"),
        why,
    )
}

fn terms(payer: &str, payee: &str, amount: &Money) -> serde_json::Value {
    json!({
        "payerFsp": payer,
        "payeeFsp": payee,
        "amount": money::format_amount(amount),
        "currency": amount.currency,
    })
}
