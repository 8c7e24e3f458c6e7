//! A cache of compiled components on disk.
//!
//! Compiling takes tens of milliseconds, loading compiled code some microseconds. So a component is compiled
//! when it is deployed, never on a request.
//!
//! Compiled code runs unchecked. So a file is used only if its MAC is right. The MAC's key is random, made by
//! this installation, and readable only for it (see `rialto-files`). A file's name has the component's digest
//! and wasmtime's compatibility hash.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use rialto_files::FileError;
use rialto_signatures::secrets::{MAC_BYTES, MacKey};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::digest::Digest;

/// A folder of compiled components.
pub struct Cache {
    folder: PathBuf,
    key: MacKey,
}

/// Why a folder cannot be used as a cache.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The folder or its key cannot be created or read, or other users can access it.
    #[error(transparent)]
    File(#[from] FileError),
    /// The key's file has other contents.
    #[error("{0} is no key: delete it, and the compiled components will be made again")]
    NoKey(PathBuf),
    /// The key cannot be read.
    #[error("{path} cannot be read")]
    Unreadable {
        /// The key.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The name of the key's file.
const KEY: &str = "key";

impl Cache {
    /// Whether this folder was used as a cache before.
    pub fn is_at(folder: &Path) -> bool {
        folder.join(KEY).is_file()
    }

    /// Use this folder. Creates it and the key if they do not exist.
    ///
    /// # Errors
    /// When the folder or the key cannot be created or read, belongs to another user, or other users can access
    /// it.
    pub fn open(folder: &Path, fill: impl FnOnce(&mut [u8])) -> Result<Self, CacheError> {
        let owner = rialto_files::folder(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            key: MacKey::new(&key(&folder.join(KEY), owner, fill)?),
        })
    }

    /// The compiled component. It is read from the folder, or compiled and stored there.
    ///
    /// # Errors
    /// When wasmtime cannot compile the bytes. Problems of the folder are only logged and cost time.
    pub fn component(
        &self,
        engine: &Engine,
        digest: Digest,
        bytes: &[u8],
    ) -> wasmtime::Result<Component> {
        match self.stored(engine, digest) {
            Some(component) => Ok(component),
            None => self.compile(engine, digest, bytes),
        }
    }

    /// The compiled component, if it is in the folder and can be used.
    pub fn stored(&self, engine: &Engine, digest: Digest) -> Option<Component> {
        self.load(engine, &self.path(engine, digest))
    }

    /// Compile the component, and store it.
    ///
    /// # Errors
    /// When wasmtime cannot compile the bytes. Problems of the folder are only logged and cost time.
    fn compile(
        &self,
        engine: &Engine,
        digest: Digest,
        bytes: &[u8],
    ) -> wasmtime::Result<Component> {
        let path = self.path(engine, digest);
        let compiled = engine.precompile_component(bytes)?;
        let mac = self.key.code(&named(&path, &compiled));
        if let Err(error) = rialto_files::write(&path, &[&mac, &compiled]) {
            tracing::warn!(path = %path.display(), %error, "a compiled component cannot be written to the cache; the next start compiles it again");
        }
        deserialize(engine, &compiled)
    }

    /// Whether the component is in the folder for this engine.
    pub fn holds(&self, engine: &Engine, digest: Digest) -> bool {
        self.path(engine, digest).exists()
    }

    fn path(&self, engine: &Engine, digest: Digest) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.folder
            .join(format!("{}-{:016x}.cwasm", digest.hex(), hasher.finish()))
    }

    fn load(&self, engine: &Engine, path: &Path) -> Option<Component> {
        let bytes = std::fs::read(path).ok()?;
        let (mac, compiled) = bytes.split_at_checked(MAC_BYTES)?;
        if !self.key.fits(&named(path, compiled), mac) {
            tracing::error!(path = %path.display(), "a compiled component in the cache was not made by this installation, or was changed; the host compiles it again");
            return None;
        }
        deserialize(engine, compiled)
            .inspect_err(|error| tracing::warn!(path = %path.display(), %error, "a compiled component in the cache cannot be loaded; the host compiles it again"))
            .ok()
    }
}

/// The input of the MAC. It includes the file's name, so that one component's file cannot replace another's.
fn named<'a>(path: &'a Path, compiled: &'a [u8]) -> [&'a [u8]; 3] {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    [name, &[0], compiled]
}

#[allow(
    unsafe_code,
    reason = "the one place where compiled components are loaded"
)]
fn deserialize(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes come from `precompile_component` of this process, or from a file whose MAC,
    // made with a key that only this installation can read, was just verified over these very
    // bytes. wasmtime itself refuses what another version or configuration made.
    unsafe { Component::deserialize(engine, compiled) }
}

/// The key in this file. Makes a random one if it does not exist. If several processes open a fresh folder at
/// once, all use the key of the first.
fn key(
    path: &Path,
    owner: rialto_files::Owner,
    fill: impl FnOnce(&mut [u8]),
) -> Result<[u8; MAC_BYTES], CacheError> {
    if !rialto_files::accept_if_there(path, owner)? {
        let mut drawn = [0; MAC_BYTES];
        fill(&mut drawn);
        rialto_files::make_once(path, &[&drawn])?;
        rialto_files::accept(path, owner)?;
    }
    let bytes = std::fs::read(path).map_err(|source| CacheError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let key = bytes.try_into();
    key.map_err(|_| CacheError::NoKey(path.to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn concurrent_opens_of_a_fresh_folder_use_one_private_key() {
        const OPENERS: u8 = 16;
        for _ in 0..20 {
            let folder = rialto_files::temporary_folder().unwrap();
            let folder = &folder.path().join("compiled");
            let barrier = &Barrier::new(OPENERS.into());
            // Codes of the same bytes are the same only under the same key.
            let codes: Vec<_> = std::thread::scope(|scope| {
                let open = |n: u8| {
                    scope.spawn(move || {
                        barrier.wait();
                        let cache = Cache::open(folder, |bytes| bytes.fill(n)).unwrap();
                        cache.key.code(&[b"one"])
                    })
                };
                let opened: Vec<_> = (1..=OPENERS).map(open).collect();
                opened.into_iter().map(|one| one.join().unwrap()).collect()
            });
            assert!(codes.iter().all(|code| *code == codes[0]), "{codes:?}");
            let drawn = (1..=OPENERS).map(|n| MacKey::new(&[n; MAC_BYTES]).code(&[b"one"]));
            assert!(drawn.into_iter().any(|code| code == codes[0]), "{codes:?}");
            let names: Vec<_> = std::fs::read_dir(folder).unwrap().collect();
            assert_eq!(names.len(), 1, "only the key is left: {names:?}");
            let mode = std::fs::metadata(folder.join("key")).unwrap();
            assert_eq!(mode.permissions().mode() & 0o777, 0o600);
            let again = Cache::open(folder, |_| panic!("it has a key")).unwrap();
            assert_eq!(again.key.code(&[b"one"]), codes[0]);
        }
    }

    #[test]
    fn a_key_that_is_none_is_refused() {
        let folder = rialto_files::temporary_folder().unwrap();
        rialto_files::write(&folder.path().join("key"), &[b"short"]).unwrap();
        let error = Cache::open(folder.path(), |_| ()).err().unwrap();
        assert!(
            error.to_string().contains("is no key: delete it"),
            "{error}"
        );
    }
}
