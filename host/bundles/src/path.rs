//! Paths of files in a bundle.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The most bytes of a path.
const LENGTH_MAX: usize = 200;

/// Where a file of a bundle is: relative to the folder into which the bundle is unpacked, and inside it, with `/` between
/// the parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BundlePath(String);

impl BundlePath {
    /// As text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The file, in that folder.
    #[must_use]
    pub fn within(&self, folder: &Path) -> PathBuf {
        self.0
            .split('/')
            .fold(folder.to_owned(), |path, part| path.join(part))
    }

    /// Its last part.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Whether the other one is in a folder of this name.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        let rest = other.0.strip_prefix(&self.0);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for BundlePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<BundlePath> for String {
    fn from(path: BundlePath) -> Self {
        path.0
    }
}

/// Why a text is no path of a file in a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is no path in a bundle: {why}")]
pub struct BadPath {
    /// The text.
    pub path: String,
    /// What is wrong.
    pub why: &'static str,
}

impl FromStr for BundlePath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "-_.+/".contains(c);
        let why = if text.is_empty() || text.len() > LENGTH_MAX {
            "a path has 1 to 200 characters"
        } else if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            "it must lie inside the bundle, with `/` between its parts and without `.` or `..`"
        } else if !text.chars().all(is_usual) {
            "it may have the letters a to z and A to Z, digits, and `-`, `_`, `.`, `+`: rename the file"
        } else {
            return Ok(Self(text.to_owned()));
        };
        // What strangers write is shown in part.
        let path = text.chars().take(LENGTH_MAX).collect();
        Err(BadPath { path, why })
    }
}

impl TryFrom<String> for BundlePath {
    type Error = BadPath;

    fn try_from(text: String) -> Result<Self, BadPath> {
        text.parse()
    }
}
