//! The files of the operators' console, as `cargo xtask build` has built them from `console/`.
//!
//! They are part of the binary: who runs it needs no build step and no other server. A binary that was built without them
//! has none.

#![forbid(unsafe_code)]

/// The page of the console.
pub const PAGE: &str = "index.html";

/// A file of the console.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its name. Names of all files but the page have a digest of the contents.
    pub name: &'static str,
    /// Its contents.
    pub plain: &'static [u8],
    /// Its contents, compressed by gzip.
    pub compressed: &'static [u8],
}

/// All files.
static FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The file of this name.
#[must_use]
pub fn file(name: &str) -> Option<File> {
    FILES.iter().find(|file| file.name == name).copied()
}

impl File {
    /// Its media type.
    #[must_use]
    pub fn media_type(&self) -> &'static str {
        let (_, extension) = self.name.rsplit_once('.').unwrap_or_default();
        match extension {
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "txt" => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_built_console_has_a_page_and_scripts_of_known_types() {
        assert_eq!(FILES.is_empty(), file(PAGE).is_none());
        for file in FILES {
            assert_ne!(file.media_type(), "application/octet-stream", "{file:?}");
            assert!(file.compressed.starts_with(&[0x1f, 0x8b]), "{}", file.name);
        }
    }
}
