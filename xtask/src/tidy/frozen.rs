//! The contracts are frozen: `wit/frozen.toml` has the digest of each package of `wit/`, so that a change is
//! deliberate and visible in the diff. Components that were built with the earlier package may not fit any
//! more.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest as _, Sha256};

use super::Finding;
use super::files::{self, TextFile};
use crate::process;

/// The digests.
const FILE: &str = "wit/frozen.toml";
/// Its first lines.
const HEAD: &str =
    "# The contracts as they were last accepted: the SHA-256 of each package of this folder.
# A change of a package is a change for everyone who builds against it. When it is meant:
#     cargo xtask tidy --accept-wit
";
/// The remedy.
const WHAT_TO_DO: &str = "if that is meant, `cargo xtask tidy --accept-wit` accepts it, and the diff of \
                          wit/frozen.toml shows it";

/// Packages, by folder, that differ from the accepted ones.
pub fn findings(files: &[TextFile]) -> Vec<Finding> {
    let accepted = files.iter().find(|file| file.path == Path::new(FILE));
    let accepted = accepted.map_or_else(BTreeMap::new, |file| read(&file.text));
    let now = packages(files);
    let mut findings = Vec::new();
    for (package, digest) in &now {
        let message = match accepted.get(package) {
            Some(known) if known == digest => continue,
            Some(_) => "has changed since it was accepted",
            None => "is new, and nobody has accepted it",
        };
        findings.push(finding(package, message));
    }
    let gone = accepted
        .keys()
        .filter(|package| !now.contains_key(*package));
    findings.extend(gone.map(|package| finding(package, "was accepted and is gone")));
    findings
}

/// Accepts the current packages.
pub fn accept(root: &Path) -> Result<()> {
    let text = written(&packages(&files::all(root)?));
    let path = root.join(FILE);
    if fs::read_to_string(&path).is_ok_and(|now| now == text) {
        process::say("wit/ is as it was accepted before");
        return Ok(());
    }
    process::say("accepting wit/ as it is");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn finding(package: &str, message: &str) -> Finding {
    Finding {
        file: Path::new("wit").join(package),
        line: 0,
        message: format!("the package {message}: {WHAT_TO_DO}"),
    }
}

/// The digest of each package, by its folder: over names and texts of its files.
fn packages(files: &[TextFile]) -> BTreeMap<String, String> {
    let mut of_package: BTreeMap<String, Vec<(&PathBuf, &str)>> = BTreeMap::new();
    for file in files {
        let parts: Vec<_> = file.path.iter().filter_map(|part| part.to_str()).collect();
        if let ["wit", package, _, ..] = parts.as_slice() {
            let texts = of_package.entry((*package).to_owned()).or_default();
            texts.push((&file.path, &file.text));
        }
    }
    let digest = |texts: Vec<(&PathBuf, &str)>| {
        let mut sha = Sha256::new();
        for (path, text) in texts {
            // Lengths separate the files.
            let path = path.to_string_lossy();
            sha.update(format!("{} {} {path}\n{text}", path.len(), text.len()));
        }
        let bytes = sha.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let digested = of_package.into_iter();
    digested
        .map(|(name, texts)| (name, digest(texts)))
        .collect()
}

fn written(packages: &BTreeMap<String, String>) -> String {
    let lines = packages.iter();
    let lines = lines.map(|(name, digest)| {
        // A bare key of TOML has no dots.
        let name = match name.contains('.') {
            true => format!("\"{name}\""),
            false => name.clone(),
        };
        format!("{name} = \"{digest}\"\n")
    });
    format!("{HEAD}\n{}", lines.collect::<String>())
}

/// Parses the text of `written`. Other lines are ignored, so their packages are not accepted.
fn read(text: &str) -> BTreeMap<String, String> {
    let pairs = text.lines().filter_map(|line| line.split_once(" = "));
    pairs
        .map(|(name, digest)| [name, digest].map(|text| text.trim_matches('"').to_owned()))
        .map(|[name, digest]| (name, digest))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.into(),
            text: text.to_owned(),
        }
    }

    fn with_accepted(files: Vec<TextFile>, accepted: &[TextFile]) -> Vec<String> {
        let mut all = files;
        all.push(file(FILE, &written(&packages(accepted))));
        findings(&all).iter().map(ToString::to_string).collect()
    }

    fn one(text: &str) -> TextFile {
        file("wit/one/one.wit", text)
    }

    #[test]
    fn what_was_accepted_passes() {
        assert_eq!(with_accepted(vec![one("a")], &[one("a")]), [""; 0]);
    }

    #[test]
    fn changed_new_and_lost_packages_are_found() {
        let found = with_accepted(vec![one("b")], &[one("a")]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("wit/one: the package has changed"),
            "{found:?}"
        );
        assert!(
            found[0].contains("cargo xtask tidy --accept-wit"),
            "{found:?}"
        );
        let two = || file("wit/two/two.wit", "a");
        let found = with_accepted(vec![one("a"), two()], &[one("a")]);
        assert!(
            found[0].starts_with("wit/two: the package is new"),
            "{found:?}"
        );
        let found = with_accepted(vec![one("a")], &[one("a"), two()]);
        assert!(
            found[0].starts_with("wit/two: the package was accepted"),
            "{found:?}"
        );
        assert_eq!(
            findings(&[one("a")]).len(),
            1,
            "without the file nothing is accepted"
        );
    }

    #[test]
    fn a_text_that_moves_to_another_file_is_a_change() {
        let (a, b) = (file("wit/one/a.wit", "x"), file("wit/one/b.wit", "y"));
        let moved = [file("wit/one/a.wit", "xy"), file("wit/one/b.wit", "")];
        assert_ne!(packages(&[a, b]), packages(&moved));
    }
}
