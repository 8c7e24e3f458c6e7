//! Contracts are named after their folders, so that a name leads to its file.

use std::path::Component;

use super::Finding;
use super::files::TextFile;

/// The problems of names in a WIT file.
pub fn findings(file: &TextFile) -> Option<Finding> {
    let parts: Vec<_> = file
        .path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let (wanted, line) = match parts.as_slice() {
        // wit/quoting/quoting.wit: the package of that name. wit/rules-0.2.0/rules.wit: its other version.
        ["wit", folder, _] => (package(folder), "package "),
        // plugins/contexts/quoting/world.wit: the plugin's one world.
        [
            "plugins",
            "contexts" | "rules" | "tests",
            folder,
            "world.wit",
        ] => (format!("world {folder} "), "world "),
        _ => return None,
    };
    let declared: Vec<_> = file
        .text
        .lines()
        .filter(|text| text.starts_with(line))
        .collect();
    if declared.len() == 1 && declared[0].starts_with(&wanted) {
        return None;
    }
    Some(Finding {
        file: file.path.clone(),
        line: 0,
        message: format!(
            "declares {declared:?}, but after its folder it must have one line that begins `{}`",
            wanted.trim_end()
        ),
    })
}

/// How the package of a folder is declared. A folder whose name ends with a version has that version.
fn package(folder: &str) -> String {
    let version = folder.rsplit_once('-').filter(|(_, version)| {
        version.contains('.') && version.bytes().all(|b| b == b'.' || b.is_ascii_digit())
    });
    match version {
        Some((name, version)) => format!("package rialto:{name}@{version};"),
        None => format!("package rialto:{folder}@"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(path: &str, text: &str) -> Option<String> {
        let file = TextFile {
            path: path.into(),
            text: text.to_owned(),
        };
        findings(&file).map(|finding| finding.to_string())
    }

    #[test]
    fn worlds_and_packages_bear_their_folders_names() {
        let world = "plugins/contexts/quoting/world.wit";
        assert_eq!(finding(world, "package a:b;\n\nworld quoting {\n}\n"), None);
        assert!(finding(world, "world quotes {\n}\n").is_some());
        assert!(finding(world, "world quoting {\n}\nworld other {\n}\n").is_some());
        let package = "wit/quoting/quoting.wit";
        assert_eq!(finding(package, "package rialto:quoting@0.1.0;\n"), None);
        assert!(finding(package, "package rialto:quotes@0.1.0;\n").is_some());
        let second = "wit/rules-0.2.0/rules.wit";
        assert_eq!(finding(second, "package rialto:rules@0.2.0;\n"), None);
        assert!(finding(second, "package rialto:rules@0.1.0;\n").is_some());
        let hyphens = "wit/account-lookup/account-lookup.wit";
        assert_eq!(
            finding(hyphens, "package rialto:account-lookup@0.1.0;\n"),
            None
        );
        assert_eq!(
            finding("plugins/sdk/wit/world.wit", "world imports {}"),
            None
        );
    }
}
