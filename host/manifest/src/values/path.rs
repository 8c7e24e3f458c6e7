//! Paths of files that documents name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{Invalid, text_value};

/// A component's file, relative to the scheme's folder and inside it. A scheme's folder contains all
/// files that it refers to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentPath(String);

text_value!(
    ComponentPath,
    "component-path",
    "a component's path",
    "components/quoting.wasm",
    r"^[^/\\].*\.wasm$"
);

impl ComponentPath {
    /// As text, with `/` between its parts.
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
}

impl fmt::Display for ComponentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ComponentPath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let part = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !text.split('/').all(part) || text.contains(['\\', ':', '\0']) {
            return Err(Invalid::new(
                "components are named relative to the scheme's folder and lie inside it, with `/` between the parts and without `.` or `..`",
            ));
        }
        if !text.ends_with(".wasm") {
            return Err(Invalid::new("a component's file ends in `.wasm`"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// An operator's file or folder, absolute or relative to the document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

text_value!(FilePath, "file-path", "a path", "state", "^.+$");

impl FilePath {
    /// The path, seen from that folder.
    #[must_use]
    pub fn from_folder(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0)
    }

    /// Whether it does not depend on a folder.
    #[must_use]
    pub fn is_absolute(&self) -> bool {
        Path::new(&self.0).is_absolute()
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for FilePath {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() || text.contains('\0') {
            return Err(Invalid::new("a path is not empty"));
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_lie_inside_the_schemes_folder() {
        let path: ComponentPath = "components/a.wasm".parse().unwrap();
        assert_eq!(
            path.within(Path::new("s")),
            Path::new("s/components/a.wasm")
        );
        for bad in [
            "/a.wasm",
            "../a.wasm",
            "a/../b.wasm",
            "./a.wasm",
            "a//b.wasm",
            "a\\b.wasm",
            "c:a.wasm",
            "a.txt",
        ] {
            assert!(bad.parse::<ComponentPath>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_operators_paths_may_be_absolute() {
        let path = |text: &str| {
            text.parse::<FilePath>()
                .unwrap()
                .from_folder(Path::new("s"))
        };
        assert_eq!(path("state"), Path::new("s/state"));
        assert_eq!(path("/var/lib/rialto"), Path::new("/var/lib/rialto"));
    }
}
