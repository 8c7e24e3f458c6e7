//! `cargo xtask test`: runs both workspaces' tests, and prints what failed ones said, one total, the interfaces
//! that they saw work, and the time of each part.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Read};
use std::ops::AddAssign;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::failures::Failures;
use crate::times::Times;
use crate::{build, console, debian, interfaces, node, process, python, repository};

/// The results of tests.
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

/// The filter for the conformance suite alone.
const CONFORMANCE: &str = "conformance";
/// The filter for the operators' console.
const CONSOLE: &str = "console";
/// The prefix of the lines in which the conformance suite counts interfaces.
const INTERFACES: &str = "interfaces: ";
/// What a test says of a time that it has measured. Nobody judges it.
const MEASURED: &str = "measured: ";

/// How long tests may say nothing: longer than the longest takes on a slow machine.
const SILENT_MAX: Duration = Duration::from_mins(20);
/// Lines of output that wait to be read.
const LINES: usize = 256;

/// The variable with the simulation's additional seed.
const NEW_SEED: &str = "RIALTO_NEW_SEED";

/// A random seed: standard hash maps take their keys from the system's randomness.
fn new_seed() -> u32 {
    let drawn = RandomState::new().build_hasher().finish();
    (drawn >> 32) as u32
}

/// The output of tests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Report {
    totals: Totals,
    /// The number of interfaces seen to work, in one line per section.
    interfaces: Vec<String>,
    /// What was measured, in one line each.
    measured: Vec<String>,
    failures: Failures,
}

impl Report {
    fn read(&mut self, line: &str) {
        self.totals += result(line).unwrap_or_default();
        self.failures.read(line);
        if line.starts_with(INTERFACES) {
            self.interfaces.push(line.trim_end().to_owned());
        }
        // The name of a test may stand before it on the line.
        if let Some(at) = line.find(MEASURED) {
            self.measured.push(line[at..].trim_end().to_owned());
        }
    }

    fn print(&self) {
        for line in self.failures.lines() {
            println!("{line}");
        }
        for line in self.interfaces.iter().chain(&self.measured) {
            println!("{line}");
        }
        let Totals {
            passed,
            failed,
            ignored,
        } = self.totals;
        println!("total: {passed} passed, {failed} failed, {ignored} ignored");
    }
}

/// Builds, then tests the plugins on this machine and the workspace. With a filter, runs only tests with it in
/// their names, or only the conformance suite.
pub fn test(filter: Option<&str>) -> Result<()> {
    let mut times = Times::default();
    let outcome = timed(filter, &mut times);
    print!("{}", times.table());
    outcome
}

/// A store that is not the usual one.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum OtherStore {
    /// PostgreSQL.
    Postgres,
}

/// The variable that says on which store the demonstration scheme of end-to-end tests is.
const STORE: &str = "RIALTO_TEST_STORE";
/// End-to-end tests that run on each store.
const ON_EACH_STORE: &[&str] = &[
    "payments::",
    "transfers::",
    "liquidity::",
    "kill::",
    "rules::",
    "settlement::",
    "grpc::section_e",
];

/// Builds, then runs on another store the tests that do not depend on one.
pub fn on(store: OtherStore) -> Result<()> {
    let mut times = Times::default();
    build::build(&mut times)?;
    let OtherStore::Postgres = store;
    debian::install_postgres()?;
    let mut report = Report::default();
    let mut succeed = true;
    for (package, test, filters) in [
        ("rialto-store-postgres", "all", &[][..]),
        ("rialto-store-copy", "all", &[]),
        ("rialto-conformance", CONFORMANCE, &[]),
        ("rialto-tests", "all", ON_EACH_STORE),
    ] {
        let mut command = process::cargo();
        command
            .current_dir(repository::root())
            .env(STORE, "postgres")
            .args(["test", "--package", package, "--test", test, "--"])
            .args(filters);
        let part = format!("run the tests: {package}");
        succeed &= times.part(&part, || counted(&mut command, &mut report))?;
    }
    report.print();
    print!("{}", times.table());
    if !succeed || report.totals.passed == 0 {
        bail!("tests on PostgreSQL failed");
    }
    Ok(())
}

