//! Documents and ledger, compared with what the model made of the messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::evidence::Evidence;
use crate::known::{Rejection, State, Transfer};
use crate::model::Model;
use crate::problem::{OUTCOME, Problem, STATE};

/// Each transfer's document is what the messages made of it, and has come to an end.
pub fn documents(evidence: &Evidence, model: &Model, problems: &mut Vec<Problem>) {
    let documents = evidence.journal.transfers();
    let ids: BTreeSet<&String> = documents.keys().chain(model.transfers.keys()).collect();
    for id in ids {
        let (expected, found) = (model.transfers.get(id), documents.get(id));
        let (Some(transfer), Some(found)) = (expected, found) else {
            let what = format!("transfer {id} is {found:?}, should be {expected:?}");
            problems.push(Problem::new(STATE, what));
            continue;
        };
        for (pointer, expected) in document(transfer) {
            let found = found.pointer(pointer).unwrap_or(&Value::Null);
            if *found != expected {
                let what = format!("{pointer} of transfer {id} is {found}, should be {expected}");
                problems.push(Problem::new(STATE, what));
            }
        }
        if transfer.state == State::Prepared {
            let what = format!("transfer {id} has come to no end");
            problems.push(Problem::new(OUTCOME, what));
        }
    }
}

/// The expected members of a transfer's document, by JSON pointers.
fn document(transfer: &Transfer) -> Vec<(&'static str, Value)> {
    let prepare = &transfer.prepare;
    let (mut fulfilment, mut completed) = (Value::Null, Value::Null);
    let (mut rejection, mut reason) = (Value::Null, Value::Null);
    let state = match &transfer.state {
        State::Prepared => "PREPARED",
        State::Committed {
            fulfilment: its,
            completed: at,
        } => {
            fulfilment = json!(its);
            completed = json!(at);
            "COMMITTED"
        }
        State::Rejected { why, code, .. } => {
            reason = json!(code);
            rejection = json!(match why {
                Rejection::TimedOut => "TIMED_OUT",
                Rejection::Declined => "DECLINED_BY_PAYEE",
                Rejection::FulfilmentRefused => "FULFILMENT_REFUSED",
            });
            "REJECTED"
        }
        State::Failed { code, .. } => {
            reason = json!(code);
            "FAILED"
        }
    };
    vec![
        ("/transferId", json!(prepare.transfer_id)),
        ("/payerFsp", json!(prepare.payer)),
        ("/payeeFsp", json!(prepare.payee)),
        ("/condition", json!(prepare.condition)),
        ("/expiration", json!(prepare.expiration)),
        ("/state", json!(state)),
        ("/fulfilment", fulfilment),
        ("/completedTimestamp", completed),
        ("/rejection", rejection),
        ("/reason/code", reason),
        // A reminder that comes too late has been cancelled.
        ("/postCommitTimeout", Value::Null),
    ]
}

/// Accounts and entries are those of the transfers, to the cent.
pub fn ledger(evidence: &Evidence, model: &Model, problems: &mut Vec<Problem>) {
    for (fsp, book) in &model.books {
        for (kind, balance, unsettled) in [
            ("LIQUIDITY", book.liquidity, book.received),
            ("POSITION", book.reserved, book.paid),
        ] {
            let id = format!("{fsp}:USD:{kind}");
            let found = evidence.journal.balance(&id);
            let expected = (i128::from(balance), i128::from(unsettled));
            if found != Some(expected) {
                let what =
                    format!("{id} has {found:?} (balance, unsettled), should have {expected:?}");
                problems.push(Problem::new(STATE, what));
            }
        }
    }
    let expected: BTreeMap<String, [String; 3]> = model
        .transfers
        .iter()
        .flat_map(|(id, transfer)| entries(id, transfer))
        .collect();
    let posted = evidence.journal.entries().iter();
    let found: BTreeMap<String, [String; 3]> = posted
        .filter(|(_, entry)| {
            let kind = entry["entryType"].as_str();
            kind.is_some_and(|kind| kind.starts_with("TRANSFER_") || kind == "SETTLEMENT_RECORD")
        })
        .map(|(id, entry)| {
            let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            let of = ["debitAccount", "creditAccount", "amount"].map(text);
            (id.clone(), of.map(without_batch))
        })
        .collect();
    let ids: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    for id in ids {
        let (found, expected) = (found.get(id), expected.get(id));
        if found != expected {
            let what = format!("entry {id} is {found:?}, should be {expected:?}");
            problems.push(Problem::new(STATE, what));
        }
    }
}

/// An account's id; of a batch's, the part before its name, which holds the time of its opening.
fn without_batch(account: String) -> String {
    match account.match_indices(':').nth(2) {
        Some((end, _)) => account[..end].to_owned(),
        None => account,
    }
}

/// The entries that a transfer must have.
fn entries(id: &str, transfer: &Transfer) -> Vec<(String, [String; 3])> {
    if !transfer.was_reserved {
        return Vec::new();
    }
    let prepare = &transfer.prepare;
    let amount = prepare.cents.to_string();
    let liquidity = format!("{}:USD:LIQUIDITY", prepare.payer);
    let position = format!("{}:USD:POSITION", prepare.payer);
    let received = format!("{}:USD:LIQUIDITY", prepare.payee);
    let entry = |name: &str, debit: &str, credit: &str| {
        let of = [debit, credit, &amount].map(str::to_owned);
        (format!("{id}:{name}"), of)
    };
    let mut entries = vec![entry("prepare", &liquidity, &position)];
    match transfer.state {
        State::Committed { .. } => {
            entries.push(entry("fulfil", &position, &received));
            // And recorded, in any batch.
            let owes = format!("{}:USD:SETTLEMENT_POSITION", prepare.payer);
            let owed = format!("{}:USD:SETTLEMENT_POSITION", prepare.payee);
            entries.push(entry("settlement", &owes, &owed));
        }
        State::Rejected { .. } => entries.push(entry("release", &position, &liquidity)),
        State::Prepared | State::Failed { .. } => {}
    }
    entries
}
