//! Makes a repository for a bounded context of one's own, in Rust.

use std::path::Path;

use rialto_manifest::values::Name;

use super::filled;
use crate::kit::embedded::{LOCK, template, version_of, write, write_contracts, write_sdk};

/// The files of the repository, each with its template. Some are those of rules.
const FILES: [(&str, &str); 16] = [
    ("README.md", "context/README.md.in"),
    ("binding.toml", "context/binding.toml.in"),
    (".gitignore", "rule/gitignore.in"),
    (".github/workflows/test.yml", "rule/ci.yml.in"),
    ("Cargo.toml", "context/Cargo.toml.in"),
    ("world.wit", "context/world.wit.in"),
    ("openapi.yaml", "context/openapi.yaml.in"),
    ("settings.schema.json", "context/settings.schema.json.in"),
    ("src/lib.rs", "context/lib.rs.in"),
    ("src/api.rs", "context/api.rs.in"),
    ("src/bindings.rs", "context/bindings.rs.in"),
    ("src/host.rs", "context/host.rs.in"),
    ("src/settings.rs", "context/settings.rs.in"),
    ("src/tests.rs", "context/tests.rs.in"),
    ("src/totals.rs", "context/totals.rs.in"),
    ("src/world.rs", "context/world.rs.in"),
];

/// The commands that test, make and look at the component, in the repository's folder.
#[must_use]
pub fn commands(name: &Name) -> [String; 3] {
    [
        "cargo test".to_owned(),
        "rialto plugin build".to_owned(),
        format!("rialto plugin check {name}.wasm"),
    ]
}

/// The commands that bind the component in a scheme whose folder is `SCHEME`.
#[must_use]
pub fn binding_commands(name: &Name) -> [String; 4] {
    [
        format!("cp {name}.wasm SCHEME/components/"),
        "cat binding.toml >> SCHEME/scheme.toml".to_owned(),
        "rialto lock SCHEME".to_owned(),
        "rialto release apply SCHEME".to_owned(),
    ]
}

/// The lines that bind the component, for scheme.toml.
///
/// # Errors
/// When this binary has no such template.
pub fn binding(name: &Name) -> anyhow::Result<String> {
    Ok(filled(
        template("context/binding.toml.in")?,
        &[("{name}", name.as_str())],
    ))
}

/// Write the repository of a context into a folder that does not exist yet. It has all contracts, since a context may
/// take part in any of them.
///
/// # Errors
/// When a file cannot be written.
pub fn context(folder: &Path, name: &Name) -> anyhow::Result<()> {
    let wit_bindgen = version_of("wit-bindgen")?;
    let words = [
        ("{name}", name.as_str()),
        ("{wit-bindgen}", wit_bindgen.as_str()),
        ("{version}", env!("CARGO_PKG_VERSION")),
    ];
    for (file, from) in FILES {
        let text = filled(template(from)?, &words);
        write(&folder.join(file), text.as_bytes())?;
    }
    write_contracts(&folder.join("wit"), &[])?;
    write(&folder.join("Cargo.lock"), LOCK.as_bytes())?;
    write_sdk(&folder.join("vendor/rialto-sdk"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rialto_manifest::Scheme;
    use serde_json::Value;
    use toml::Table;

    use super::*;

    fn made() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        context(&folder.path().join("own"), &"my-context".parse().unwrap()).unwrap();
        folder
    }

    #[test]
    fn repository_has_all_files_with_its_name() {
        let folder = made();
        let own = folder.path().join("own");
        for (file, from) in FILES {
            let text = std::fs::read_to_string(own.join(file)).unwrap();
            for mark in ["{name}", "{version}", "{wit-bindgen}"] {
                assert!(!text.contains(mark), "{file} has {mark}");
            }
            if template(from).unwrap().contains("{name}") {
                assert!(text.contains("my-context"), "{file}");
            }
        }
        for file in [
            "Cargo.lock",
            "vendor/rialto-sdk/Cargo.toml",
            "vendor/rialto-sdk/wit/world.wit",
            "wit/common/common.wit",
            "wit/host/host.wit",
            "wit/rules/rules.wit",
        ] {
            assert!(own.join(file).is_file(), "{file}");
        }
        // Nothing is overwritten.
        assert!(context(&own, &"my-context".parse().unwrap()).is_err());
    }

    #[test]
    fn contracts_of_the_bindings_are_there() {
        let folder = made();
        let own = folder.path().join("own");
        let bindings = std::fs::read_to_string(own.join("src/bindings.rs")).unwrap();
        let packages = bindings.lines().filter_map(|line| {
            let line = line.trim().strip_prefix("\"wit/")?;
            line.strip_suffix("\",")
        });
        let packages: Vec<&str> = packages.collect();
        assert!(packages.len() >= 3, "{bindings}");
        for package in packages {
            assert!(own.join("wit").join(package).is_dir(), "{package}");
        }
    }

    #[test]
    fn every_template_of_contexts_is_used() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins/template/context");
        let entries = std::fs::read_dir(folder).unwrap();
        let there: BTreeSet<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let used = FILES
            .iter()
            .filter_map(|(_, from)| from.strip_prefix("context/"));
        assert_eq!(there, used.map(str::to_owned).collect());
    }

    #[test]
    fn binding_grants_each_surface_that_the_world_imports() {
        let lines = binding(&"my-context".parse().unwrap()).unwrap();
        let table: Table = lines.parse().unwrap();
        let bound = &table["contexts"]["my-context"];
        let granted = bound["grants"]["host"].as_array().unwrap().iter();
        let granted: BTreeSet<&str> = granted.map(|one| one.as_str().unwrap()).collect();
        let world = template("context/world.wit.in").unwrap();
        let imported = world.lines().filter_map(|line| {
            let line = line.trim().strip_prefix("import rialto:host/")?;
            Some(line.split_once('@')?.0)
        });
        assert_eq!(granted, imported.collect());
        // It names no setting that the schema does not describe.
        let schema: Value =
            serde_json::from_str(template("context/settings.schema.json.in").unwrap()).unwrap();
        for setting in bound["settings"].as_table().unwrap().keys() {
            assert!(schema["properties"][setting].is_object(), "{setting}");
        }
        // The demonstration takes it.
        let demo = include_str!("../../../../../schemes/demo/scheme.toml");
        let scheme = Scheme::parse(&format!("{demo}{lines}")).unwrap();
        let mut contexts = scheme.contexts.keys();
        assert!(contexts.any(|name| name.as_str() == "my-context"));
    }
}
