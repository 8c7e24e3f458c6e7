//! Transfers as operators read them.

use crate::bindings::rialto::scheduling::get_earlier_work::EarlierWork;
use crate::endings::Ending;
use crate::transfer::Transfer;
use rialto_sdk::operators::Amount;
use serde_json::{Value, json};

/// A transfer in a list.
#[must_use]
pub fn summary(transfer: &Transfer) -> Value {
    let began = transfer.history.first().map(|step| step.at);
    json!({
        "transferId": transfer.transfer_id,
        "payerFsp": transfer.payer_fsp,
        "payeeFsp": transfer.payee_fsp,
        "amount": Amount::from(&transfer.amount),
        "state": transfer.state,
        "expiration": transfer.expiration,
        "beganAt": began,
        "endedAt": transfer.ended_at(),
        "rejection": transfer.rejection,
        "reason": transfer.reason,
        "settlementModel": transfer.settlement_model,
        "archived": transfer.archived,
    })
}

/// A transfer with its history.
#[must_use]
pub fn whole(transfer: &Transfer, ending: Option<&Ending>) -> Value {
    let mut told = summary(transfer);
    told["mode"] = json!(transfer.mode);
    told["endedBy"] = json!(transfer.ended_by);
    told["postCommitTimeout"] = json!(transfer.post_commit_timeout);
    told["ending"] = json!(ending);
    told["story"] = Value::Array(story(transfer, ending));
    told
}

/// What a timeout or an operator's end waits for.
#[must_use]
pub fn waits_for(earlier: &EarlierWork) -> Value {
    match earlier {
        EarlierWork::Running => json!({ "what": "running" }),
        EarlierWork::Delivery(delivery) => {
            json!({ "what": "delivery", "id": delivery.id, "context": delivery.context })
        }
        EarlierWork::DeadLetter(delivery) => {
            json!({ "what": "dead-letter", "id": delivery.id, "context": delivery.context })
        }
    }
}

/// The events, by time.
fn story(transfer: &Transfer, ending: Option<&Ending>) -> Vec<Value> {
    let mut story: Vec<(u64, Value)> = Vec::new();
    for step in &transfer.history {
        story.push((step.at, json!({ "what": "state", "state": step.state })));
    }
    for delivery in &transfer.deliveries {
        let mut told = json!({
            "what": if delivery.delivered { "delivered" } else { "not-delivered" },
            "about": delivery.kind,
            "to": delivery.destination,
            "method": delivery.method,
            "path": delivery.path,
            "status": delivery.status,
            "attempts": delivery.attempts,
        });
        if let Some(reason) = &delivery.reason {
            told["reason"] = json!(reason);
        }
        story.push((delivery.reported_at, told));
    }
    if let Some(ending) = ending {
        let asked = json!({ "what": "end-asked", "by": ending.maker, "reason": ending.reason });
        story.push((ending.asked_at, asked));
        if let (Some(at), Some(by)) = (ending.decided_at, &ending.checker) {
            let decided = json!({ "what": "end-decided", "by": by, "state": ending.state });
            story.push((at, decided));
        }
    }
    story.sort_by_key(|(at, _)| *at);
    let told = story.into_iter().map(|(at, mut what)| {
        what["at"] = json!(at);
        what
    });
    told.collect()
}
