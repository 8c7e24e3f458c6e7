//! Where commands without a host keep compiled components.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use rialto_components::cache::Cache;
use rialto_engine::Entropy as _;
use rialto_engine::time::SystemEntropy;
use tempfile::TempDir;

use crate::host::COMPILED;

/// The store's compiled components, if a host has served the scheme as this user. Otherwise a temporary folder, which
/// is removed with the value beside it.
pub(super) fn open(store: &Path) -> anyhow::Result<(Cache, Option<TempDir>)> {
    let folder = store.join(COMPILED);
    if Cache::is_at(&folder) {
        match Cache::open(&folder, |bytes| SystemEntropy.fill(bytes)) {
            Ok(cache) => return Ok((cache, None)),
            Err(error) => {
                tracing::debug!(%error, "the store's compiled components cannot be used");
            }
        }
    }
    let (cache, folder) = temporary()?;
    Ok((cache, Some(folder)))
}

/// Compiled components in a temporary folder, which is removed with the value beside it.
///
/// # Errors
/// When it cannot be made.
pub(super) fn temporary() -> anyhow::Result<(Cache, TempDir)> {
    // The name is random: native code is loaded from this folder.
    let folder = tempfile::Builder::new()
        .prefix("rialto-check-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .context("making a folder for compiled components")?;
    let cache = Cache::open(folder.path(), |bytes| SystemEntropy.fill(bytes))
        .context("making a folder for compiled components")?;
    Ok((cache, folder))
}
