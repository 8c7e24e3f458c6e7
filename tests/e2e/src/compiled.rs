//! Compiled components that all hosts of all tests share: compiling them takes a second of a processor, and
//! hundreds of hosts start with an empty store.
//!
//! A host loads only what was compiled under its own key. So all tests' schemes begin with one key, which is
//! drawn once, and with what was compiled under it. It lies in the build's folder, as open to others as a
//! host's own.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context as _, Result};

const KEY: &str = "key";
const KEY_BYTES: usize = 32;

/// Where a host keeps compiled components, in its store's folder.
fn of_store(store: &Path) -> PathBuf {
    store.join("compiled")
}

/// The folder of what all tests' hosts have compiled.
pub fn shared() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/compiled-for-tests")
}

/// Give a store that is not there yet what other tests' hosts have compiled.
///
/// # Errors
/// When a file cannot be read or written.
pub fn take(store: &Path) -> Result<()> {
    let from = shared();
    folder(&from)?;
    if !from.join(KEY).exists() {
        put(&from, KEY, &rand::random::<[u8; KEY_BYTES]>())?;
    }
    copy_new(&from, &of_store(store))
}

/// Keep for others what a host has compiled.
///
/// # Errors
/// When a file cannot be read or written.
pub fn keep(store: &Path) -> Result<()> {
    let (from, to) = (of_store(store), shared());
    let key = |folder: &Path| fs::read(folder.join(KEY)).ok();
    // A test may have had its host draw a key of its own.
    if key(&from).is_none() || key(&from) != key(&to) {
        return Ok(());
    }
    copy_new(&from, &to)
}

/// Copy the key and compiled components that are not there.
fn copy_new(from: &Path, to: &Path) -> Result<()> {
    folder(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("listing {}", from.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let wanted = name == KEY || name.ends_with(".cwasm");
        if wanted && !to.join(&name).exists() {
            let path = from.join(&name);
            let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
            put(to, &name, &bytes)?;
        }
    }
    Ok(())
}

/// Make a file that is whole from its first instant; one that is there already stays.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    let new = folder.join(format!("{name}.{}-{write}.new", std::process::id()));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .with_context(|| format!("making {}", new.display()))?;
    file.write_all(bytes)?;
    let linked = fs::hard_link(&new, folder.join(name));
    fs::remove_file(&new)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("making {name} in {}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn folder(path: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.with_context(|| format!("making {}", path.display()))
}
