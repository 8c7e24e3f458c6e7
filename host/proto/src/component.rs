//! Derives the files for clients from a component's own exports. Names and types come from the component, field numbers
//! from the lock. So a component with another contract than the clients' is detected before a call reaches it.

use std::collections::{BTreeMap, BTreeSet};

use wit_parser::decoding::{DecodedWasm, decode};
use wit_parser::{Resolve, WorldId, WorldItem};

use crate::breaks;
use crate::derive::derive;
use crate::descriptors::in_order;
use crate::lock::{Lock, Locked};
use crate::model::File;
use crate::wit::Chosen;

/// An exported interface that clients may be given.
#[derive(Clone, Debug)]
pub struct Exported {
    /// Its full name, `rialto:quoting/get-agreement@0.1.0`.
    pub interface: String,
    /// What it brings, numbered; or why it cannot be given to clients.
    pub files: Result<Vec<File>, InterfaceProblems>,
}

/// Why an interface cannot be given to clients: all that was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct InterfaceProblems(pub Vec<String>);

/// Bytes that say nothing of themselves.
#[derive(Debug, thiserror::Error)]
pub enum BadComponent {
    /// They cannot be read.
    #[error("the component's own types cannot be read: {0}")]
    Unreadable(String),
    /// They are a WIT package.
    #[error("it is a WIT package and no component")]
    Package,
}

/// A component, and what it says of itself.
pub struct Component {
    resolve: Resolve,
    world: WorldId,
}

impl Component {
    /// Read a component.
    ///
    /// # Errors
    /// When the bytes are none.
    pub fn read(bytes: &[u8]) -> Result<Self, BadComponent> {
        match decode(bytes) {
            Ok(DecodedWasm::Component(resolve, world)) => Ok(Self { resolve, world }),
            Ok(DecodedWasm::WitPackage(..)) => Err(BadComponent::Package),
            Err(error) => Err(BadComponent::Unreadable(format!("{error:#}"))),
        }
    }

    /// The full names of the interfaces that it exports.
    #[must_use]
    pub fn exports(&self) -> BTreeSet<String> {
        let exports = self.resolve.worlds[self.world].exports.values();
        let names = exports.filter_map(|item| match item {
            WorldItem::Interface { id, .. } => self.resolve.id_of(*id),
            _ => None,
        });
        names.collect()
    }

    /// The files of one exported interface, numbered by the lock. None if it has nothing for clients.
    pub fn exported(
        &self,
        interface: &str,
        events: &BTreeSet<String>,
        lock: &Lock,
    ) -> Option<Exported> {
        let files = match derive(&self.resolve, &chosen([interface], events), lock) {
            Ok(files) if files.is_empty() => return None,
            Ok(files) => match breaks::lacking(lock, &files) {
                found if found.is_empty() => Ok(lock.apply(files).files),
                found => Err(InterfaceProblems(found)),
            },
            Err(problems) => {
                let problems = problems.iter().map(ToString::to_string);
                Err(InterfaceProblems(problems.collect()))
            }
        };
        Some(Exported {
            interface: interface.to_owned(),
            files,
        })
    }

    /// The files of some exported interfaces, with numbers for what has none yet.
    ///
    /// # Errors
    /// When something has no form in protobuf, or would break clients of what is locked.
    pub fn numbered<'i>(
        &self,
        interfaces: impl IntoIterator<Item = &'i str>,
        events: &BTreeSet<String>,
        lock: &Lock,
    ) -> Result<Locked, InterfaceProblems> {
        let derived = derive(&self.resolve, &chosen(interfaces, events), lock);
        let files = derived.map_err(|problems| {
            InterfaceProblems(problems.iter().map(ToString::to_string).collect())
        })?;
        let locked = lock.apply_part(files);
        if locked.breaks.is_empty() {
            return Ok(locked);
        }
        let breaks = locked.breaks.iter();
        Err(InterfaceProblems(breaks.map(ToString::to_string).collect()))
    }
}

fn chosen<'i>(interfaces: impl IntoIterator<Item = &'i str>, events: &BTreeSet<String>) -> Chosen {
    let only = interfaces.into_iter().map(str::to_owned);
    Chosen {
        events: events.clone(),
        only: Some(only.collect()),
    }
}

