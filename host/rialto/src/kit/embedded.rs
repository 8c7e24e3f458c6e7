//! What the binary brings for authors: the contracts, the SDK, and the templates of plugins.

use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use include_dir::{Dir, include_dir};
use toml::{Table, Value};

/// The contracts.
static WIT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../wit");
/// The SDK.
static SDK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../plugins/sdk");
/// The templates: of rules one folder for each language, and one of contexts.
static TEMPLATES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../plugins/template");
/// Where the versions of the SDK's dependencies are.
const PLUGINS: &str = include_str!("../../../../plugins/Cargo.toml");
/// The exact versions of all dependencies.
pub const LOCK: &str = include_str!("../../../../plugins/Cargo.lock");

/// The text of a file of the contracts.
pub(super) fn contract(path: &str) -> Option<&'static str> {
    WIT.get_file(path)?.contents_utf8()
}

/// Write contracts: all packages, or these. Files that are not WIT are left out.
///
/// # Errors
/// When there is no such package, or it cannot be written.
pub fn write_contracts(folder: &Path, packages: &[&str]) -> anyhow::Result<()> {
    for package in packages {
        ensure!(
            WIT.get_dir(package).is_some(),
            "there is no package `{package}` among the contracts"
        );
    }
    let wanted = |package: &&Dir<'_>| {
        let name = package.path().to_string_lossy();
        packages.is_empty() || packages.contains(&&*name)
    };
    for package in WIT.dirs().filter(wanted) {
        let files = package.files();
        for file in files.filter(|file| file.path().extension().is_some_and(|end| end == "wit")) {
            write(&folder.join(file.path()), file.contents())?;
        }
    }
    Ok(())
}

/// Write the SDK as a crate that builds without its workspace. Its contracts are two folders above it, in `wit`.
///
/// # Errors
/// When it cannot be written.
pub fn write_sdk(folder: &Path) -> anyhow::Result<()> {
    let mut files = Vec::new();
    all(&SDK, &mut files);
    for (path, contents) in files {
        if path != Path::new("Cargo.toml") {
            write(&folder.join(path), contents)?;
        }
    }
    let manifest = SDK
        .get_file("Cargo.toml")
        .and_then(|file| file.contents_utf8());
    let manifest = alone(manifest.context("the SDK has no manifest")?, PLUGINS)?;
    write(&folder.join("Cargo.toml"), manifest.as_bytes())
}

/// A file of the templates, by its path in their folder.
///
/// # Errors
/// When there is none: this binary is wrong.
pub fn template(name: &str) -> anyhow::Result<&'static str> {
    let file = TEMPLATES
        .get_file(name)
        .and_then(|file| file.contents_utf8());
    file.with_context(|| format!("the templates have no file `{name}`"))
}

/// The version of a dependency that plugins have.
///
/// # Errors
/// When they do not have it.
pub fn version_of(dependency: &str) -> anyhow::Result<String> {
    let plugins: Table = PLUGINS.parse().context("the plugins' manifest")?;
    let found = &plugins["workspace"]["dependencies"];
    let found = found.get(dependency).and_then(|one| one.get("version"));
    let found = found.and_then(Value::as_str);
    Ok(found
        .with_context(|| format!("plugins have no `{dependency}`"))?
        .to_owned())
}

/// A crate's manifest with what it inherits from its workspace.
fn alone(manifest: &str, workspace: &str) -> anyhow::Result<String> {
    let mut manifest: Table = manifest.parse().context("the SDK's manifest")?;
    let workspace: Table = workspace.parse().context("the plugins' manifest")?;
    let workspace = workspace.get("workspace").and_then(Value::as_table);
    let workspace = workspace.context("the plugins' manifest has no workspace")?;
    let package = workspace
        .get("package")
        .context("the workspace has no package")?;
    inherit(manifest.get_mut("package"), package);
    let dependencies = workspace.get("dependencies");
    let dependencies = dependencies.context("the workspace has no dependencies")?;
    inherit(manifest.get_mut("dependencies"), dependencies);
    let targets = manifest.get_mut("target").and_then(Value::as_table_mut);
    for (_, target) in targets.into_iter().flatten() {
        inherit(target.get_mut("dependencies"), dependencies);
    }
    manifest.remove("lints");
    manifest.remove("dev-dependencies");
    Ok(toml::to_string(&manifest)?)
}

