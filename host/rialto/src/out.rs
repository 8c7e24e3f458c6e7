//! What commands write: results to standard output, everything else to standard error.
//!
//! A reader that has seen enough closes its end (`rialto events ID --json | head`). That is no
//! failure: the command ends quietly. So nothing here panics as `println!` does, and nothing else in
//! this crate writes to either stream; a lint in `lib.rs` sees to it.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

use serde::Serialize;

/// Why a result was not written.
#[derive(Debug, thiserror::Error)]
pub enum Unwritten {
    /// Nobody reads any more; see [`quietly`].
    #[error("nobody reads standard output any more")]
    Closed,
    /// The system does not take it.
    #[error("writing to standard output")]
    Failed(#[source] std::io::Error),
    /// It cannot be put as JSON.
    #[error("writing JSON")]
    Json(#[from] serde_json::Error),
}

/// Write a result that ends its own lines.
///
/// # Errors
/// As [`Unwritten`].
pub fn text(text: impl Display) -> Result<(), Unwritten> {
    let mut out = std::io::stdout().lock();
    let written = write!(out, "{text}").and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Unwritten::Closed,
        _ => Unwritten::Failed(error),
    })
}

/// Write a line of a result.
///
/// # Errors
/// As [`Unwritten`].
pub fn line(line: impl Display) -> Result<(), Unwritten> {
    text(format_args!("{line}\n"))
}

/// Write a result as one line of JSON.
///
/// # Errors
/// As [`Unwritten`].
pub fn json(value: &impl Serialize) -> Result<(), Unwritten> {
    line(serde_json::to_string(value)?)
}

/// Write a line for the person at the terminal. If nobody reads it, nobody misses it.
pub fn note(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// The outcome of a command whose reader may have gone away, which is no failure.
///
/// # Errors
/// Any other.
pub fn quietly(outcome: anyhow::Result<u8>) -> anyhow::Result<u8> {
    match outcome {
        Err(error) if matches!(error.downcast_ref(), Some(Unwritten::Closed)) => Ok(0),
        outcome => outcome,
    }
}
