//! Installs packages of Node.js for tests, once on a machine, in the versions of a lock file.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{debian, process, repository};

/// The list of packages, and the lock file with all versions and digests.
const LISTS: [&str; 2] = ["package.json", "package-lock.json"];
/// The copy of the lock file in the folder of its packages. It is written last.
const INSTALLED: &str = "installed.json";

/// Installs the packages of a folder's lock file into a folder of this name among the tools. No package runs a script.
pub fn install(name: &str, lists: &Path) -> Result<()> {
    let folder = repository::tools().join(name);
    let lock = lists.join(LISTS[1]);
    let wanted = list(lists, LISTS[1], name)?;
    if fs::read_to_string(folder.join(INSTALLED)).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    process::say(&format!(
        "installing {} (once on a machine)",
        lock.display()
    ));
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    if process::output(Command::new("npm").arg("--version")).is_none() && debian::is_here() {
        debian::install(&["nodejs", "npm"])?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    for file in LISTS {
        let text = list(lists, file, name)?;
        fs::write(folder.join(file), text).with_context(|| format!("writing {file}"))?;
    }
    process::run(
        Command::new("npm")
            .current_dir(&folder)
            .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
            .args(["--loglevel", "error"]),
    )
    .context("Node.js 20 or newer with npm is needed")?;
    fs::write(folder.join(INSTALLED), wanted)?;
    Ok(())
}

/// The text of a list. If the folder has a template of it (`.in`), this is its package's name.
fn list(lists: &Path, file: &str, name: &str) -> Result<String> {
    let template = lists.join(format!("{file}.in"));
    if template.exists() {
        let text = fs::read_to_string(&template);
        let text = text.with_context(|| format!("reading {}", template.display()))?;
        return Ok(text.replace("{name}", name));
    }
    let plain = lists.join(file);
    fs::read_to_string(&plain).with_context(|| format!("reading {}", plain.display()))
}
