//! A scheme rule: it refuses quotes and transfers of barred parties and participants.
//!
//! | Module | Holds |
//! |---|---|
//! | [`settings`] | what an operator writes, and what is wrong with it |
//! | [`salt`] | the salt, and the hashes of a party |
//! | [`hashes`] | the list of hashes, and how it is read |
//! | [`digits`] | hexadecimal digits |
//! | [`judgement`] | the verdict on a quote or a transfer |
//!
//! The README tells operators how to make hashes, and how many of them fit.

pub mod digits;
pub mod hashes;
pub mod judgement;
pub mod salt;
pub mod settings;

use judgement::{NO_QUOTE, NOT_ACCEPTED, judge_quote, judge_transfer};
use rialto_sdk::rule::{Verdict, quote_request, transfer_prepare};
use settings::{Settings, validate};

fn check_quote(settings: &Settings, input: &quote_request::Input) -> Verdict {
    judge_quote(settings, &input.request)
}

fn check_transfer(settings: &Settings, input: &transfer_prepare::Input) -> Verdict {
    judge_transfer(settings, &input.transfer, input.agreement.as_ref())
}

rialto_sdk::rule! {
    summary: "Refuses quotes and transfers of parties and participants on a list of the operator.",
    codes: [NOT_ACCEPTED, NO_QUOTE],
    settings: Settings,
    validate: validate,
    quote_request: check_quote,
    transfer_prepare: check_transfer,
}
