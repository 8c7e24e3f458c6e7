//! The plugins: compiled to core modules, and wrapped as components.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use wit_component::ComponentEncoder;

use crate::digest::sha256;
use crate::{process, repository};

mod toolchain;

use toolchain::Toolchain;

/// The version of the wrapping; change it to wrap everything again.
const WRAPPER: &str = "wit-component 0.254";

/// A built core module.
pub struct Module {
    /// The plugin's name, in kebab-case.
    pub name: String,
    /// The module's file.
    pub path: PathBuf,
}

/// The used members of a line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Line {
    reason: String,
    target: Option<Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Builds plugins as core modules with a profile of `plugins/Cargo.toml`: those named, or all.
pub fn build(names: &[String], profile: &str) -> Result<Vec<Module>> {
    let toolchain = Toolchain::find()?;
    process::say(&format!("building the plugins with {}", toolchain.words()));
    let mut command = toolchain.cargo();
    command
        .current_dir(repository::plugins())
        .args(["build", "--profile", profile])
        .args(selection(names))
        .args(["--target", toolchain::TARGET])
        .arg("--message-format=json-render-diagnostics")
        .stdout(Stdio::piped());
    let words = process::words(&command);
    let output = command
        .spawn()
        .and_then(std::process::Child::wait_with_output)
        .with_context(|| format!("cannot run `{words}`"))?;
    ensure!(
        output.status.success(),
        "`{words}` failed: {}",
        output.status
    );
    let modules = modules(&String::from_utf8_lossy(&output.stdout))?;
    if modules.is_empty() {
        bail!("no plugin has crate-type cdylib, so there are no components");
    }
    Ok(modules)
}

/// The selection of the plugins' workspace.
fn selection(names: &[String]) -> Vec<&str> {
    if names.is_empty() {
        return vec!["--workspace"];
    }
    let names = names.iter().map(String::as_str);
    names.flat_map(|name| ["--package", name]).collect()
}

/// The modules that cargo made, or found fresh.
fn modules(messages: &str) -> Result<Vec<Module>> {
    let mut modules = Vec::new();
    for text in messages.lines().filter(|line| line.starts_with('{')) {
        let line: Line = serde_json::from_str(text)
            .with_context(|| format!("cargo wrote a line that cannot be read: {text}"))?;
        let Some(target) = line.target.filter(|_| line.reason == "compiler-artifact") else {
            continue;
        };
        let is_module = |path: &PathBuf| path.extension().is_some_and(|e| e == "wasm");
        if target.kind.iter().any(|kind| kind == "cdylib")
            && let Some(path) = line.filenames.into_iter().find(is_module)
        {
            modules.push(Module {
                name: target.name.replace('_', "-"),
                path,
            });
        }
    }
    modules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(modules)
}

/// Wraps changed modules. Returns their number.
pub fn wrap_all(modules: &[Module]) -> Result<usize> {
    let folder = repository::components();
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {folder:?}"))?;
    let mut wrapped = 0;
    for module in modules {
        wrapped += usize::from(wrap(module)?);
    }
    Ok(wrapped)
}

/// Wraps a module as a component, unless that was done before. Returns whether it was needed.
fn wrap(module: &Module) -> Result<bool> {
    let bytes = fs::read(&module.path).with_context(|| format!("cannot read {:?}", module.path))?;
    let folder = repository::components();
    let component = folder.join(format!("{}.wasm", module.name));
    let mark = folder.join(format!("{}.wrapped", module.name));
    let digest = sha256(&bytes);
    let wanted = format!("{WRAPPER}\n{digest}\n");
    if component.exists() && fs::read_to_string(&mark).is_ok_and(|made| made == wanted) {
        return Ok(false);
    }
    let encoded = ComponentEncoder::default()
        .validate(true)
        .module(&bytes)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| anyhow::anyhow!("{error:?}"))
        .with_context(|| format!("plugin `{}` cannot be wrapped", module.name))?;
    // The mark is removed first and written last, so that an interrupted run wraps again.
    let _ = fs::remove_file(&mark);
    fs::write(&component, encoded).with_context(|| format!("cannot write {component:?}"))?;
    fs::write(&mark, wanted).with_context(|| format!("cannot write {mark:?}"))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_that_nobody_names_are_not_built() {
        assert_eq!(selection(&[]), ["--workspace"]);
        let names = ["quoting".to_owned(), "transfers".to_owned()];
        let expected = ["--package", "quoting", "--package", "transfers"];
        assert_eq!(selection(&names), expected);
    }

    #[test]
    fn modules_are_taken_from_cargos_messages_and_libraries_left_out() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"quoting","kind":["cdylib","rlib"]},"filenames":["t/libquoting.rlib","t/quoting.wasm"]}
{"reason":"compiler-artifact","target":{"name":"amount_limits","kind":["cdylib"]},"filenames":["t/amount_limits.wasm"]}
{"reason":"compiler-artifact","target":{"name":"rialto-sdk","kind":["lib"]},"filenames":["t/librialto_sdk.rlib"]}
{"reason":"build-finished","success":true}
"#;
        let modules = modules(messages).unwrap();
        let names: Vec<_> = modules.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["amount-limits", "quoting"]);
        assert_eq!(modules[1].path, PathBuf::from("t/quoting.wasm"));
    }
}
