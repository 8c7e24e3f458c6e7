//! Where things are in this repository.

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

/// Where wrapped components are put.
pub fn components() -> PathBuf {
    root().join("target/plugins")
}

/// The plugins' target folder for WebAssembly: apart from the host's, since the compiler differs.
pub fn guest_target() -> PathBuf {
    root().join("target/guest")
}

/// What another project's tool makes.
pub fn foreign() -> PathBuf {
    root().join("target/foreign")
}

/// The plugins' target folder for this machine: their tests and lints.
pub fn native_target() -> PathBuf {
    root().join("target/plugins-native")
}

/// Where archives for operators are put.
pub fn dist() -> PathBuf {
    root().join("target/dist")
}

/// The fuzz targets, a workspace of their own.
pub fn fuzz() -> PathBuf {
    root().join("fuzz")
}

/// The fuzz targets' target folder: apart from the host's, since the compiler's flags differ.
pub fn fuzz_target() -> PathBuf {
    root().join("target/fuzz")
}

/// Tools of others that `cargo xtask check` installs.
pub fn tools() -> PathBuf {
    root().join("target/tools")
}
