//! `cargo xtask build`: plugins, components, the demonstration scheme, the host.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use rialto_manifest::Scheme;

use crate::times::Times;
use crate::{guests, process, repository};

/// Build what runs.
pub fn build(times: &mut Times) -> Result<()> {
    times.part("build the plugins", guests)?;
    times.part("build the host", host)
}

/// Build the plugins and put the components into the demonstration scheme.
pub fn guests() -> Result<()> {
    let modules = guests::build()?;
    let wrapped = guests::wrap_all(&modules)?;
    let total = modules.len();
    process::say(&format!(
        "{total} components in target/plugins, {wrapped} of them new"
    ));
    fill(&repository::root().join(repository::DEMO))
}

fn host() -> Result<()> {
    process::say("building the host (the first time takes several minutes)");
    // Always the whole workspace: another selection would mean other features of shared
    // dependencies, and compiling those again.
    process::run(
        process::cargo()
            .current_dir(repository::root())
            .args(["build", "--workspace"]),
    )
}

/// Copy to a scheme's folder the components that it names, where they differ, and pin them.
fn fill(folder: &Path) -> Result<()> {
    let name = folder.join("scheme.toml");
    let text = fs::read_to_string(&name).with_context(|| format!("cannot read {name:?}"))?;
    let scheme = Scheme::parse(&text).map_err(|problems| anyhow!("\n{problems}"))?;
    let contexts = scheme.contexts.values().map(|context| &context.component);
    let rules = scheme.rules.values().map(|rule| &rule.component);
    let mut changed = 0;
    for component in contexts.chain(rules) {
        let to = component.within(folder);
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

/// Copy a file unless the other one has the same contents. Answers whether it was copied.
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
    // A host that runs may be reading the old file: never change it in place.
    let new = to.with_extension("wasm.new");
    fs::write(&new, bytes).and_then(|()| fs::rename(&new, to))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

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
