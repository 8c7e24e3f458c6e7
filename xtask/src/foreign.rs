//! `cargo xtask test --foreign`: builds a rule with another project's tool, and tests it in the host.
//!
//! It is not part of `cargo xtask test`, because installing that tool takes minutes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::times::Times;
use crate::{build, process, repository, test};

/// The tool, which is run by its own name.
const TOOL: &str = "cargo-component";
/// How to install it. The version is the last one that built the rule.
const INSTALL: &str = "cargo install --locked cargo-component --version 0.21.1";
/// The rule, and its folder's name.
const RULE: &str = "whole-amounts";
/// The tool's default target.
const TARGET: &str = "wasm32-wasip1";
/// Variables about the compiler of this program, or about compiling the host.
const NOT_INHERITED: [&str; 5] = [
    "CARGO",
    "RUSTC",
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
];

/// Builds the rule, and runs the tests that need it.
pub fn test() -> Result<()> {
    build::build(&mut Times::default())?;
    if process::output(Command::new(TOOL).arg("--version")).is_none() {
        bail!("there is no {TOOL}: run `{INSTALL}` (it takes about ten minutes), then try again");
    }
    process::say(&format!("building {RULE} with {TOOL}"));
    let folder = repository::foreign().join(RULE);
    copy(&repository::plugins().join("foreign").join(RULE), &folder)?;
    let target = repository::foreign().join("target");
    let mut command = Command::new(TOOL);
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    process::run(
        command
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &target)
            .args(["build", "--release", "--locked"]),
    )?;
    let made = format!("{TARGET}/release/{}.wasm", RULE.replace('-', "_"));
    let component = repository::foreign().join(format!("{RULE}.wasm"));
    fs::copy(target.join(&made), &component)
        .with_context(|| format!("{TOOL} made no {made}, or {component:?} cannot be written"))?;
    test::of_foreign()
}

/// Copies a folder, replacing an existing one: the tool writes bindings beside the sources.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| format!("cannot remove {to:?}"))?;
    }
    fs::create_dir_all(to).with_context(|| format!("cannot create {to:?}"))?;
    let entries = fs::read_dir(from).with_context(|| format!("cannot list {from:?}"))?;
    for entry in entries {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(&from, &to).with_context(|| format!("cannot copy {from:?}"))?;
        }
    }
    Ok(())
}
