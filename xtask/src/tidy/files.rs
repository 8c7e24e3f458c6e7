//! The repository's text files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A text file.
pub struct TextFile {
    /// From the repository's root, with `/` between the parts.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// Generated folders.
const GENERATED: [&str; 7] = [
    ".git",
    "target",
    "components",
    "dist",
    "node_modules",
    "state",
    "proptest-regressions",
];
/// Extensions of handwritten files.
const WRITTEN: [&str; 11] = [
    "rs", "toml", "wit", "md", "yaml", "yml", "json", "sql", "sh", "proto", "txt",
];

/// All handwritten text files.
pub fn all(root: &Path) -> Result<Vec<TextFile>> {
    let mut files = Vec::new();
    collect(root, Path::new(""), &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<TextFile>) -> Result<()> {
    let entries = fs::read_dir(root.join(folder))
        .with_context(|| format!("cannot list {:?}", root.join(folder)))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let path = folder.join(&name);
        let kind = entry.file_type()?;
        if kind.is_dir() {
            // `host/components` is a crate; `schemes/*/components` is generated.
            let made = GENERATED.iter().any(|generated| name == *generated);
            if !made || root.join(&path).join("Cargo.toml").exists() {
                collect(root, &path, files)?;
            }
        } else if kind.is_file() && is_written(&path) {
            let bytes =
                fs::read(root.join(&path)).with_context(|| format!("cannot read {path:?}"))?;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            files.push(TextFile { path, text });
        }
    }
    Ok(())
}

fn is_written(path: &Path) -> bool {
    let in_ci = path.starts_with(".ci");
    let extension = path.extension().and_then(|extension| extension.to_str());
    in_ci || extension.is_some_and(|extension| WRITTEN.contains(&extension))
}
