//! The contracts of this repository, with their comments and numbers. They are built into the host, because components
//! have the types of their exports, but neither comments nor numbers.

use wit_parser::UnresolvedPackageGroup;

use crate::checked_in::{self, NoFiles};
use crate::derive::derive;
use crate::lock::{Lock, Locked};
use crate::wit::{self, BadWit, Chosen};

/// A package's folder, and its files with their texts.
type Package = (&'static str, &'static [(&'static str, &'static str)]);

/// The packages of `wit/`.
const PACKAGES: &[Package] = &include!(concat!(env!("OUT_DIR"), "/packages.rs"));
const LOCK: &str = include_str!("../../../wit/proto.lock.toml");
const EVENTS: &str = include_str!("../../../wit/proto.toml");

/// The lock, without reading the contracts.
///
/// # Errors
/// When it cannot be read: never once the tests have been run.
pub fn lock() -> Result<Lock, NoFiles> {
    Ok(Lock::parse(LOCK)?)
}

/// The contracts with their words and numbers.
///
/// # Errors
/// When they cannot be read: never once the tests have been run.
pub fn own() -> Result<Locked, NoFiles> {
    let mut groups = Vec::new();
    for (package, files) in PACKAGES {
        groups.push(group(package, files)?);
    }
    let resolve = wit::together(groups)?.unwrap_or_default();
    let lock = lock()?;
    let events = checked_in::parse_events(EVENTS);
    let chosen = Chosen {
        events: events.map_err(|error| NoFiles::Events(checked_in::EVENTS.into(), error))?,
        only: None,
    };
    let files = derive(&resolve, &chosen, &lock).map_err(NoFiles::Problems)?;
    Ok(lock.apply(files))
}

fn group(package: &str, files: &[(&str, &str)]) -> Result<UnresolvedPackageGroup, BadWit> {
    let mut map = wit_parser::SourceMap::default();
    for (path, text) in files {
        map.push_str(path, *text);
    }
    let parsed = map.parse();
    parsed.map_err(|(map, error)| BadWit::Package(package.into(), error.render(&map)))
}
