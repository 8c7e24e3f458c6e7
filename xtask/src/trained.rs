//! Builds the host with profile-guided optimization: a build that counts what it executes, a run of the benchmark
//! with it, and a build that is optimized by the counts. What operators run is built so.
//!
//! Each build has a target folder of its own, because the compiler's flags differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::digest::sha256;
use crate::{build, console, debian, process, repository};

/// The package, and the program that merges counts. LLVM reads the counts of later versions as long as their
/// format does not change, so it may be older than the compiler's.
const PACKAGE: &str = "llvm-19";
const MERGE: &str = "llvm-profdata-19";
/// Seconds of the benchmark: the code of payments is executed some thousand times.
const SECONDS: &str = "15";

/// What operators run.
pub struct Trained {
    /// The program.
    pub rialto: PathBuf,
    /// The counts by which it is optimized. The same counts, sources and compiler make the same program.
    pub profile: PathBuf,
}

/// Builds the plugins, and `rialto` as operators run it: by these counts, or by counts of its own.
pub fn build(counted: Option<&Path>) -> Result<Trained> {
    build::guests()?;
    console::build()?;
    let folder = repository::trained();
    let profile = match counted {
        None => count(&folder)?,
        Some(counted) => {
            let profile = folder.join(format!("{}.profdata", digest(counted)?));
            fs::create_dir_all(&folder)
                .and_then(|()| fs::copy(counted, &profile))
                .with_context(|| format!("cannot copy {counted:?}"))?;
            profile
        }
    };
    process::say("building what operators run: some 500 crates, with all optimizations");
    let flag = format!("-Cprofile-use={}", profile.display());
    let rialto = compile(&folder.join("optimized"), &flag, &[])?;
    Ok(Trained { rialto, profile })
}

/// Builds a host that counts, unless that was done with these sources, and runs payments with it. Returns the
/// counts.
fn count(folder: &Path) -> Result<PathBuf> {
    if !process::succeeds(Command::new(MERGE).arg("--version")) {
        debian::install(&[PACKAGE]).with_context(|| format!("no `{MERGE}`"))?;
    }
    let counts = folder.join("counts");
    process::say("building a host that counts what it executes: some 500 crates");
    let flag = format!("-Cprofile-generate={}", counts.display());
    // Counts are of functions before they are inlined, so this build need not be optimized as a whole.
    let quickly = [
        ("CARGO_PROFILE_RELEASE_LTO", "off"),
        ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ];
    let counting = compile(&folder.join("counting"), &flag, &quickly)?;
    let profile = folder.join(format!("{}.profdata", digest(&counting)?));
    if !profile.exists() {
        remove(&counts)?;
        // All crates are compiled anew for other counts.
        remove(&folder.join("optimized"))?;
        train(&counting)?;
        let mut merge = Command::new(MERGE);
        process::run(merge.args(["merge", "-o"]).arg(&profile).arg(&counts))?;
    }
    Ok(profile)
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

fn digest(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {file:?}"))?;
    Ok(sha256(bytes))
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot remove {folder:?}"))?;
    }
    Ok(())
}

/// Builds `rialto` with a flag of the compiler and settings of cargo. Returns the program.
fn compile(folder: &Path, flag: &str, settings: &[(&str, &str)]) -> Result<PathBuf> {
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
        .envs(settings.iter().copied())
        // Not `RUSTFLAGS`, which is split at spaces: a path may have some.
        .env("CARGO_ENCODED_RUSTFLAGS", flag);
    process::run(&mut command)?;
    Ok(folder.join(target).join("release/rialto"))
}
