//! The verbs that programs of the workspace answer: the host's own, and the demonstration.

use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{build, process, repository};

/// Build everything, then make one payment through a host and tell its story.
pub fn demo(arguments: &[String]) -> Result<()> {
    build::build()?;
    run("rialto-demo", &[], arguments)
}

/// Build everything, then measure.
pub fn bench(arguments: &[String]) -> Result<()> {
    build::build()?;
    run("rialto", &["bench"], arguments)
}

/// Build everything, then make a scheme of many participants and a store of many transfers.
pub fn fill(arguments: &[String]) -> Result<()> {
    build::build()?;
    run("rialto-filler", &[], arguments)
}

/// Hand over to a program: `<program> <verb> schemes/demo …`.
fn run(name: &str, verb: &[&str], arguments: &[String]) -> Result<()> {
    let mut command = std::process::Command::new(program(name)?);
    command
        .current_dir(repository::root())
        .args(verb)
        .arg(repository::DEMO)
        .args(arguments);
    process::say(&process::words(&command));
    process::run(&mut command)
}

/// A program of the workspace, where cargo puts it.
fn program(name: &str) -> Result<PathBuf> {
    let metadata = process::output(process::cargo().current_dir(repository::root()).args([
        "metadata",
        "--format-version",
        "1",
        "--no-deps",
    ]))
    .context("`cargo metadata` failed in the repository's root")?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata)?;
    let target = metadata["target_directory"]
        .as_str()
        .context("`cargo metadata` names no target folder")?;
    let name = format!("debug/{name}{}", std::env::consts::EXE_SUFFIX);
    Ok(PathBuf::from(target).join(name))
}