/// Files of several components together: one for each package.
#[derive(Clone, Debug, Default)]
pub struct MergedFiles {
    files: BTreeMap<String, File>,
}

impl MergedFiles {
    /// Add files.
    ///
    /// # Errors
    /// When something in them is another thing than what is there under its name, or files use each other
    /// in a circle: then nothing is added.
    pub fn add(&mut self, files: &[File]) -> Result<(), InterfaceProblems> {
        let differing = files.iter().flat_map(|file| self.differing(file));
        let differing: Vec<_> = differing.collect();
        if !differing.is_empty() {
            return Err(InterfaceProblems(differing));
        }
        let mut all = self.files.clone();
        for file in files {
            let there = all.entry(file.path.clone());
            there
                .and_modify(|there| merge(there, file))
                .or_insert_with(|| file.clone());
        }
        let (_, circle) = in_order(all.values());
        if !circle.is_empty() {
            let paths: Vec<&str> = circle.iter().map(|file| file.path.as_str()).collect();
            return Err(InterfaceProblems(vec![format!(
                "{} use each other in a circle: build against one version of each package",
                paths.join(" and ")
            )]));
        }
        self.files = all;
        Ok(())
    }

    fn differing(&self, file: &File) -> Vec<String> {
        let Some(there) = self.files.get(&file.path) else {
            return Vec::new();
        };
        let messages = file.messages.iter().filter(|message| {
            let mut known = there.messages.iter();
            known.any(|known| known.name == message.name && known != *message)
        });
        let enums = file.enums.iter().filter(|made| {
            let mut known = there.enums.iter();
            known.any(|known| known.name == made.name && known != *made)
        });
        let names = messages.map(|message| &message.name);
        let names = names.chain(enums.map(|made| &made.name));
        names
            .map(|name| {
                let package = &file.package;
                format!("{package}.{name} is not the same in all components: build them against the same WIT")
            })
            .collect()
    }

    /// All of them.
    #[must_use]
    pub fn files(self) -> Vec<File> {
        self.files.into_values().collect()
    }
}

fn merge(there: &mut File, file: &File) {
    there.imports.extend(file.imports.iter().cloned());
    for message in &file.messages {
        if there
            .messages
            .iter()
            .all(|known| known.name != message.name)
        {
            there.messages.push(message.clone());
        }
    }
    for made in &file.enums {
        if there.enums.iter().all(|known| known.name != made.name) {
            there.enums.push(made.clone());
        }
    }
    match (&mut there.service, &file.service) {
        (Some(service), Some(more)) => {
            for method in &more.methods {
                if service
                    .methods
                    .iter()
                    .all(|known| known.name != method.name)
                {
                    service.methods.push(method.clone());
                }
            }
        }
        (none @ None, more) => none.clone_from(more),
        (Some(_), None) => {}
    }
}

/// Give files the words of others that are the same but for their words.
pub fn tell(files: &mut [File], others: &[File]) {
    for file in files {
        let Some(other) = others.iter().find(|other| other.package == file.package) else {
            continue;
        };
        file.docs.clone_from(&other.docs);
        for message in &mut file.messages {
            let same = other.messages.iter().find(|o| o.name == message.name);
            let Some(same) = same else { continue };
            message.docs.clone_from(&same.docs);
            for field in &mut message.fields {
                if let Some(same) = same.fields.iter().find(|o| o.name == field.name) {
                    field.docs.clone_from(&same.docs);
                }
            }
        }
        for made in &mut file.enums {
            let same = other.enums.iter().find(|o| o.name == made.name);
            let Some(same) = same else { continue };
            made.docs.clone_from(&same.docs);
            for value in &mut made.values {
                if let Some(same) = same.values.iter().find(|o| o.name == value.name) {
                    value.docs.clone_from(&same.docs);
                }
            }
        }
        if let (Some(service), Some(same)) = (&mut file.service, &other.service) {
            service.docs.clone_from(&same.docs);
            for method in &mut service.methods {
                if let Some(same) = same.methods.iter().find(|o| o.name == method.name) {
                    method.docs.clone_from(&same.docs);
                }
            }
        }
    }
}
