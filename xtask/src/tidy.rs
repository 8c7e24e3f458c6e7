//! `cargo xtask tidy`: the project's own rules about its files, each with a reason.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::{process, repository};

mod edges;
mod fields;
mod files;
mod frozen;
mod grants;
mod named;
mod protos;
mod sources;
mod words;
mod worlds;

/// A rule that a file breaks.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the repository's root.
    pub file: PathBuf,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// The problem and what to do.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match self.line {
            0 => write!(f, "{file}: {}", self.message),
            line => write!(f, "{file}:{line}: {}", self.message),
        }
    }
}

/// Checks the project's own rules. Accepts the current contracts first, on request.
pub fn tidy(accept_wit: bool) -> Result<()> {
    process::say("the project's own rules");
    let root = repository::root();
    if accept_wit {
        // First the part that may be refused.
        protos::accept(&root)?;
        frozen::accept(&root)?;
    }
    let files = files::all(&root)?;
    let mut findings = Vec::new();
    let tests = sources::test_modules(&files);
    for file in &files {
        findings.extend(sources::findings(file, &tests));
        findings.extend(worlds::findings(file));
        findings.extend(fields::findings(file));
        if !tests.contains(&file.path) {
            findings.extend(words::findings(file));
        }
    }
    findings.extend(frozen::findings(&files));
    findings.extend(protos::findings(&root));
    findings.extend(edges::findings(&root)?);
    findings.extend(grants::findings(&files)?);
    findings.extend(named::findings(&files));
    for finding in &findings {
        eprintln!("{finding}");
    }
    if !findings.is_empty() {
        bail!("{} of the project's own rules are broken", findings.len());
    }
    Ok(())
}
