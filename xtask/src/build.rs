//! `cargo xtask build`: builds plugins, components, the demonstration scheme, the console and the host. Also builds only
//! what the demonstration runs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use rialto_manifest::Scheme;

use crate::times::Times;
use crate::{console, guests, process, repository};

/// Builds everything but the tests.
pub fn build(times: &mut Times) -> Result<()> {
    before_the_host(times)?;
    times.part("build the host", || host(&[]))
}

/// Builds everything and the workspace's tests. One command builds both: the packages that only tests use add
/// features to shared ones, and two commands would compile most of the workspace twice.
pub fn build_with_tests(times: &mut Times) -> Result<()> {
    before_the_host(times)?;
    times.part("build the host and the tests", || {
        host(&["--lib", "--bins", "--tests"])
    })
}

fn before_the_host(times: &mut Times) -> Result<()> {
    times.part("build the plugins", guests)?;
    times.part("build the console", console::build)
}

/// The profile of the plugins that operators are given.
const RELEASE_PROFILE: &str = "release";
/// The profile of the demonstration, of the host and of the plugins: see their Cargo.toml.
pub const DEMO_PROFILE: &str = "demo";

/// Builds only what the demonstration runs: its components and its program. It leaves out the suites, the
/// simulation, the filler and the tests' components.
pub fn demo() -> Result<()> {
    let mut times = Times::default();
    let demo = repository::root().join(repository::DEMO);
    let names = named(&demo)?;
    process::say(&format!(
        "building {} components and the demonstration; the first time takes minutes: cargo's bar shows how far it is, \
         first for the components, then for the host",
        names.len()
    ));
    times.part("build the components", || make(&names, DEMO_PROFILE))?;
    times.part("build the demonstration", || {
        process::run(
            process::cargo()
                .current_dir(repository::root())
                .args(["build", "--profile", DEMO_PROFILE])
                .args(["--package", "rialto-demo", "--package", "rialto"]),
        )
    })?;
    eprint!("{}", times.table());
    Ok(())
}

/// Builds the plugins and copies the components to the demonstration scheme.
pub fn guests() -> Result<()> {
    make(&[], RELEASE_PROFILE)
}

/// Builds plugins (all, or those named), wraps them, and copies the components to the demonstration scheme.
fn make(names: &[String], profile: &str) -> Result<()> {
    let modules = guests::build(names, profile)?;
    let wrapped = guests::wrap_all(&modules)?;
    let total = modules.len();
    process::say(&format!(
        "{total} components in target/plugins, {wrapped} of them new"
    ));
    fill(&repository::root().join(repository::DEMO))
}

fn host(targets: &[&str]) -> Result<()> {
    process::say(
        "building the host and all that tests it: the first time some 600 crates, 15 to 25 minutes on two cores",
    );
    // Always the whole workspace: another selection has other features of shared dependencies, and would
    // compile them again.
    process::run(
        process::cargo()
            .current_dir(repository::root())
            .args(["build", "--workspace"])
            .args(targets),
    )
}

/// The plugins whose components a scheme names.
fn named(folder: &Path) -> Result<Vec<String>> {
    let files = components_of(folder)?;
    let names = files.iter().map(|file| {
        let stem = file
            .file_stem()
            .context("a component's path ends in a name")?;
        Ok(stem.to_string_lossy().into_owned())
    });
    names.collect()
}

/// The paths of the components that a scheme names.
pub fn components_of(folder: &Path) -> Result<Vec<PathBuf>> {
    let name = folder.join("scheme.toml");
    let text = fs::read_to_string(&name).with_context(|| format!("cannot read {name:?}"))?;
    let scheme = Scheme::parse(&text).map_err(|problems| anyhow!("\n{problems}"))?;
    let contexts = scheme.contexts.values().map(|context| &context.component);
    let rules = scheme.rules.values().map(|rule| &rule.component);
    let all = contexts.chain(rules);
    Ok(all.map(|component| component.within(folder)).collect())
}

/// Copies changed components to the folder of the scheme that names them, and pins them.
fn fill(folder: &Path) -> Result<()> {
    let mut changed = 0;
    for to in components_of(folder)? {
        let file = to
            .file_name()
            .context("a component's path ends in a name")?;
        let from = repository::components().join(file);
        changed += usize::from(copy_if_other(&from, &to)?);
    }
    let lock = rialto_manifest::lock(folder).map_err(|problems| anyhow!("\n{problems}"))?;
    let pinned = if lock.changed { "written" } else { "as it was" };
    process::say(&format!(
        "{}: {changed} components replaced, scheme.lock {pinned}",
        repository::DEMO
    ));
    Ok(())
}

/// Copies a file unless the other one has the same contents. Returns whether it was copied.
fn copy_if_other(from: &Path, to: &Path) -> Result<bool> {
    let bytes = fs::read(from).with_context(|| {
        format!("the scheme names a component that no plugin makes: {from:?} cannot be read")
    })?;
    if fs::read(to).is_ok_and(|present| present == bytes) {
        return Ok(false);
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    // A running host may be reading the old file: never change it in place.
    let new = to.with_extension("wasm.new");
    fs::write(&new, bytes).and_then(|()| fs::rename(&new, to))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demonstration_is_built_without_the_components_of_tests() {
        let names = named(&repository::root().join(repository::DEMO)).unwrap();
        for plugin in ["transfers", "amount-limits"] {
            assert!(names.iter().any(|name| name == plugin), "{names:?}");
        }
        for plugin in &names {
            let is_tests = repository::plugins().join("tests").join(plugin).exists();
            assert!(!is_tests, "{plugin} is a component of tests");
        }
    }

    #[test]
    fn a_component_is_copied_only_when_it_differs() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a"), folder.path().join("c/b.wasm"));
        fs::write(&from, "1").unwrap();
        assert!(copy_if_other(&from, &to).unwrap());
        assert!(!copy_if_other(&from, &to).unwrap());
        fs::write(&from, "2").unwrap();
        assert!(copy_if_other(&from, &to).unwrap());
        assert_eq!(fs::read_to_string(&to).unwrap(), "2");
    }
}
