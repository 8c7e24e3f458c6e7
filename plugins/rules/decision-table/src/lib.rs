//! A scheme rule: a table of conditions decides.
//!
//! A row has a condition in CEL (Common Expression Language) and a verdict. The first row whose condition holds decides.
//!
//! | Module | Holds |
//! |---|---|
//! | [`settings`] | the operator's settings and their checks |
//! | [`judgement`] | the verdict of a table on one input |
//! | [`parse`] | the text of a condition, and the places in it |
//! | [`check`] | the types of a condition |
//! | [`operands`] | the types of literals, members and pairs of values |
//! | [`node`] | a checked condition |
//! | [`evaluate`] | a checked condition's value for an input |
//! | [`input`] | the inputs of the steps, as conditions see them |
//! | [`decimal`] | exact decimal numbers and amounts |
//! | [`failure`] | why a condition has no value for an input |

pub mod check;
pub mod decimal;
pub mod evaluate;
pub mod failure;
pub mod input;
pub mod judgement;
pub mod node;
pub mod operands;
pub mod parse;
pub mod settings;

#[cfg(test)]
mod tests;

use input::Record;
use judgement::{Judged, judge};
use rialto_sdk::rule::{Verdict, quote_request, quote_response, transfer_fulfil, transfer_prepare};
use settings::{Code, Settings};

fn judge_quote_request(settings: &Settings, input: &quote_request::Input) -> Verdict {
    verdict(settings, Record::QuoteRequestInput(input))
}

fn judge_quote_response(settings: &Settings, input: &quote_response::Input) -> Verdict {
    verdict(settings, Record::QuoteResponseInput(input))
}

fn judge_transfer_prepare(settings: &Settings, input: &transfer_prepare::Input) -> Verdict {
    verdict(settings, Record::TransferPrepareInput(input))
}

fn judge_transfer_fulfil(settings: &Settings, input: &transfer_fulfil::Input) -> Verdict {
    verdict(settings, Record::TransferFulfilInput(input))
}

/// The verdict.
///
/// # Panics
/// When the settings say that the rule fails if a condition cannot be decided. The step's `on-failure` decides then.
fn verdict(settings: &Settings, input: Record<'_>) -> Verdict {
    match judge(settings, input) {
        Judged::Verdict(verdict) => verdict,
        Judged::Failure(reason) => panic!("{reason}"),
    }
}

rialto_sdk::rule! {
    summary: "Decides by the first row of a table whose condition holds.",
    codes: [
        Code::Invalid.digits(),
        Code::PayerRejected.digits(),
        Code::PayerLimit.digits(),
        Code::PayerPermission.digits(),
        Code::PayerBlocked.digits(),
        Code::PayeeRejected.digits(),
        Code::PayeeLimit.digits(),
        Code::PayeePermission.digits(),
        Code::PayeeBlocked.digits(),
    ],
    settings: Settings,
    validate: settings::validate,
    quote_request: judge_quote_request,
    quote_response: judge_quote_response,
    transfer_prepare: judge_transfer_prepare,
    transfer_fulfil: judge_transfer_fulfil,
}
