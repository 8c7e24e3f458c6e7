//! The demonstration scheme with TLS: participants prove who they are by certificates, and the host proves itself to
//! them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use rialto_simulator::pki::SchemePki;
use rialto_simulator::secured;

use crate::host::RunningHost;
use crate::office::OFFICE_TABLE;
use crate::scheme::TestScheme;
use crate::world::{World, WorldOptions};

impl TestScheme {
    /// Make a scheme one whose participants need certificates, which it returns with its authority. Callbacks go to
    /// https addresses.
    ///
    /// # Errors
    /// When certificates or documents cannot be written.
    pub fn secure(&self) -> anyhow::Result<Arc<SchemePki>> {
        let participants = self.callbacks().keys().map(String::as_str);
        let pki = secured::secure(self.path(), participants)?;
        // It is no sandbox any more, so a second person approves the participants' opening liquidity.
        self.add_host_settings(OFFICE_TABLE)?;
        Ok(Arc::new(pki))
    }

    /// Append tables to rialto.toml.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn add_host_settings(&self, tables: &str) -> anyhow::Result<()> {
        let path = self.path().join("rialto.toml");
        let text = fs::read_to_string(&path).context("reading rialto.toml")?;
        fs::write(&path, format!("{text}\n{tables}")).context("writing rialto.toml")
    }

    /// Replace the revocation list by one with these serial numbers.
    ///
    /// # Errors
    /// When it cannot be made or written.
    pub fn revoke(&self, pki: &SchemePki, serials: &[u64]) -> anyhow::Result<()> {
        Ok(secured::revoke(self.path(), pki, serials)?)
    }

    /// A file of the folder of certificates.
    #[must_use]
    pub fn tls_file(&self, name: &str) -> PathBuf {
        secured::file(self.path(), name)
    }
}

impl RunningHost {
    /// Approve the first release of a scheme that is no sandbox.
    ///
    /// # Errors
    /// When the host refuses.
    pub fn approve_first_release(&self) -> anyhow::Result<()> {
        self.cli(&["release", "approve", "1"])?.success().map(drop)
    }
}

impl World {
    /// The demonstration scheme with TLS everywhere, and its certificates.
    ///
    /// # Errors
    /// As [`World::of`].
    pub async fn secure() -> anyhow::Result<(Self, Arc<SchemePki>)> {
        let scheme = TestScheme::demo()?;
        let pki = scheme.secure()?;
        let options = WorldOptions {
            pki: Some(pki.clone()),
            ..WorldOptions::default()
        };
        Ok((Self::of(scheme, &options).await?, pki))
    }
}
