//! A scheme rule: the same payment must not be made twice within a time.
//!
//! Two payments are the same if FSPs, parties and amount are, whatever their ids. The rule declares one counter, whose
//! value says how many such payments there were.
//!
//! | Module | Holds |
//! |---|---|
//! | [`settings`] | the operator's settings, their checks and the counter |
//! | [`judgement`] | the verdict on one transfer |

pub mod judgement;
pub mod settings;

use judgement::{BRANCHES, DUPLICATE, judge};
use rialto_sdk::rule::{Verdict, transfer_prepare_counted};
use settings::Settings;

/// Checks a transfer.
fn judge_transfer(settings: &Settings, input: &transfer_prepare_counted::Input) -> Verdict {
    judge(settings, &input.counts)
}

rialto_sdk::rule! {
    summary: "Refuses a payment that the same payer has made to the same payee shortly before.",
    codes: [DUPLICATE],
    branches: BRANCHES,
    settings: Settings,
    validate: settings::validate,
    counters: settings::counters,
    transfer_prepare_counted: judge_transfer,
}
