//! `cargo xtask check`: all checks that do not run the code.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::times::Times;
use crate::{console, process, repository, tidy, tools};

/// Programs whose packages have no library, so that they are documented themselves.
const PROGRAMS: &[&str] = &["rialto-demo", "xtask"];

/// Runs every check, or those of code alone, and names the failed ones at the end.
pub fn check(only_code: bool) -> Result<()> {
    let root = repository::root();
    let plugins = repository::plugins();
    let mut failed = Vec::new();
    let mut times = Times::default();
    let mut step = |name: &str, check: &mut dyn FnMut() -> Result<()>| {
        process::say(name);
        if let Err(error) = times.part(name, check) {
            eprintln!("{error:#}");
            failed.push(name.to_owned());
        }
    };
    step("tidy", &mut || tidy::tidy(false));
    for (name, folder, programs) in [("host", &root, PROGRAMS), ("plugins", &plugins, &[])] {
        let cargo = || cargo_in(folder);
        let label = |what: &str| format!("{what} ({name})");
        step(&label("formatting"), &mut || {
            process::run(cargo().args(["fmt", "--all", "--", "--check"]))
        });
        step(&label("lints"), &mut || {
            let lints = ["clippy", "--workspace", "--all-targets"];
            process::run(cargo().args(lints).args(["--", "-D", "warnings"]))
        });
        step(&label("documentation"), &mut || {
            let documentation = [
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
            ];
            // With examples, of which there are none, cargo has the features of packages that only tests use. Those of the
            // lints have them, too: otherwise all dependencies are read twice.
            let targets = ["--lib", "--examples"];
            process::run(
                cargo()
                    .args(documentation)
                    .args(targets)
                    .args(programs.iter().flat_map(|program| ["--bin", program]))
                    .env("RUSTDOCFLAGS", "-D warnings"),
            )
        });
        if !only_code {
            step(&label("dependencies: licences, bans, sources"), &mut || {
                tools::deny(folder)
            });
        }
    }
    if !only_code {
        step("dependencies: unused ones", &mut || tools::machete(&root));
    }
    step("types (console)", &mut console::check);
    // The fuzz targets' own build takes a minute: their lints are the compiler's, when they are run.
    step("formatting (fuzz)", &mut || {
        let mut format = process::cargo();
        format.current_dir(repository::fuzz());
        process::run(format.args(["fmt", "--", "--check"]))
    });
    print!("{}", times.table());
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    process::say("all checks passed");
    Ok(())
}

/// Runs cargo in one of the two workspaces. The plugins are checked for this machine, which needs no other
/// compiler.
fn cargo_in(folder: &Path) -> Command {
    let mut command = process::cargo();
    command.current_dir(folder);
    if folder == repository::plugins() {
        command.env("CARGO_TARGET_DIR", repository::native_target());
    }
    command
}
