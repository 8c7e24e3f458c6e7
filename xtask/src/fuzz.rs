//! `cargo xtask fuzz`: builds the fuzz targets of `fuzz/` and runs them from their seeds.
//!
//! It runs libFuzzer with coverage, as `cargo fuzz` does. It uses no sanitizer and so needs no other toolchain:
//! the code has no unsafe blocks, and the targets look for panics and failed assertions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail, ensure};

use crate::{process, repository};

/// The compiler flags for libFuzzer's coverage, as of `cargo fuzz`.
const COVERAGE: [&str; 5] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];
/// The longest time of an input, in seconds: a longer one is a finding.
const INPUT_SECONDS: u64 = 10;
/// The most memory of a target, in MiB: more is a finding.
const MEMORY_MIB: u64 = 1024;
/// Lines of a target's log that are shown for a finding.
const LINES_SHOWN: usize = 40;

/// A running target.
struct Running {
    name: String,
    child: Child,
    log: PathBuf,
}

/// Builds the targets, and runs one of them or all, each for this time.
pub fn fuzz(wanted: Option<&str>, seconds: u64) -> Result<()> {
    ensure!(seconds > 0, "a run takes at least a second");
    let mut targets = targets()?;
    if let Some(wanted) = wanted {
        targets.retain(|target| target == wanted);
        ensure!(
            !targets.is_empty(),
            "there is no fuzz target `{wanted}`: fuzz/fuzz_targets has them"
        );
    }
    let programs = build()?;
    process::say(&format!(
        "fuzzing: {}, {seconds} s each",
        targets.join(", ")
    ));
    let at_a_time = available_parallelism().map_or(1, usize::from);
    let mut found = Vec::new();
    for some in targets.chunks(at_a_time) {
        let running: Result<Vec<Running>> = some
            .iter()
            .map(|name| start(name, &programs, seconds))
            .collect();
        for target in running? {
            let name = target.name.clone();
            if !ended_well(target, &programs)? {
                found.push(name);
            }
        }
    }
    if !found.is_empty() {
        bail!("fuzzing found something: {}", found.join(", "));
    }
    Ok(())
}

/// The names of all targets.
fn targets() -> Result<Vec<String>> {
    let folder = repository::fuzz().join("fuzz_targets");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot list {folder:?}"))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".rs").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

/// Builds all targets, and returns their folder.
fn build() -> Result<PathBuf> {
    process::say("building the fuzz targets (the first time takes a minute)");
    let host = process::target()?;
    // With an explicit target, build scripts and macros are compiled without these flags.
    process::run(
        process::cargo()
            .current_dir(repository::fuzz())
            .env("CARGO_TARGET_DIR", repository::fuzz_target())
            .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}"))
            .args(["build", "--release", "--bins", "--target", &host]),
    )?;
    Ok(repository::fuzz_target().join(host).join("release"))
}

/// Starts a target. Its inputs are its seeds and those that earlier runs discovered. New inputs, findings and
/// the log are kept.
fn start(name: &str, programs: &Path, seconds: u64) -> Result<Running> {
    let kept = |what: &str| {
        let folder = repository::fuzz_target().join(what).join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {folder:?}"))?;
        anyhow::Ok(folder)
    };
    let (corpus, findings) = (kept("corpus")?, kept("findings")?);
    let log = kept("logs")?.join("last.log");
    let file = fs::File::create(&log).with_context(|| format!("cannot write {log:?}"))?;
    let mut command = Command::new(programs.join(name));
    command
        .arg(corpus)
        .arg(repository::fuzz().join("seeds").join(name))
        .arg(format!(
            "-dict={}",
            repository::fuzz().join("dictionary").display()
        ))
        .arg(format!("-artifact_prefix={}/", findings.display()))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg("-print_final_stats=1")
        // The panic's message is then at the end of the log.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file);
    let child = command
        .spawn()
        .with_context(|| format!("cannot run `{}`", process::words(&command)))?;
    let name = name.to_owned();
    Ok(Running { name, child, log })
}

/// Waits for a target, and reports its result.
fn ended_well(mut target: Running, programs: &Path) -> Result<bool> {
    let status = target.child.wait()?;
    let log = fs::read(&target.log).with_context(|| format!("cannot read {:?}", target.log))?;
    let log = String::from_utf8_lossy(&log);
    let name = &target.name;
    if status.success() {
        let inputs = inputs(&log).unwrap_or_default();
        ensure!(inputs > 0, "the target {name} has tried no input: {log}");
        println!("fuzz {name}: {inputs} inputs, nothing found");
        return Ok(true);
    }
    let lines: Vec<&str> = log.lines().collect();
    let shown = lines.len().saturating_sub(LINES_SHOWN);
    println!(
        "fuzz {name}: found something\n{}",
        lines[shown..].join("\n")
    );
    println!(
        "the input is in the file that is named above; once more: {} FILE",
        programs.join(name).display()
    );
    Ok(false)
}

/// The number of tried inputs, from a log.
fn inputs(log: &str) -> Option<u64> {
    let mut lines = log.lines();
    let counted = lines.find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    counted?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_target_has_seeds_and_a_place_in_the_manifest() {
        let manifest = fs::read_to_string(repository::fuzz().join("Cargo.toml")).unwrap();
        let targets = targets().unwrap();
        assert!(!targets.is_empty());
        for target in &targets {
            let bin = format!(
                "name = \"{target}\"\npath = \"fuzz_targets/{target}.rs\"\nrequired-features"
            );
            assert!(manifest.contains(&bin), "{target} is not in the manifest");
            let seeds = repository::fuzz().join("seeds").join(target);
            assert!(seeds.read_dir().unwrap().next().is_some(), "{seeds:?}");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), targets.len());
    }

    #[test]
    fn the_number_of_inputs_is_read_as_libfuzzer_writes_it() {
        let log = "Done 9 runs\nstat::number_of_executed_units: 1234\nstat::x: 1\n";
        assert_eq!(inputs(log), Some(1234));
        assert_eq!(inputs("INFO: nothing"), None);
    }
}
