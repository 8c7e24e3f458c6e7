//! What of a transfer is in the audit log: each of its outcomes, in the turn in which it happens. The movement of the funds is
//! in the same turn, so the entry of a transfer stands for it too.

use rialto_sdk::auditing::Audited;
use rialto_sdk::bindings::rialto::common::types::{ErrorInformation, Money};
use rialto_sdk::errors::error;
use rialto_sdk::money;
use serde_json::json;

use crate::surroundings::Publication;

/// The entry of what is published; none for what changes nothing.
#[must_use]
pub fn of(publication: &Publication) -> Option<Audited> {
    let about = |id: &str| format!("transfer:{id}");
    let refused = |action, id: &str, error: &ErrorInformation, (payer, payee): (&str, &str)| {
        let why = format!("{} {}", error.code, error.description);
        Some(Audited {
            details: json!({ "payerFsp": payer, "payeeFsp": payee }),
            ..Audited::refused(action, about(id), &why)
        })
    };
    /// The entry of a refusal, by the members that all such events have.
    macro_rules! refused {
        ($action:expr, $event:expr) => {
            refused(
                $action,
                &$event.transfer_id,
                &$event.error,
                (&$event.payer_fsp, &$event.payee_fsp),
            )
        };
    }
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
            // The entry stays for ever, and the FSP's own words may name a person.
            let named = error(&event.error.code, "");
            let fsps = (&*event.payer_fsp, &*event.payee_fsp);
            refused("transfer.rejected", &event.transfer_id, &named, fsps)
        }
        Publication::PrepareRequestTimedout(event) => refused!("transfer.timed-out", event),
        Publication::FulfilComitRequestTimedout(event) => {
            // A late answer changes nothing: the transfer has ended before.
            let action = match event.late_mode {
                Some(_) => "transfer.late-answer",
                None => "transfer.timed-out",
            };
            refused!(action, event)
        }
        Publication::PrepareDuplicateCheckFailed(event) => {
            let why = format!("{} {}", event.error.code, event.error.description);
            Some(Audited {
                details: json!({ "requesterFsp": event.requester_fsp }),
                ..Audited::refused("transfer.duplicate", about(&event.transfer_id), &why)
            })
        }
        Publication::PrepareLiquidityCheckFailed(event) => refused!("transfer.failed", event),
        Publication::PrepareInvalidPayerCheckFailed(event) => refused!("transfer.failed", event),
        Publication::PrepareInvalidPayeeCheckFailed(event) => refused!("transfer.failed", event),
        Publication::PrepareRuleCheckFailed(event) => refused!("transfer.failed", event),
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
