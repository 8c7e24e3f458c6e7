//! `rialto bundle unpack`.

use std::path::PathBuf;

use rialto_bundles::Kind;

use super::{about, open, told};
use crate::out;

/// Write the files of a bundle into a new or empty folder. Its bytes are verified; `rialto bundle verify` does the rest.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Unpack {
    /// The bundle.
    file: PathBuf,
    /// The folder.
    folder: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Unpack {
    pub fn run(self) -> anyhow::Result<u8> {
        let (bundle, digest) = open(&self.file)?;
        bundle.unpack(&self.folder)?;
        if self.json {
            out::json(&about(&bundle, digest))?;
            return Ok(0);
        }
        out::text(told(&bundle, digest))?;
        let folder = self.folder.display();
        out::note(match bundle.about().kind {
            Kind::Scheme => format!(
                "{folder} has the scheme: put your rialto.toml there, then `rialto release plan {folder}`"
            ),
            Kind::Rule => format!(
                "{folder} has the rule: `rialto plugin bind {folder}/{}.wasm SCHEME`",
                bundle.about().name
            ),
        });
        Ok(0)
    }
}
