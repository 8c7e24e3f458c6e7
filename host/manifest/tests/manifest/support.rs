//! Shared code of the manifests' tests: a copy of a case's folder, with components in it.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of this crate's test data.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// A copy of a case in a folder of its own, with `components/a.wasm` (the byte `a`) and
/// `components/b.wasm` (the byte `b`). This crate never looks inside components.
pub fn staged(case: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for entry in fs::read_dir(case).expect("the case's folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a file name");
        fs::copy(&path, folder.path().join(name)).expect("a copy");
    }
    fs::create_dir(folder.path().join("components")).expect("a folder for components");
    for name in ["a", "b"] {
        let path = folder.path().join(format!("components/{name}.wasm"));
        fs::write(path, name).expect("a component");
    }
    folder
}

/// Compare with a file, or write it when the environment says `UPDATE=1`.
pub fn compare(path: &Path, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, text).expect("the file is written");
        return;
    }
    let expected = fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == text,
        "{} differs; UPDATE=1 writes it. Now it is:\n{text}",
        path.display()
    );
}