/// The browser of tests: the program that drives it, and the packages of both.
const BROWSER: (&str, [&str; 2]) = ("/usr/bin/chromedriver", ["chromium", "chromium-driver"]);

/// Installs a browser on Debian. Elsewhere the tests that need it say that it is missing.
fn install_browser() -> Result<()> {
    let (driver, packages) = BROWSER;
    if debian::is_here() && !Path::new(driver).exists() {
        debian::install(&packages).context("no browser, which the tests of FIDO2 start")?;
    }
    Ok(())
}

/// AWS KMS of tests: the folder of its packages among the tools, and their list.
const KMS: (&str, &str) = ("aws-kms", "host/kms/tests/service/requirements.txt");

/// Installs the server that the tests of AWS KMS start.
fn install_kms() -> Result<()> {
    let (name, list) = KMS;
    let installed = python::install(name, &repository::root().join(list));
    installed.context("no server of AWS KMS, which its tests start")
}

/// The OpenID provider of tests: the folder of its packages among the tools, and the folder of their lock file.
const OPENID: (&str, &str) = ("openid-provider", "tests/e2e/openid-provider");

/// Installs the OpenID provider that the tests of sign-in start.
fn install_openid() -> Result<()> {
    let (name, lists) = OPENID;
    let installed = node::install(name, &repository::root().join(lists));
    installed.context("no OpenID provider, which the tests of sign-in start")
}

/// The tools of the templates of rules: the folders of their packages among the tools, and what lists these.
const COMPONENTIZE_JS: (&str, &str) = ("componentize-js", "plugins/template/javascript");
const COMPONENTIZE_PY: (&str, &str) = (
    "componentize-py",
    "plugins/template/python/requirements.txt.in",
);

/// Installs the tools with which tests build rules in JavaScript and Python.
fn install_languages() -> Result<()> {
    let (name, lists) = COMPONENTIZE_JS;
    let installed = node::install(name, &repository::root().join(lists));
    installed.context("no componentize-js, with which a test builds a rule in JavaScript")?;
    let (name, list) = COMPONENTIZE_PY;
    let installed = python::install(name, &repository::root().join(list));
    installed.context("no componentize-py, with which a test builds a rule in Python")
}

fn timed(filter: Option<&str>, times: &mut Times) -> Result<()> {
    build::build_with_tests(times)?;
    if filter == Some(CONFORMANCE) {
        return times.part("the conformance suite", conformance);
    }
    debian::install_token()?;
    debian::install_faketime()?;
    debian::install_postgres()?;
    debian::unpack_registry()?;
    debian::unpack_nats()?;
    install_browser()?;
    install_kms()?;
    install_openid()?;
    install_languages()?;
    let mut report = Report::default();
    let mut failed = Vec::new();
    if filter.is_none() {
        interfaces::forget()?;
    }
    let seed = new_seed();
    process::say(&format!(
        "the simulation's new seed is {seed}: RIALTO_SEED={seed} cargo xtask test whatever_happens repeats it"
    ));
    if filter.is_none_or(|filter| filter == CONSOLE) {
        let tested = times.part("test the console without a browser", console::test);
        failed.extend(tested.is_err().then_some(CONSOLE));
    }
    for (name, folder) in [
        ("plugins", repository::plugins()),
        ("workspace", repository::root()),
    ] {
        process::say(&format!("testing: {name}"));
        times.part(&format!("compile the tests: {name}"), || {
            process::run(cargo_test(&folder).arg("--no-run"))
        })?;
        let mut run = cargo_test(&folder);
        run.env(NEW_SEED, seed.to_string()).args(filter);
        let success = times.part(&format!("run the tests: {name}"), || {
            counted(&mut run, &mut report)
        })?;
        if !success {
            failed.push(name);
        }
    }
    if filter.is_none() {
        // The count over all suites replaces that of one suite.
        report.interfaces = interfaces::counts()?;
        if let Err(error) = interfaces::compare() {
            eprintln!("{error:#}");
            failed.push("interfaces");
        }
    }
    report.print();
    println!("the simulation's new seed was {seed}");
    if !failed.is_empty() {
        bail!("tests failed: {}", failed.join(", "));
    }
    if report.totals.passed == 0 {
        bail!(
            "no test was run{}",
            filter.map_or(String::new(), |f| format!(": none is named like `{f}`"))
        );
    }
    Ok(())
}