/// Replaces each member with `workspace = true` by the workspace's, which keeps its other members.
fn inherit(members: Option<&mut Value>, from: &Value) {
    let members = members.and_then(Value::as_table_mut);
    for (name, member) in members.into_iter().flatten() {
        let Some(own) = member.as_table_mut() else {
            continue;
        };
        if own.remove("workspace").is_none() {
            continue;
        }
        let Some(inherited) = from.get(name) else {
            continue;
        };
        if own.is_empty() {
            *member = inherited.clone();
            continue;
        }
        let mut both = match inherited {
            Value::Table(inherited) => inherited.clone(),
            version => Table::from_iter([("version".to_owned(), version.clone())]),
        };
        both.extend(std::mem::take(own));
        *member = Value::Table(both);
    }
}

/// All files of a folder with their paths in it.
fn all<'a>(folder: &'a Dir<'a>, files: &mut Vec<(&'a Path, &'a [u8])>) {
    files.extend(folder.files().map(|file| (file.path(), file.contents())));
    folder.dirs().for_each(|inner| all(inner, files));
}

/// Writes a file that does not exist, with its folders.
///
/// # Errors
/// When it exists, or cannot be written.
pub fn write(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    if path.exists() {
        bail!("{} exists, and nothing is overwritten", path.display());
    }
    if let Some(folder) = path.parent() {
        let made = std::fs::create_dir_all(folder);
        made.with_context(|| format!("making {}", folder.display()))?;
    }
    std::fs::write(path, contents).with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifest_stands_without_its_workspace() {
        let manifest = alone(
            "[package]\nname = \"a\"\nedition.workspace = true\n\
             [dependencies]\nserde.workspace = true\nsha2 = { workspace = true, optional = true }\n\
             [target.'cfg(unix)'.dependencies]\ntalc.workspace = true\n[lints]\nworkspace = true\n",
            "[workspace.package]\nedition = \"2024\"\n\
             [workspace.dependencies]\nserde = { version = \"1\", features = [\"std\"] }\nsha2 = \"0.11\"\ntalc = \"5\"\n",
        )
        .unwrap();
        assert!(!manifest.contains("workspace"), "{manifest}");
        let manifest: Table = manifest.parse().unwrap();
        assert_eq!(manifest["package"]["edition"].as_str(), Some("2024"));
        let dependencies = &manifest["dependencies"];
        assert_eq!(dependencies["serde"]["features"][0].as_str(), Some("std"));
        assert_eq!(dependencies["sha2"]["version"].as_str(), Some("0.11"));
        assert_eq!(dependencies["sha2"]["optional"].as_bool(), Some(true));
        let target = &manifest["target"]["cfg(unix)"]["dependencies"];
        assert_eq!(target["talc"].as_str(), Some("5"));
    }

    #[test]
    fn sdk_and_contracts_are_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        write_sdk(&folder.path().join("sdk")).unwrap();
        write_contracts(&folder.path().join("wit"), &["common", "rules"]).unwrap();
        let text = |path: &str| std::fs::read_to_string(folder.path().join(path)).unwrap();
        assert!(!text("sdk/Cargo.toml").contains("workspace"));
        assert!(text("sdk/src/lib.rs").contains("pub mod rule"));
        assert!(text("sdk/wit/world.wit").contains("package rialto:sdk"));
        assert!(text("wit/rules/rules.wit").contains("package rialto:rules"));
        assert!(!folder.path().join("wit/host").exists());
        assert!(write_contracts(&folder.path().join("other"), &["nothing"]).is_err());
    }
}
