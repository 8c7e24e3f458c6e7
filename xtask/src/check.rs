//! `cargo xtask check`: everything that can be said about the code without running it.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{process, repository, tidy};

/// Run every check, and say at the end which ones failed.
pub fn check() -> Result<()> {
    let root = repository::root();
    let plugins = repository::plugins();
    let mut failed = Vec::new();
    let mut step = |name: &str, outcome: Result<()>| {
        if let Err(error) = outcome {
            eprintln!("{error:#}");
            failed.push(name.to_owned());
        }
    };
    step("tidy", tidy::tidy(false));
    for (name, folder) in [("host", &root), ("plugins", &plugins)] {
        let cargo = || cargo_in(folder);
        let label = |what: &str| format!("{what} ({name})");
        process::say(&label("formatting"));
        let mut format = cargo();
        format.args(["fmt", "--all", "--", "--check"]);
        step(&label("formatting"), process::run(&mut format));
        process::say(&label("lints"));
        let mut lints = cargo();
        lints
            .args(["clippy", "--workspace", "--all-targets"])
            .args(["--", "-D", "warnings"]);
        step(&label("lints"), process::run(&mut lints));
        process::say(&label("documentation"));
        let mut documentation = cargo();
        documentation
            .args([
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
            ])
            .env("RUSTDOCFLAGS", "-D warnings");
        step(&label("documentation"), process::run(&mut documentation));
    }
    // The fuzz targets' own build takes a minute: their lints are the compiler's, when they are run.
    process::say("formatting (fuzz)");
    let mut format = process::cargo();
    format
        .current_dir(repository::fuzz())
        .args(["fmt", "--", "--check"]);
    step("formatting (fuzz)", process::run(&mut format));
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    process::say("all checks passed");
    Ok(())
}

/// Cargo in one of the two workspaces. The plugins are checked for this machine, which needs no
/// other compiler.
fn cargo_in(folder: &Path) -> Command {
    let mut command = process::cargo();
    command.current_dir(folder);
    if folder == repository::plugins() {
        command.env("CARGO_TARGET_DIR", repository::native_target());
    }
    command
}
