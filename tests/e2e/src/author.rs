//! What plugin authors run in their repositories. Nothing here knows a host or a scheme.

use std::ffi::OsStr;
use std::path::Path;

use crate::CliOutput;

/// How cargo builds their repositories: what they share is compiled once for all tests, and quickly. What authors hand over is
/// optimized as their repository says.
pub const CARGO: [(&str, &str); 4] = [
    (
        "CARGO_BUILD_BUILD_DIR",
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/authors"),
    ),
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1"),
];

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
            .envs(CARGO)
            .env("CARGO_NET_OFFLINE", "true")
            .args(arguments);
    })
}
