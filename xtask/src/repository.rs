//! Paths in this repository.

use std::path::{Path, PathBuf};

/// The repository's root: the folder above this crate's.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// The plugins' workspace.
pub fn plugins() -> PathBuf {
    root().join("plugins")
}

/// The demonstration scheme.
pub const DEMO: &str = "schemes/demo";

/// The folder of wrapped components.
pub fn components() -> PathBuf {
    root().join("target/plugins")
}

/// The plugins' target folder for WebAssembly. It is not the host's, since the compiler differs.
pub fn guest_target() -> PathBuf {
    root().join("target/guest")
}

/// The output of another project's tool.
pub fn foreign() -> PathBuf {
    root().join("target/foreign")
}

/// The plugins' target folder for this machine: tests and lints.
pub fn native_target() -> PathBuf {
    root().join("target/plugins-native")
}

/// The folder of archives for operators.
pub fn dist() -> PathBuf {
    root().join("target/dist")
}

/// The fuzz targets, a workspace of their own.
pub fn fuzz() -> PathBuf {
    root().join("fuzz")
}

/// The fuzz targets' target folder. It is not the host's, since the compiler's flags differ.
pub fn fuzz_target() -> PathBuf {
    root().join("target/fuzz")
}

/// Builds of the host with a profile.
pub fn trained() -> PathBuf {
    root().join("target/trained")
}

/// Third-party tools that `cargo xtask check` installs.
pub fn tools() -> PathBuf {
    root().join("target/tools")
}
