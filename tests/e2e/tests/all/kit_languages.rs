//! Rules in other languages than Rust: the repositories that `rialto plugin new` makes are built, tested and bound.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rialto_simulator::fsp::Step;
use rialto_tests::handbook::root;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::{CliOutput, World, binaries};
use serde_json::Value;

const STEP: &str = "transfer-prepare-check";
/// The rules at that step: two of the demonstration, which are in Rust, and those that the test makes.
const RULES: [&str; 4] = [
    "transfer-matches-quote",
    "amount-limits",
    "cap-in-javascript",
    "cap-in-python",
];

fn run(program: impl AsRef<Path>, folder: &Path, arguments: &[&str]) -> String {
    let program = program.as_ref();
    let output = CliOutput::of(program, |command| {
        command.current_dir(folder).args(arguments);
    });
    let output = output.unwrap().success();
    output.unwrap_or_else(|error| panic!("{} {arguments:?}: {error:#}", program.display()))
}

fn rialto(folder: &Path, arguments: &[&str]) -> String {
    run(binaries::rialto().unwrap(), folder, arguments)
}

/// What `cargo xtask test` has installed for a language.
fn tools(name: &str) -> PathBuf {
    let folder = fs::canonicalize(root().join("target/tools").join(name));
    folder.unwrap_or_else(|_| panic!("{name} is not installed: `cargo xtask test` installs it"))
}

/// A new repository. The commands that are told next are those that this test runs.
fn repository(folder: &Path, name: &str, language: &str, commands: &[&str]) -> PathBuf {
    let arguments = ["plugin", "new", name, "--step", STEP];
    let said = rialto(
        folder,
        &[&arguments[..], &["--language", language]].concat(),
    );
    for command in commands {
        assert!(
            said.contains(&format!("  {command}\n")),
            "{command}: {said}"
        );
    }
    folder.join(name)
}

fn in_javascript(folder: &Path) -> PathBuf {
    let name = "cap-in-javascript";
    let commands = ["npm ci --ignore-scripts", "npm run build"];
    let own = repository(folder, name, "javascript", &commands);
    let packages = tools("componentize-js").join("node_modules");
    symlink(packages, own.join("node_modules")).unwrap();
    run("npm", &own, &["test"]);
    run("npm", &own, &["run", "build"]);
    own.join(format!("{name}.wasm"))
}

fn in_python(folder: &Path) -> PathBuf {
    let name = "cap-in-python";
    let own = repository(folder, name, "python", &[".venv/bin/python build.py"]);
    let python = tools("componentize-py").join("bin/python");
    run(&python, &own, &["-m", "unittest", "discover", "src"]);
    run(&python, &own, &["build.py"]);
    own.join(format!("{name}.wasm"))
}

/// The golden cases hold, within the limits that the binding asks for.
fn cases_hold(component: &Path) {
    let file = component.to_str().unwrap();
    let folder = component.parent().unwrap();
    let told = rialto(folder, &["plugin", "test", file]);
    assert!(told.contains("2 of 2 cases as expected"), "{told}");
}

/// Binds a rule with this largest amount.
fn bind(component: &Path, scheme: &str, maximum: &str) {
    let binding = component.with_file_name("binding.toml");
    let lines = fs::read_to_string(&binding).unwrap();
    let lines = lines.replace("maximum = 10000", &format!("maximum = {maximum}"));
    fs::write(&binding, lines).unwrap();
    let folder = component.parent().unwrap();
    let file = component.to_str().unwrap();
    let said = rialto(folder, &["plugin", "bind", file, scheme]);
    assert!(said.contains("binds it"), "{said}");
}

/// The verdicts about a transfer at the step, in the order of its rules. Each is the same when it is asked for again.
fn verdicts(world: &World, transfer: &str) -> Vec<(String, String)> {
    let said = world.host.cli(&["receipts", transfer, "--again", "--json"]);
    let said = said.unwrap().success().unwrap();
    let filed = said
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let at_step = filed.filter(|filed| filed["receipt"]["step"] == STEP);
    at_step
        .map(|filed| {
            let receipt = &filed["receipt"];
            assert_eq!(filed["again"]["same"], true, "{filed}");
            assert!(receipt["fuel"].as_u64().unwrap() > 1_000, "{receipt}");
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&receipt["rule"]), text(&receipt["verdict"]["outcome"]))
        })
        .collect()
}

fn expected(outcomes: &[&str]) -> Vec<(String, String)> {
    let rules = RULES.iter().zip(outcomes);
    rules
        .map(|(rule, outcome)| ((*rule).to_owned(), (*outcome).to_owned()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rules_in_three_languages_judge_the_same_transfer() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::demo().await.unwrap();
    let scheme = world.scheme.path().to_str().unwrap();
    // Settings that a rule refuses.
    let wrong = ["-1", "0"];
    let components = [in_javascript(folder.path()), in_python(folder.path())];
    for (component, maximum) in components.iter().zip(wrong) {
        cases_hold(component);
        bind(component, scheme, maximum);
    }
    let apply = || world.host.cli(&["release", "apply", scheme]).unwrap();
    let said = apply();
    assert_ne!(said.code, 0, "{said}");
    let refusals = said.said().matches("must be more than 0").count();
    assert_eq!(refusals, wrong.len(), "{said}");
    // Python is the stricter one.
    for (wrong, right) in wrong.into_iter().zip(["10000", "5000"]) {
        let (wrong, right) = (format!("maximum = {wrong} "), format!("maximum = {right} "));
        world.scheme.edit(&wrong, &right).unwrap();
    }
    apply().success().unwrap();

    let outcome = world.pay("50", "USD").await;
    committed(&outcome).unwrap();
    let all_allow = expected(&["allow", "allow", "allow", "allow"]);
    assert_eq!(verdicts(&world, &outcome.transfer_id), all_allow);

    let outcome = world.pay("50.01", "USD").await;
    refused(&outcome, Step::Transfer, "4200").unwrap();
    let by_python = expected(&["allow", "allow", "allow", "refuse"]);
    assert_eq!(verdicts(&world, &outcome.transfer_id), by_python);

    let outcome = world.pay("100.01", "USD").await;
    refused(&outcome, Step::Transfer, "4200").unwrap();
    let by_javascript = expected(&["allow", "allow", "refuse"]);
    assert_eq!(verdicts(&world, &outcome.transfer_id), by_javascript);
    world.no_complaints().unwrap();
}
