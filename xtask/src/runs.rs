//! Runs of `rialto bench`, and the figures of its JSON. `bench --table` and `bench --matrix` are made of them.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::{process, repository};

/// Seconds of a run before it measures.
pub const WARM_UP: u64 = 5;
/// Seconds that a run measures.
const SECONDS: u64 = 15;

/// Starts a run on a scheme.
pub fn start<S: AsRef<std::ffi::OsStr>>(
    rialto: &Path,
    scheme: &Path,
    arguments: &[S],
) -> Result<Child> {
    let mut command = Command::new(rialto);
    command
        .current_dir(repository::root())
        .arg("bench")
        .arg(scheme)
        .arg("--json")
        .args(["--seconds", &SECONDS.to_string()])
        .args(["--warm-up", &WARM_UP.to_string()])
        .args(arguments)
        .stdout(Stdio::piped());
    let words = process::words(&command);
    command
        .spawn()
        .with_context(|| format!("cannot run `{words}`"))
}

/// Waits for the result of a run.
pub fn finished(run: Child) -> Result<Value> {
    let output = run.wait_with_output()?;
    ensure!(
        output.status.success(),
        "the benchmark failed: {}",
        output.status
    );
    serde_json::from_slice(&output.stdout).context("the benchmark printed no JSON")
}

/// A figure of a result.
pub fn number(of: &Value, member: &str) -> Result<f64> {
    let found = of[member].as_f64();
    found.with_context(|| format!("the benchmark's JSON has no number `{member}`"))
}
