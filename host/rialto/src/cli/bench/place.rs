//! A benchmark's folder, with a copy of the scheme. Its listeners and FSPs have free ports, so that it does not
//! disturb a running demonstration or another benchmark.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use rialto_components::cache::Cache;
use rialto_engine::Entropy as _;
use rialto_engine::time::SystemEntropy;
use rialto_manifest::Manifest;
use rialto_manifest::operator::Log;
use rialto_simulator::ports;

use crate::host::COMPILED;

/// The documents that name ports.
const DOCUMENTS: [&str; 2] = ["rialto.toml", "scheme.toml"];
/// The folder of the master key. The copy has its own.
const SECRETS: &str = "secrets";

/// A folder that goes away with this value.
pub(super) struct Temporary(PathBuf);

impl Temporary {
    pub fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("rialto-bench-{}", std::process::id()));
        std::fs::create_dir(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Gives a measurement's store the components that an earlier measurement of this run has compiled, or a host of the scheme.
pub(super) fn take_compiled(given: &Manifest, place: &Path, state: &Path) -> anyhow::Result<()> {
    rialto_files::folder(state)?;
    for from in [
        place.with_file_name(COMPILED),
        given.store_path().join(COMPILED),
    ] {
        copy_compiled(&from, &state.join(COMPILED))?;
    }
    Ok(())
}

/// Keeps what a measurement has compiled for later ones of this run.
pub(super) fn keep_compiled(place: &Path, state: &Path) -> anyhow::Result<()> {
    copy_compiled(&state.join(COMPILED), &place.with_file_name(COMPILED))
}

/// Gives a store without compiled components those of another folder, if a host of this user made them. Compiling a
/// scheme takes seconds of each core.
pub(super) fn copy_compiled(from: &Path, to: &Path) -> anyhow::Result<()> {
    if !Cache::is_at(from) || Cache::is_at(to) {
        return Ok(());
    }
    // It is native code: what others can write is compiled again.
    if let Err(error) = Cache::open(from, |bytes| SystemEntropy.fill(bytes)) {
        tracing::debug!(%error, "the store's compiled components cannot be used");
        return Ok(());
    }
    copy_folder(from, to)
}

/// Copies the files of a folder to one that only this user can read.
fn copy_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    let copied = || -> anyhow::Result<()> {
        rialto_files::folder(to)?;
        for entry in std::fs::read_dir(from)? {
            let name = entry?.file_name();
            let mut file = File::open(from.join(&name))?;
            std::io::copy(&mut file, &mut rialto_files::create(&to.join(&name))?)?;
        }
        Ok(())
    };
    copied().with_context(|| format!("copying {} to {}", from.display(), to.display()))
}

/// Copies a scheme to a new folder, with other ports. Files without ports are linked.
pub(super) fn copy_on_free_ports(manifest: &Manifest, to: &Path) -> anyhow::Result<()> {
    let from = std::fs::canonicalize(manifest.folder())?;
    std::fs::create_dir(to).with_context(|| format!("making {}", to.display()))?;
    for entry in std::fs::read_dir(&from)? {
        let name = entry?.file_name();
        if name != SECRETS && !DOCUMENTS.iter().any(|document| name == *document) {
            std::os::unix::fs::symlink(from.join(&name), to.join(&name))?;
        }
    }
    let listeners = manifest.operator().listeners.values();
    let mut addresses: Vec<String> = listeners
        .map(|listener| listener.address.to_string())
        .collect();
    let participants = manifest.scheme().participants.iter().take(super::PAYING);
    addresses.extend(participants.filter_map(|participant| {
        let url = participant.callback_base_url.to_string();
        let authority = url.split_once("://")?.1.split('/').next()?;
        Some(authority.to_owned())
    }));
    let mut ports = Vec::new();
    for address in addresses {
        ports.push((address, ports::free()?));
    }
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(from.join(document))?;
        let changed = ports
            .iter()
            .fold(text, |text, (address, port)| moved(&text, address, *port));
        std::fs::write(to.join(document), changed)?;
    }
    for_a_benchmark(manifest, to)
}

