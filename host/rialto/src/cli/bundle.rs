//! `rialto bundle …`: a release or a rule as one artifact, in a file or in a registry. No host is asked.

mod pack;
mod registry;
mod unpack;
mod verify;

use std::path::Path;

use anyhow::{Context as _, ensure};
use rialto_bundles::{Bundle, Digest, Kind};
use serde_json::{Value, json};

use crate::out;

#[derive(Debug, clap::Subcommand)]
pub(super) enum BundleCommand {
    /// Pack a scheme's folder or a rule's component into a bundle, the same bytes on every machine
    Pack(pack::Pack),
    /// Say whether a bundle holds: bytes, documents, components, golden cases, plan and signatures
    Verify(verify::Verify),
    /// Write the files of a bundle into a new or empty folder
    Unpack(unpack::Unpack),
    /// Put a bundle into an OCI registry
    Push(registry::Push),
    /// Get a bundle from an OCI registry, as the file that was packed
    Pull(registry::Pull),
}

impl BundleCommand {
    pub fn run(self) -> anyhow::Result<u8> {
        match self {
            Self::Pack(pack) => pack.run(),
            Self::Verify(verify) => verify.run(),
            Self::Unpack(unpack) => unpack.run(),
            Self::Push(push) => push.run(),
            Self::Pull(pull) => pull.run(),
        }
    }
}

/// Reads a bundle's file. Returns its digest too.
fn open(file: &Path) -> anyhow::Result<(Bundle, Digest)> {
    Bundle::open(file).with_context(|| format!("{} is no bundle that can be used", file.display()))
}

/// Writes a bundle to a file that does not exist, and says what it is.
fn write(bundle: &Bundle, file: &Path, json: bool) -> anyhow::Result<()> {
    let packed = bundle.packed();
    let is_new = rialto_files::make_once(file, &[&packed])?;
    ensure!(is_new, "{} exists: name a new file", file.display());
    let digest = Digest::of(&packed);
    if json {
        out::json(&about(bundle, digest))?;
    } else {
        out::text(told(bundle, digest))?;
    }
    out::note(format_args!("{} has the bundle", file.display()));
    Ok(())
}

/// What a bundle is, for people.
fn told(bundle: &Bundle, digest: Digest) -> String {
    let about = bundle.about();
    let kind = match about.kind {
        Kind::Scheme => "scheme",
        Kind::Rule => "rule",
    };
    let release = about.release.as_deref();
    let release = release.map_or_else(String::new, |release| format!("release    {release}\n"));
    format!(
        "{kind:<10} {}, {} files\n{release}artifact   {}\nfile       {digest}\n",
        crate::words::plain(&about.name),
        bundle.files().count(),
        bundle.manifest_digest(),
    )
}

/// What a bundle is, for programs.
fn about(bundle: &Bundle, digest: Digest) -> Value {
    let about = bundle.about();
    json!({
        "kind": about.kind,
        "name": about.name,
        "release": about.release,
        "files": bundle.files().count(),
        "artifact": bundle.manifest_digest(),
        "file": digest,
    })
}
