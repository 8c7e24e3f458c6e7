//! Installs Python packages for tests, once on a machine, in the versions of a list.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::{debian, process, repository};

/// The copy of the list in the folder of its packages. It is written last.
const INSTALLED: &str = "installed.txt";

/// Installs the packages of a list into a folder of this name among the tools, with an interpreter of its own
/// (`bin/python`). The list names all packages: no dependency is looked for.
pub fn install(name: &str, list: &Path) -> Result<()> {
    let folder = repository::tools().join(name);
    let wanted = fs::read_to_string(list).with_context(|| format!("reading {}", list.display()))?;
    if fs::read_to_string(folder.join(INSTALLED)).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    process::say(&format!(
        "installing {} (once on a machine)",
        list.display()
    ));
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    if !makes_environments() && debian::is_here() {
        debian::install(&["python3", "python3-venv"])?;
    }
    process::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        .context("Python 3 with its module `venv` is needed")?;
    process::run(
        Command::new(folder.join("bin/python"))
            .args(["-m", "pip", "--disable-pip-version-check", "--quiet"])
            .args(["install", "--no-deps", "--requirement"])
            .arg(list),
    )?;
    fs::write(folder.join(INSTALLED), wanted)?;
    Ok(())
}

/// Whether Python can make an environment. Debian has the module that it needs in a package of its own.
fn makes_environments() -> bool {
    process::succeeds(Command::new("python3").args(["-c", "import ensurepip, venv"]))
}
