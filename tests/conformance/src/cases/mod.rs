//! The cases, by subject.

mod bodies;
mod captured;
mod defects;
mod duplicates;
mod fulfilment;
mod headers;
mod liquidity;
mod participants;
mod parties;
mod paths;
mod prepare;
mod quotes;
mod quotes_refused;
mod signatures;
mod timeouts;
mod transfers;

use crate::case::Case;

/// All cases, in the order in which they run.
pub fn all() -> Vec<Case> {
    [
        &participants::CASES[..],
        &parties::CASES,
        &quotes::CASES,
        &quotes_refused::CASES,
        &transfers::CASES,
        &duplicates::CASES,
        &prepare::CASES,
        &fulfilment::CASES,
        &liquidity::CASES,
        &timeouts::CASES,
        &defects::CASES,
        &paths::CASES,
        &headers::CASES,
        &signatures::CASES,
        &captured::CASES,
        &bodies::CASES,
    ]
    .concat()
}
