//! A scheme rule: it refuses quotes and transfers outside business hours.
//!
//! | Module | Holds |
//! |---|---|
//! | [`settings`] | what an operator writes, and what is wrong with it |
//! | [`calendar`] | days of the week, times of day and dates |
//! | [`amounts`] | currencies and amounts |
//! | [`judgement`] | the verdict on an amount at an instant |
//!
//! The README tells operators how to use it.

pub mod amounts;
pub mod calendar;
pub mod judgement;
pub mod settings;

use judgement::{CLOSED, judge};
use rialto_sdk::rule::{Verdict, quote_request, transfer_prepare};
use settings::{Settings, validate};

fn judge_quote_request(settings: &Settings, input: &quote_request::Input) -> Verdict {
    judge(settings, input.now, &input.request.amount)
}

fn judge_transfer(settings: &Settings, input: &transfer_prepare::Input) -> Verdict {
    judge(settings, input.now, &input.transfer.amount)
}

rialto_sdk::rule! {
    summary: "Refuses quotes and transfers outside business hours.",
    codes: [CLOSED],
    settings: Settings,
    validate: validate,
    quote_request: judge_quote_request,
    transfer_prepare: judge_transfer,
}
