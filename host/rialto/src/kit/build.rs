//! Builds a plugin's crate, and wraps the module that cargo makes as a component.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use wit_component::ComponentEncoder;

/// The target whose modules need no system.
const TARGET: &str = "wasm32-unknown-unknown";

/// The used members of a line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Line {
    reason: String,
    #[serde(default)]
    target: Target,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Default, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Build the crate in a folder, and write its component into that folder, as `NAME.wasm`. Returns the file. cargo's own
/// words go to standard error.
///
/// # Errors
/// When cargo fails, or what it makes is no plugin.
pub fn build(folder: &Path) -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&cargo)
        .current_dir(folder)
        .args(["build", "--release", "--target", TARGET])
        .arg("--message-format=json-render-diagnostics")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = output.context("running cargo: is Rust installed?")?;
    ensure!(
        output.status.success(),
        "cargo has failed; if it misses the target, `rustup target add {TARGET}` installs it; a rule in another language has its command in README.md"
    );
    let said = String::from_utf8_lossy(&output.stdout);
    let (name, module) = module(&said)
        .context("cargo has made no module: the crate needs `crate-type = [\"cdylib\"]`")?;
    let bytes = std::fs::read(&module).with_context(|| format!("reading {}", module.display()))?;
    let component = ComponentEncoder::default()
        .validate(true)
        .module(&bytes)
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| anyhow::anyhow!("{error:?}"))
        .context("the module is no plugin: it cannot be wrapped as a component")?;
    let file = folder.join(format!("{name}.wasm"));
    std::fs::write(&file, component).with_context(|| format!("writing {}", file.display()))?;
    Ok(file)
}

/// The last module that cargo made, or found fresh, and its name in kebab-case: dependencies come first.
fn module(said: &str) -> Option<(String, PathBuf)> {
    let lines = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Line>(line).ok());
    let mut modules = lines.filter_map(|line| {
        let is_plugin = line.target.kind.iter().any(|kind| kind == "cdylib");
        let mut files = line.filenames.into_iter();
        let module = files.find(|file| file.extension().is_some_and(|end| end == "wasm"))?;
        let is_made = line.reason == "compiler-artifact" && is_plugin;
        is_made.then(|| (line.target.name.replace('_', "-"), module))
    });
    modules.next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_is_found_among_what_cargo_says() {
        let said = r#"{"reason":"compiler-artifact","target":{"name":"serde","kind":["lib"]},"filenames":["/t/libserde.rlib"]}
not json
{"reason":"compiler-artifact","target":{"name":"my_rule","kind":["cdylib","rlib"]},"filenames":["/t/my_rule.wasm","/t/libmy_rule.rlib"]}
{"reason":"build-finished","success":true}"#;
        let found = ("my-rule".to_owned(), PathBuf::from("/t/my_rule.wasm"));
        assert_eq!(module(said), Some(found));
        assert_eq!(module("{}"), None);
    }
}
