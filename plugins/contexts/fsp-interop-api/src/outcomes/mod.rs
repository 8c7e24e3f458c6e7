//! From an outcome of another context to the messages that tell participants.
//!
//! A message that is forwarded keeps its sender, its bytes and its signature; a message that the
//! hub makes says so. Who is told what is the table of the FSPIOP definition, one function for each
//! outcome; the functions are pure, and the exports at the end of each module apply them.

pub mod lookups;
pub mod quotes;
#[cfg(test)]
mod tests;
pub mod transfers;

use crate::delivery::{deliver, frame};
use crate::notice::{Frame, Notice};
use rialto_sdk::logging;

/// A turn: say what it is about, then deliver what the outcome asks for.
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
