//! Builds the operators' console, which the host has in its binary, and tests what of it needs no browser.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::{node, process, repository};

/// The folder of its packages among the tools.
const NAME: &str = "console";
/// The folder of packages, where Node.js looks for them.
const PACKAGES: &str = "node_modules";
/// Says where the build puts the files.
const OUT: &str = "RIALTO_CONSOLE_OUT";

/// The sources.
fn sources() -> PathBuf {
    repository::root().join("console")
}

/// Installs the packages, checks the types and builds the files, which the next build of the host has in its binary.
pub fn build() -> Result<()> {
    check()?;
    let built = repository::root().join("target/console");
    process::run(npm("build").env(OUT, &built))?;
    replace(&built, &sources().join("dist"))
}

/// Checks the types.
pub fn check() -> Result<()> {
    install()?;
    process::run(&mut npm("check"))
}

/// Runs the tests of what needs no browser.
pub fn test() -> Result<()> {
    install()?;
    process::run(&mut npm("test"))
}

/// Installs the packages, unless somebody has installed them beside the sources.
fn install() -> Result<()> {
    let sources = sources();
    let beside = sources.join(PACKAGES);
    if beside.is_dir() && !beside.is_symlink() {
        return Ok(());
    }
    let installed = node::install(NAME, &sources);
    installed.context("no packages, with which the operators' console is built")?;
    let there = repository::tools().join(NAME).join(PACKAGES);
    if fs::read_link(&beside).is_ok_and(|link| link == there) {
        return Ok(());
    }
    if beside.is_symlink() {
        fs::remove_file(&beside)?;
    }
    symlink(&there, &beside).with_context(|| format!("linking {}", beside.display()))
}

/// A script of `package.json`.
fn npm(script: &str) -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(sources()).args(["run", "--silent", script]);
    npm
}

/// Makes a folder have the files of another one. Files that do not change are not touched, so that cargo compiles nothing
/// anew for them; hidden ones stay.
fn replace(from: &Path, to: &Path) -> Result<()> {
    let listed = |folder: &Path| -> Result<Vec<String>> {
        let entries = fs::read_dir(folder).with_context(|| format!("cannot list {folder:?}"))?;
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let names: Vec<String> = names.collect::<Result<_>>()?;
        Ok(names.into_iter().filter(|n| !n.starts_with('.')).collect())
    };
    let wanted = listed(from)?;
    for name in listed(to)? {
        if !wanted.contains(&name) {
            fs::remove_file(to.join(name))?;
        }
    }
    for name in wanted {
        let bytes = fs::read(from.join(&name))?;
        if !fs::read(to.join(&name)).is_ok_and(|present| present == bytes) {
            fs::write(to.join(&name), bytes).with_context(|| format!("writing {name}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_but_for_hidden_files_and_those_that_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(&from).unwrap();
        fs::create_dir_all(&to).unwrap();
        for (file, text) in [("from/new", "1"), ("from/same", "2"), ("to/same", "2")] {
            fs::write(folder.path().join(file), text).unwrap();
        }
        fs::write(to.join("old"), "3").unwrap();
        fs::write(to.join(".gitignore"), "*").unwrap();
        let before = fs::metadata(to.join("same")).unwrap().modified().unwrap();
        replace(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("new")).unwrap(), "1");
        assert!(!to.join("old").exists() && to.join(".gitignore").exists());
        let after = fs::metadata(to.join("same")).unwrap().modified().unwrap();
        assert_eq!(before, after);
    }
}
