//! What plugin authors run in their repositories. Nothing here knows a host or a scheme.

use std::ffi::OsStr;
use std::path::Path;

use crate::CliOutput;

/// The folder in which their repositories are built. What they share is compiled once for all tests; their own crates
/// have different names.
const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/authors");

/// What a program says in an author's repository. Cargo downloads nothing.
///
/// # Errors
/// When it cannot be started.
pub fn run(
    program: impl AsRef<OsStr>,
    folder: &Path,
    arguments: &[&str],
) -> anyhow::Result<CliOutput> {
    CliOutput::of(program.as_ref(), |command| {
        command
            .current_dir(folder)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TARGET_DIR", TARGET)
            .args(arguments);
    })
}
