//! Builds the host with profile-guided optimization: a build that counts what it executes, a run of the benchmark
//! with it, and a build that is optimized by the counts. It takes three times as long as a plain build, and
//! what operators run is built so.
//!
//! Each build has a target folder of its own, because the compiler's flags differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use sha2::{Digest as _, Sha256};

use crate::{build, process, repository};

/// The package, and the program that merges counts. LLVM reads the counts of later versions as long as their
/// format does not change, so it may be older than the compiler's.
const PACKAGE: &str = "llvm-19";
const MERGE: &str = "llvm-profdata-19";
/// Seconds of the benchmark: the code of payments is executed some thousand times.
const SECONDS: &str = "15";

/// Builds the plugins, and `rialto` as operators run it. Returns the program.
pub fn rialto() -> Result<PathBuf> {
    build::guests()?;
    ensure!(
        process::succeeds(Command::new(MERGE).arg("--version")),
        "no `{MERGE}`: run `apt-get install {PACKAGE}`, or build without a profile"
    );
    let folder = repository::trained();
    let counts = folder.join("counts");
    process::say("building a host that counts what it executes: some 500 crates");
    let flag = format!("-Cprofile-generate={}", counts.display());
    let counting = compile(&folder.join("counting"), &flag)?;
    let optimized = folder.join("optimized");
    let profile = folder.join(format!("{}.profdata", digest(&counting)?));
    if !profile.exists() {
        // All crates are compiled anew for another profile.
        remove(&counts)?;
        remove(&optimized)?;
        train(&counting)?;
        let mut merge = Command::new(MERGE);
        process::run(merge.args(["merge", "-o"]).arg(&profile).arg(&counts))?;
    }
    process::say("building what operators run, by these counts");
    compile(&optimized, &format!("-Cprofile-use={}", profile.display()))
}

/// Runs payments with a host that counts.
fn train(counting: &Path) -> Result<()> {
    process::say("running payments with it");
    let mut training = Command::new(counting);
    training
        .current_dir(repository::root())
        .args(["bench", repository::DEMO, "--json", "--seconds", SECONDS])
        .stdout(Stdio::null());
    process::run(&mut training)
}

/// The beginning of a file's SHA-256 in hexadecimal digits.
fn digest(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {file:?}"))?;
    let digest = Sha256::digest(bytes);
    Ok(digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {folder:?}"))?;
    }
    Ok(())
}

/// Builds `rialto` with a flag of the compiler. Returns the program.
fn compile(folder: &Path, flag: &str) -> Result<PathBuf> {
    // With an explicit target, build scripts and macros are compiled without this flag.
    let target = process::target()?;
    let mut command = process::cargo();
    command
        .current_dir(repository::root())
        .args([
            "build",
            "--release",
            "--package",
            "rialto",
            "--target",
            &target,
        ])
        .arg("--target-dir")
        .arg(folder)
        .env("RUSTFLAGS", flag);
    process::run(&mut command)?;
    Ok(folder.join(target).join("release/rialto"))
}
