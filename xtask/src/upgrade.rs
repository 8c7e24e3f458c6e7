//! `cargo xtask test --upgrade-from`: builds an earlier version beside this one, and runs the test that replaces its hosts.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::times::Times;
use crate::{build, debian, process, repository, test};

/// The variable that tells the test where the earlier version is.
const EARLIER: &str = "RIALTO_EARLIER";
/// The test.
const TEST: &str = "an_upgrade_from_an_earlier_version";

/// Builds the commit and this version, and runs the test.
pub fn test(commit: &str) -> Result<()> {
    let mut times = Times::default();
    let outcome = timed(commit, &mut times);
    print!("{}", times.table());
    outcome
}

fn timed(commit: &str, times: &mut Times) -> Result<()> {
    let root = repository::root();
    let earlier = root.join("target/earlier");
    if earlier.join(".git").exists() {
        let mut checkout = Command::new("git");
        checkout.current_dir(&earlier);
        process::run(checkout.args(["checkout", "--quiet", "--detach", commit]))?;
    } else {
        fs::create_dir_all(root.join("target")).context("making the folder of builds")?;
        let mut add = Command::new("git");
        add.current_dir(&root).args(["worktree", "add", "--quiet"]);
        process::run(add.args(["--force", "--detach"]).arg(&earlier).arg(commit))?;
    }
    times.part("build the earlier version", || {
        // By its own verb, in its own folder: what it builds is what it was.
        let mut cargo = process::cargo();
        process::run(cargo.current_dir(&earlier).args(["xtask", "build"]))
    })?;
    build::build(times)?;
    debian::install_postgres()?;
    times.part("run the test", || {
        test::ignored(TEST, process::cargo().env(EARLIER, &earlier))
    })
}
