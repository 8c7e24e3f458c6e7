//! `rialto proto`: the `.proto` files for gRPC clients.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rialto_components::names::{InterfaceName, grant_covers};
use rialto_manifest::{ComponentKind, Manifest};
use rialto_proto::component::{Component, MergedFiles, tell};
use rialto_proto::model::File;
use rialto_proto::{Lock, checked_in, own};
use serde_json::json;

use super::load;
use crate::calls::{Offering, lock_of};
use crate::out;

/// The exit code for a scheme with problems.
const UNFIT: u8 = 2;

#[derive(Debug, clap::Args)]
pub(super) struct Proto {
    /// The folder to write to. Files of the same names are overwritten
    folder: PathBuf,
    /// Write the calls that this scheme's components export and its rialto.toml offers. New fields get numbers in
    /// proto.lock.toml beside rialto.toml: keep that file
    #[arg(long, value_name = "DIR", conflicts_with = "wit")]
    at: Option<PathBuf>,
    /// Write all calls of a folder of WIT packages, with their comments. Numbers come from its proto.lock.toml
    #[arg(long, value_name = "DIR")]
    wit: Option<PathBuf>,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

impl Proto {
    pub fn run(self) -> anyhow::Result<u8> {
        let files = match (&self.at, &self.wit) {
            (Some(scheme), _) => match of_scheme(scheme)? {
                Some(files) => files,
                None => return Ok(UNFIT),
            },
            (None, Some(folder)) => of_wit(folder)?,
            (None, None) => own()?.files,
        };
        checked_in::write(&files, &self.folder)?;
        if self.json {
            out::json(&summary(&files))?;
        } else {
            for file in &files {
                out::line(format_args!("{}", self.folder.join(&file.path).display()))?;
                let service = file.service.iter();
                for method in service.flat_map(|service| &service.methods) {
                    out::line(format_args!("    {}", method.name))?;
                }
            }
        }
        Ok(0)
    }
}

/// The files of the calls that a scheme offers. None if the scheme has problems, which are printed.
fn of_scheme(folder: &Path) -> anyhow::Result<Option<Vec<File>>> {
    let Some(manifest) = load(folder)? else {
        return Ok(None);
    };
    let operator = manifest.operator();
    let Some(offering) = Offering::of(operator, manifest.folder())? else {
        bail!("rialto.toml has no [listeners.grpc]: it offers no calls to gRPC clients");
    };
    let (mut files, lock) = numbered(&manifest, &offering)?;
    tell(&mut files, &own()?.files);
    let added = lock.without(&own::lock()?);
    if added != lock_of(folder)? {
        write_lock(&added, folder)?;
    }
    Ok(Some(files))
}

/// The offered calls that a scheme's components export, with the lock that has to be kept for them.
fn numbered(manifest: &Manifest, offering: &Offering) -> anyhow::Result<(Vec<File>, Lock)> {
    let mut lock = offering.lock()?;
    let mut together = MergedFiles::default();
    let offer = &offering.offer;
    let contexts = manifest.components().iter();
    for context in contexts.filter(|component| component.kind == ComponentKind::Context) {
        let name = &context.name;
        let component =
            Component::read(&context.bytes).with_context(|| format!("the context {name}"))?;
        let exports = component.exports();
        let offered = exports.iter().filter(|interface| {
            let short = InterfaceName::parse(interface).map(|name| name.short());
            short.is_some_and(|short| {
                offer.events.contains(&short)
                    || offer.serve.iter().any(|grant| grant_covers(grant, &short))
            })
        });
        let locked = component
            .numbered(offered.map(String::as_str), &offer.events, &lock)
            .and_then(|locked| together.add(&locked.files).map(|()| locked));
        lock = locked.with_context(|| format!("the context {name}"))?.lock;
    }
    Ok((together.files(), lock))
}

/// The files of a folder of WIT packages.
fn of_wit(folder: &Path) -> anyhow::Result<Vec<File>> {
    let locked = checked_in::read(folder)?;
    if !locked.breaks.is_empty() {
        return Err(checked_in::NoFiles::Breaks(locked.breaks).into());
    }
    if locked.lock != lock_of(folder)? {
        write_lock(&locked.lock, folder)?;
    }
    Ok(locked.files)
}

fn write_lock(lock: &Lock, folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(checked_in::LOCK);
    std::fs::write(&path, lock.to_text()).with_context(|| format!("writing {}", path.display()))?;
    out::note(format!(
        "new numbers are kept in {}: check it in",
        path.display()
    ));
    Ok(())
}

fn summary(files: &[File]) -> serde_json::Value {
    let files = files.iter().map(|file| {
        let services = file.service.iter().map(|service| {
            let methods = service.methods.iter().map(|method| &method.name);
            json!({
                "name": format!("{}.{}", file.package, service.name),
                "methods": methods.collect::<Vec<_>>(),
            })
        });
        json!({ "path": file.path, "services": services.collect::<Vec<_>>() })
    });
    json!({ "files": files.collect::<Vec<_>>() })
}