/// `cargo test` of one of the two workspaces. There are no doc tests: `tidy` forbids them.
fn cargo_test(folder: &Path) -> Command {
    let mut command = process::cargo();
    command
        .current_dir(folder)
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(["--lib", "--bins", "--tests"]);
    if folder == repository::plugins() {
        command.env("CARGO_TARGET_DIR", repository::native_target());
    }
    command
}

fn conformance() -> Result<()> {
    let mut command = process::cargo();
    command
        .current_dir(repository::root())
        .args(["test", "--workspace", "--test", CONFORMANCE]);
    let mut report = Report::default();
    let success = counted(&mut command, &mut report)?;
    report.print();
    if !success || report.totals.passed == 0 {
        bail!("the conformance suite failed");
    }
    Ok(())
}

/// Run the tests that need a component of another project's tool.
pub fn of_foreign() -> Result<()> {
    ignored("foreign::", &mut process::cargo())
}

/// Run tests that the usual run leaves out, by a cargo with what they need in its environment.
pub fn ignored(filter: &str, cargo: &mut Command) -> Result<()> {
    cargo.current_dir(repository::root()).args([
        "test",
        "--workspace",
        "--test",
        "all",
        filter,
        "--",
        "--ignored",
    ]);
    let mut report = Report::default();
    let success = counted(cargo, &mut report)?;
    report.print();
    if !success || report.totals.passed == 0 {
        bail!("tests named like `{filter}` failed, or none was run");
    }
    Ok(())
}

/// Runs a test command, prints its output, and adds up its results. Returns whether it succeeded.
fn counted(command: &mut Command, report: &mut Report) -> Result<bool> {
    let words = process::words(command);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run `{words}`"))?;
    let stdout = child.stdout.take().context("standard output is piped")?;
    let (sender, lines) = sync_channel(LINES);
    let reading = std::thread::spawn(move || read_lines(stdout, &sender));
    loop {
        match lines.recv_timeout(SILENT_MAX) {
            Ok(line) => {
                let text = String::from_utf8_lossy(&line);
                print!("{text}");
                report.read(&text);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                // The test program is cargo's child, and holds the output open.
                let cargo = child.id().to_string();
                let _ = Command::new("pkill").args(["-KILL", "-P", &cargo]).status();
                child.kill()?;
                child.wait()?;
                bail!(
                    "no test has said anything for {} minutes, so all were ended: one of those waits for what does not come that \
                     are said above to have \"been running for over 60 seconds\"",
                    SILENT_MAX.as_secs() / 60
                );
            }
        }
    }
    let read = reading.join();
    read.map_err(|_| anyhow!("the thread that reads the output panicked"))??;
    Ok(child.wait()?.success())
}

/// Hand over all lines. Bytes, not text: a test may write what is not UTF-8.
fn read_lines(from: impl Read, to: &SyncSender<Vec<u8>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if to.send(std::mem::take(&mut line)).is_err() {
            break;
        }
    }
    Ok(())
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

    #[test]
    fn interfaces_are_told_again_at_the_end() {
        let mut report = Report::default();
        for line in [
            "interfaces: section A: 15 of 15 rows seen\n",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured\n",
            "other\n",
        ] {
            report.read(line);
        }
        assert_eq!(
            report.interfaces,
            ["interfaces: section A: 15 of 15 rows seen"]
        );
        assert_eq!(report.totals.passed, 3);
    }
}
