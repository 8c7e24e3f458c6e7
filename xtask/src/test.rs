//! `cargo xtask test`: both workspaces' tests, with one total.

use std::io::{BufRead, BufReader};
use std::ops::AddAssign;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{build, process, repository};

/// How tests ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// Build, test the plugins on this machine, test the workspace.
pub fn test(filter: Option<&str>) -> Result<()> {
    build::build()?;
    let mut totals = Totals::default();
    let mut failed = Vec::new();
    for (name, folder) in [
        ("plugins", repository::plugins()),
        ("workspace", repository::root()),
    ] {
        process::say(&format!("testing: {name}"));
        let mut command = process::cargo();
        command
            .current_dir(&folder)
            .args(["test", "--workspace", "--no-fail-fast"])
            .args(filter);
        if folder == repository::plugins() {
            command.env("CARGO_TARGET_DIR", repository::native_target());
        }
        let (part, success) = counted(&mut command)?;
        totals += part;
        if !success {
            failed.push(name);
        }
    }
    let Totals {
        passed,
        failed: failures,
        ignored,
    } = totals;
    println!("total: {passed} passed, {failures} failed, {ignored} ignored");
    if !failed.is_empty() {
        bail!("tests failed: {}", failed.join(", "));
    }
    if passed == 0 {
        bail!(
            "no test was run{}",
            filter.map_or(String::new(), |f| format!(": none is named like `{f}`"))
        );
    }
    Ok(())
}

/// Run the tests that need a component of another project's tool.
pub fn of_foreign() -> Result<()> {
    let mut command = process::cargo();
    command.current_dir(repository::root()).args([
        "test",
        "--workspace",
        "--test",
        "foreign",
        "--",
        "--ignored",
    ]);
    let (totals, success) = counted(&mut command)?;
    println!("total: {} passed, {} failed", totals.passed, totals.failed);
    if !success || totals.passed == 0 {
        bail!("tests of the foreign rule failed, or none was run");
    }
    Ok(())
}

/// Run a test command, pass on what it writes, and add up its results.
fn counted(command: &mut Command) -> Result<(Totals, bool)> {
    let words = process::words(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run `{words}`"))?;
    let mut totals = Totals::default();
    let stdout = child.stdout.take().context("standard output is piped")?;
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    // Bytes, not text: a test may write what is not UTF-8.
    while reader.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        print!("{text}");
        totals += result(&text).unwrap_or_default();
        line.clear();
    }
    Ok((totals, child.wait()?.success()))
}

/// `test result: ok. 29 passed; 0 failed; 0 ignored; …`
fn result(line: &str) -> Option<Totals> {
    let counts = line.trim().strip_prefix("test result: ")?;
    let count = |what: &str| {
        let words: Vec<_> = counts.split([' ', ';']).collect();
        let at = words.iter().position(|word| *word == what)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    Some(Totals {
        passed: count("passed")?,
        failed: count("failed")?,
        ignored: count("ignored")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_the_test_runner_writes_them() {
        let line = "test result: FAILED. 15 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 1.12s\n";
        let totals = Totals {
            passed: 15,
            failed: 1,
            ignored: 2,
        };
        assert_eq!(result(line), Some(totals));
        assert_eq!(result("running 3 tests"), None);
    }
}
