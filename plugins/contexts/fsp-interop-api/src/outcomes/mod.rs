//! From an outcome of another context to the messages that tell participants.
//!
//! A forwarded message keeps its sender, its bytes and its signature. A message of the hub has the hub as its
//! sender. Each outcome has a pure function, after the tables of the FSPIOP definition; the exports at the end
//! of each module apply them.

pub mod lookups;
pub mod quotes;
#[cfg(test)]
mod tests;
pub mod transfers;

use crate::delivery::{deliver, frame};
use crate::notice::{Frame, Notice};
use rialto_sdk::logging;

/// Runs a turn: adds its subject, then delivers the messages of the outcome.
fn tell<N>(kind: &str, id: &str, notices: impl FnOnce(&Frame<'_>) -> N)
where
    N: IntoIterator<Item = Notice>,
{
    logging::subject(kind, id);
    let frame = frame();
    for notice in notices(&frame) {
        deliver(&frame, notice);
    }
}