/// Makes a folder for another host of the scheme in a folder, on the same database, with ports of its own. The first host has
/// made the keys by now.
pub(super) fn for_another_host(first: &Manifest, to: &Path) -> anyhow::Result<()> {
    let from = std::fs::canonicalize(first.folder())?;
    std::fs::create_dir(to).with_context(|| format!("making {}", to.display()))?;
    for entry in std::fs::read_dir(&from)? {
        let name = entry?.file_name();
        if name == SECRETS {
            copy_folder(&from.join(&name), &to.join(&name))?;
        } else if name != DOCUMENTS[0] {
            std::os::unix::fs::symlink(from.join(&name), to.join(&name))?;
        }
    }
    let operator = first.operator();
    let listeners = operator.listeners.values();
    let mut addresses: Vec<String> = listeners
        .map(|listener| listener.address.to_string())
        .collect();
    let cluster = operator.cluster.iter();
    addresses.extend(cluster.map(|cluster| cluster.listen.to_string()));
    let mut text = std::fs::read_to_string(from.join(DOCUMENTS[0]))?;
    for address in addresses {
        text = moved(&text, &address, ports::free()?);
    }
    Ok(std::fs::write(to.join(DOCUMENTS[0]), text)?)
}

/// Have hosts of the scheme in this folder take requests from each other, without certificates.
pub(super) fn in_cluster(folder: &Path) -> anyhow::Result<()> {
    let document = folder.join(DOCUMENTS[0]);
    let mut text = std::fs::read_to_string(&document)?;
    anyhow::ensure!(
        !text.contains("[cluster]"),
        "the benchmark gives hosts addresses of its own: take [cluster] out of rialto.toml"
    );
    text += &format!("\n[cluster]\nlisten = \"127.0.0.1:{}\"\n", ports::free()?);
    Ok(std::fs::write(&document, text)?)
}

/// Settings of this copy, unless the scheme has its own: the log has warnings only, because a thousand new participants
/// are a thousand lines; and all FSPs have one address here, so it may have as many connections as the host takes.
fn for_a_benchmark(manifest: &Manifest, folder: &Path) -> anyhow::Result<()> {
    let document = folder.join(DOCUMENTS[0]);
    let mut text = std::fs::read_to_string(&document)?;
    if manifest.operator().log == Log::default() && !text.contains("[log]") {
        text += "\n[log]\nfilter = \"warn\"\n";
    }
    if !text.contains("[http") {
        let http = &manifest.operator().http;
        text += &format!(
            "\n[http]\nconnections-per-peer-max = {}\n",
            http.connections_max
        );
    }
    std::fs::write(&document, text)?;
    Ok(())
}

/// Add participants to the scheme in this folder: these tables of its document.
pub(super) fn add_participants(folder: &Path, tables: &str) -> anyhow::Result<()> {
    let document = folder.join("scheme.toml");
    let text = std::fs::read_to_string(&document)?;
    // The document may end in another table, so the new tables go before the first participant's.
    let first = text.find("[[participants]]");
    let (before, after) = text.split_at(first.context("the scheme has no participants")?);
    std::fs::write(&document, format!("{before}{tables}{after}"))?;
    Ok(())
}

/// A document in which this address has another port.
fn moved(text: &str, address: &str, port: u16) -> String {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let mut parts = text.split(address);
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // `127.0.0.1:410` is no part of `127.0.0.1:4101`.
        if part.starts_with(|next: char| next.is_ascii_digit()) {
            changed.push_str(address);
        } else {
            changed.push_str(&format!("{host}:{port}"));
        }
        changed.push_str(part);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_replaced_and_longer_ones_are_not() {
        let text = "a = \"http://127.0.0.1:410/x\"\nb = \"127.0.0.1:410\"\nc = \"127.0.0.1:4101\"";
        let expected = "a = \"http://127.0.0.1:9/x\"\nb = \"127.0.0.1:9\"\nc = \"127.0.0.1:4101\"";
        assert_eq!(moved(text, "127.0.0.1:410", 9), expected);
    }
}
