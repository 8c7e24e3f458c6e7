//! `rialto wit`.

use std::path::PathBuf;

use crate::kit::embedded;
use crate::out;

/// Write the contracts of this version, by which plugins of any language are built
#[derive(Debug, clap::Args)]
pub(super) struct Wit {
    /// The folder for the packages, each in a folder of its own.
    folder: PathBuf,
}

impl Wit {
    pub fn run(self) -> anyhow::Result<u8> {
        embedded::write_contracts(&self.folder, &[])?;
        out::line(format_args!("{} has the contracts", self.folder.display()))?;
        Ok(0)
    }
}
