//! A benchmark with a signed audit log: its tree grows, and checkpoints are signed by a key in software and leave to a folder.

use std::path::Path;

use anyhow::Context as _;
use rialto_manifest::Manifest;

/// The provider that is added if the scheme has none.
const PROVIDER: &str = "audit";
const SOFTWARE: &str = "\n[keys.providers.audit]\nkind = \"software\"\n";
const MASTER_KEY: &str = "\n[keys]\nmaster-key = { file = \"secrets/master.key\" }\n";

/// Have the host of the scheme in this folder sign its audit log, unless it does.
pub(super) fn sign(given: &Manifest, folder: &Path) -> anyhow::Result<()> {
    let operator = given.operator();
    if operator.audit.is_some() {
        return Ok(());
    }
    let document = folder.join("rialto.toml");
    let mut text = std::fs::read_to_string(&document).context("reading rialto.toml")?;
    let provider = match operator.keys.providers.keys().next() {
        Some(first) => first.to_string(),
        None => {
            if operator.keys.master_key.is_none() {
                text += MASTER_KEY;
            }
            text += SOFTWARE;
            PROVIDER.to_owned()
        }
    };
    text += &format!(
        "\n[audit]\norigin = \"bench.example/audit\"\nprovider = \"{provider}\"\n\
         reference = \"secrets/audit.reference\"\ncheckpoints = \"checkpoints\"\n"
    );
    std::fs::write(&document, text).context("writing rialto.toml")
}
