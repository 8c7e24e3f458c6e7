//! The file by which the command line finds a running host.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::tls::operators_certificate;

/// Remove the files that say where the host listens, and with which certificate.
pub fn forget(store: &Path) -> anyhow::Result<()> {
    for file in [path(store), operators_certificate(store)] {
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("removing {}", file.display()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Tell the command line where a host listens.
pub fn write(folder: &Path, addresses: &BTreeMap<String, SocketAddr>) -> anyhow::Result<()> {
    let addresses = serde_json::to_string(addresses).context("writing addresses")?;
    // It need not survive a power cut, but a reader must find it complete.
    rialto_files::write(&path(folder), &[addresses.as_bytes()])?;
    Ok(())
}

/// The file of a running host's addresses.
pub fn path(store: &Path) -> PathBuf {
    store.join("addresses.json")
}
