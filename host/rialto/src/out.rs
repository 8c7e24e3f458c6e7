//! The output of commands: results to standard output, everything else to standard error.
//!
//! A reader may close the pipe early (`rialto events ID --json | head`). That is not a failure, and the command
//! ends quietly. `println!` would panic, so a lint in `lib.rs` forbids it in this crate.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};

use serde::Serialize;

/// Why a result was not written.
#[derive(Debug, thiserror::Error)]
pub enum Unwritten {
    /// The reader has closed the pipe; see [`quietly`].
    #[error("nobody reads standard output any more")]
    Closed,
    /// The system refused the write.
    #[error("writing to standard output")]
    Failed(#[source] std::io::Error),
    /// It cannot be encoded as JSON.
    #[error("writing JSON")]
    Json(#[from] serde_json::Error),
}

/// Write a result that has its own line ends.
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

/// Write a line to standard error. Failures are ignored.
pub fn note(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// The outcome of a command. A closed pipe counts as success.
///
/// # Errors
/// Any other.
pub fn quietly(outcome: anyhow::Result<u8>) -> anyhow::Result<u8> {
    match outcome {
        Err(error) if matches!(error.downcast_ref(), Some(Unwritten::Closed)) => Ok(0),
        outcome => outcome,
    }
}
