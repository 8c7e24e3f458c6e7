//! The verbs that run programs of the workspace: the host and the demonstration.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::{build, console, debian, process, repository, trained};

/// The folder of the profile that operators run.
const RELEASE: &str = "release";

/// Builds what the demonstration runs, then runs it.
pub fn demo(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--secure") {
        debian::install_token()?;
    }
    if arguments.iter().any(|argument| argument == "--keep") {
        console::build()?;
    }
    if arguments.iter().any(|argument| argument == "--cluster") {
        debian::install_postgres()?;
        debian::unpack_nats()?;
    }
    build::demo()?;
    let nats = debian::nats();
    let variable = Some(("RIALTO_NATS_SERVER", nats.as_os_str())).filter(|_| nats.exists());
    run(
        &program(build::DEMO_PROFILE, "rialto-demo")?,
        &[],
        (arguments, variable),
    )
}

/// Measures with this host.
pub fn bench(rialto: &Path, arguments: &[String]) -> Result<()> {
    run(rialto, &["bench"], (arguments, None))
}

/// The host that is measured: this one, or else what operators run, or the same without a profile. The plugins are
/// built in any case.
pub fn measured(program: Option<PathBuf>, is_trained: bool) -> Result<PathBuf> {
    if let Some(built) = program {
        build::guests()?;
        return Ok(built);
    }
    if is_trained {
        return Ok(trained::build(None)?.rialto);
    }
    release("rialto")?;
    self::program(RELEASE, "rialto")
}

/// The program that fills stores: the one beside this host, if it was built before, or a new one.
pub fn filler(beside: Option<&Path>) -> Result<PathBuf> {
    const NAME: &str = "rialto-filler";
    let there = beside.map(|rialto| rialto.with_file_name(NAME));
    if let Some(built) = there.filter(|file| file.exists()) {
        return Ok(built);
    }
    release(NAME)?;
    program(RELEASE, NAME)
}

/// Builds what operators run, then makes a scheme of many participants and a store of many transfers.
pub fn fill(arguments: &[String]) -> Result<()> {
    run(&filler(None)?, &[], (arguments, None))
}

/// Builds the plugins, and a program in the profile `release`. Tests use another profile, which compiles
/// faster.
fn release(package: &str) -> Result<()> {
    build::guests()?;
    process::say(
        "building with the profile `release`: the first time some 500 crates, each with all optimizations; cargo's bar shows how far it is",
    );
    process::run(process::cargo().current_dir(repository::root()).args([
        "build",
        "--release",
        "--package",
        package,
    ]))
}

/// Runs a program: `<program> <verb> schemes/demo …`.
fn run(
    program: &Path,
    verb: &[&str],
    (arguments, variable): (&[String], Option<(&str, &OsStr)>),
) -> Result<()> {
    let mut command = std::process::Command::new(program);
    command
        .envs(variable)
        .current_dir(repository::root())
        .args(verb)
        .arg(repository::DEMO)
        .args(arguments);
    process::say(&process::words(&command));
    process::run(&mut command)
}

/// A program of the workspace, where cargo puts it.
pub fn program(profile: &str, name: &str) -> Result<PathBuf> {
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
    let name = format!("{profile}/{name}{}", std::env::consts::EXE_SUFFIX);
    Ok(PathBuf::from(target).join(name))
}
