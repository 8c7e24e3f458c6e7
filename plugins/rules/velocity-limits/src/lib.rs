//! A scheme rule: limits on the number and the sum of transfers within a time.
//!
//! The rule declares a counter for each limit. The input has the counter's value: what the payer, the payee or their FSPs
//! have transferred before.
//!
//! | Module | Holds |
//! |---|---|
//! | [`limit`] | amounts and offsets of the settings |
//! | [`settings`] | the operator's settings, their checks and their counters |
//! | [`judgement`] | the verdict on one transfer |

pub mod judgement;
pub mod limit;
pub mod settings;

use judgement::{BRANCHES, PARTIES_UNKNOWN, PAYEE_LIMIT, PAYER_LIMIT, judge};
use rialto_sdk::rule::{Verdict, transfer_prepare_counted};
use settings::Settings;

/// Checks a transfer.
fn judge_transfer(settings: &Settings, input: &transfer_prepare_counted::Input) -> Verdict {
    judge(settings, &input.transfer.amount, &input.counts)
}

rialto_sdk::rule! {
    summary: "Refuses transfers beyond a number or a sum within a time, by party and FSP.",
    codes: [PAYER_LIMIT, PAYEE_LIMIT, PARTIES_UNKNOWN],
    branches: BRANCHES,
    settings: Settings,
    validate: settings::validate,
    counters: settings::counters,
    transfer_prepare_counted: judge_transfer,
}
