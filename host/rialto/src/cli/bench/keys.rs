//! Keys for a benchmark with signatures.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use rialto_manifest::Manifest;
use rialto_simulator::jws::{KeyKind, KeyPair};

/// Private keys of participants, by their ids.
pub(super) type PrivateKeys = BTreeMap<String, String>;

/// Generates a key for each participant and one for the hub, and adds them to the scheme in this folder. Returns the
/// participants' private keys.
pub(super) fn draw(manifest: &Manifest, folder: &Path) -> anyhow::Result<PrivateKeys> {
    let document = folder.join("rialto.toml");
    let text = fs::read_to_string(&document)?;
    if text.contains("[signatures]") {
        bail!("the scheme's rialto.toml has `[signatures]`: remove it for this benchmark");
    }
    let keys = folder.join("benchmark-keys");
    fs::create_dir(&keys).with_context(|| format!("making {}", keys.display()))?;
    let mut private = PrivateKeys::new();
    for participant in &manifest.scheme().participants {
        let pair = KeyPair::generate(KeyKind::Rsa)?;
        fs::write(keys.join(format!("{}.pem", participant.id)), pair.public)?;
        private.insert(participant.id.to_string(), pair.private);
    }
    let mut options = fs::OpenOptions::new();
    let mut hub = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(folder.join("benchmark-hub.key"))?;
    hub.write_all(KeyPair::generate(KeyKind::Rsa)?.private.as_bytes())?;
    let table = "\n[signatures]\nkeys = \"benchmark-keys\"\nhub-key = \"benchmark-hub.key\"\n";
    fs::write(&document, text + table)?;
    Ok(private)
}
