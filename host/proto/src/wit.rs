//! Reads WIT from a folder of packages, and says which of its interfaces are calls. [`component`](crate::component) reads
//! the WIT of a component.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use wit_parser::{
    Function, FunctionKind, Interface, InterfaceId, PackageName, Resolve, UnresolvedPackageGroup,
};

/// Packages whose calls are not for clients. Components use the host's surfaces. Only contexts ask rules, with a
/// receipt for each verdict, and read what is counted for them.
const INSIDE: &[(&str, &str)] = &[
    ("rialto", "host"),
    ("rialto", "rules"),
    ("rialto", "counting"),
];

/// WIT that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BadWit {
    /// A folder cannot be listed.
    #[error("cannot list {0}")]
    Folder(PathBuf, #[source] std::io::Error),
    /// The folder has no packages.
    #[error("{0} has no folder with a WIT package in it")]
    Empty(PathBuf),
    /// A package is not WIT. The parser says where.
    #[error("{0} is no WIT package: {1}")]
    Package(PathBuf, String),
    /// Packages do not fit together. The parser says where.
    #[error("the WIT packages do not fit together: {0}")]
    Together(String),
}

/// Read the packages of a folder: each of its folders is one.
///
/// # Errors
/// When a package cannot be read, or names one that is not there.
pub fn folder(root: &Path) -> Result<Resolve, BadWit> {
    let failed = |error| BadWit::Folder(root.to_owned(), error);
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(root).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            // A file beside the packages is somebody else's.
            folders.push(path);
        }
    }
    folders.sort();
    let parsed = folders.into_iter().map(|path| {
        let group = UnresolvedPackageGroup::parse_dir(&path);
        group.map_err(|error| BadWit::Package(path, format!("{error:#}")))
    });
    let groups = parsed.collect::<Result<Vec<_>, _>>()?;
    together(groups)?.ok_or_else(|| BadWit::Empty(root.to_owned()))
}

/// Resolves packages that may use each other, in any order. Returns `None` for no packages.
pub(crate) fn together(mut groups: Vec<UnresolvedPackageGroup>) -> Result<Option<Resolve>, BadWit> {
    let Some(main) = groups.pop() else {
        return Ok(None);
    };
    let mut resolve = Resolve::default();
    let pushed = resolve.push_groups(main, groups);
    pushed.map_err(|error| BadWit::Together(error.to_string()))?;
    Ok(Some(resolve))
}

/// The interfaces that clients may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Events that clients may publish: `package/interface`. A function without a result belongs to an event. It is a
    /// call only if it is listed here.
    pub events: BTreeSet<String>,
    /// Interfaces by their full names, `rialto:quoting/get-agreement@0.1.0`; `None` for all.
    pub only: Option<BTreeSet<String>>,
}

/// The interfaces with calls for clients, by package, each with its functions that clients may call. These are
/// functions with a result, and those of chosen events.
#[must_use]
pub fn calls<'r>(resolve: &'r Resolve, chosen: &Chosen) -> Vec<(InterfaceId, Vec<&'r Function>)> {
    let mut packages: Vec<_> = resolve
        .packages
        .iter()
        .map(|(_, package)| package)
        .collect();
    packages.sort_by_key(|package| package.name.to_string());
    let interfaces = packages
        .into_iter()
        .filter(|package| !inside(&package.name))
        .flat_map(|package| {
            let named = package.interfaces.iter();
            named.map(|(name, id)| (format!("{}/{name}", package.name.name), *id))
        });
    let wanted = interfaces.filter(|(_, id)| {
        let only = chosen.only.as_ref();
        only.is_none_or(|only| resolve.id_of(*id).is_some_and(|id| only.contains(&id)))
    });
    let with_functions = wanted.map(|(short, id)| {
        let event = chosen.events.contains(&short);
        (id, functions(&resolve.interfaces[id], event))
    });
    with_functions
        .filter(|(_, functions)| !functions.is_empty())
        .collect()
}

fn functions(interface: &Interface, event: bool) -> Vec<&Function> {
    let functions = interface.functions.values();
    functions
        .filter(|function| {
            function.kind == FunctionKind::Freestanding && (event || function.result.is_some())
        })
        .collect()
}

fn inside(name: &PackageName) -> bool {
    INSIDE.contains(&(name.namespace.as_str(), name.name.as_str()))
}
