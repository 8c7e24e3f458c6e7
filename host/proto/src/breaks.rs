//! Which changes of a contract break clients that were built before. Such a client must still send all that is needed,
//! and still find all that it expects. So it matters whether a message goes to the host or comes from it.
//!
//! | Change | To the host | From the host |
//! |---|---|---|
//! | a field's type, or how often it may be there | breaks | breaks |
//! | a new field that may be missing | fits | fits |
//! | a new field that must be there | breaks | fits |
//! | no more of a field that may be missing | fits | fits |
//! | no more of a field that must be there | fits | breaks |
//! | a new value of an enum, a new case | fits | fits: clients must take unknown ones |
//! | no more of a value or a case | breaks | fits |
//! | a call is gone, or takes, answers or refuses with another message | breaks | breaks |
//!
//! A name that was retired does not come back: a client that still knows it means what it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::lock::{Entry, Lock, signature};
use crate::model::{Cardinality, Enum, File, Kind, Message};

/// A change that would break clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The full name of the changed message, enum or call.
    pub at: String,
    /// The change in words.
    pub change: String,
}

impl fmt::Display for Break {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, change } = self;
        write!(
            f,
            "{at} {change}. Clients that were built before would break: undo it, or give the WIT package a \
             new version, so that the old one stays as it is"
        )
    }
}

/// The changes in files that break clients of the locked contract.
pub(crate) fn between(lock: &Lock, files: &[File]) -> Vec<Break> {
    let ways = Directions::of(files);
    let mut breaks = Vec::new();
    for (service, methods) in &lock.services {
        calls(service, methods, files, &mut breaks);
    }
    breaks.extend(messages(lock, files, &ways));
    breaks
}

fn messages(lock: &Lock, files: &[File], ways: &Directions) -> Vec<Break> {
    let mut breaks = Vec::new();
    for file in files {
        for message in &file.messages {
            let name = format!("{}.{}", file.package, message.name);
            if let Some(entry) = lock.messages.get(&name) {
                breaks.extend(of_message(&name, entry, message, ways));
            }
        }
        for made in &file.enums {
            let name = format!("{}.{}", file.package, made.name);
            if let Some(entry) = lock.enums.get(&name) {
                breaks.extend(of_enum(&name, entry, made, ways));
            }
        }
    }
    breaks
}

/// The same for a part of all files.
pub(crate) fn of_part(lock: &Lock, files: &[File]) -> Vec<Break> {
    let ways = Directions::of(files);
    let mut breaks = messages(lock, files, &ways);
    for (at, signature, known) in signatures(lock, files) {
        if let Some(known) = known.filter(|known| **known != signature) {
            let change = format!("was `{known}` and is `{signature}`");
            breaks.push(Break { at, change });
        }
    }
    breaks
}

/// Everything in the files that has no number or differs from the lock. Empty if these files can serve clients.
/// Other entries of the lock do not matter.
pub(crate) fn lacking(lock: &Lock, files: &[File]) -> Vec<String> {
    let breaks = of_part(lock, files);
    if !breaks.is_empty() {
        return breaks.iter().map(ToString::to_string).collect();
    }
    let mut without = Vec::new();
    for file in files {
        for message in &file.messages {
            let name = format!("{}.{}", file.package, message.name);
            let fields = message.fields.iter().map(|field| field.name.as_str());
            without.extend(unnumbered(&name, lock.messages.get(&name), fields));
        }
        for made in &file.enums {
            let name = format!("{}.{}", file.package, made.name);
            let values = made.values.iter().map(|value| value.name.as_str());
            without.extend(unnumbered(&name, lock.enums.get(&name), values));
        }
    }
    let methods = signatures(lock, files).into_iter();
    let fresh = methods.filter(|(_, _, known)| known.is_none());
    without.extend(fresh.map(|(at, _, _)| at));
    let without = without.into_iter();
    without
        .map(|at| format!("{at} has no number: `rialto proto` gives it one"))
        .collect()
}

fn unnumbered<'n>(
    of: &str,
    entry: Option<&Entry>,
    names: impl Iterator<Item = &'n str>,
) -> Vec<String> {
    let Some(entry) = entry else {
        return vec![of.to_owned()];
    };
    let fresh = names.filter(|name| entry.find(name).is_none());
    fresh.map(|name| format!("{of}.{name}")).collect()
}

/// The methods of files: the name, the current signature, and the locked one.
fn signatures<'l>(lock: &'l Lock, files: &[File]) -> Vec<(String, String, Option<&'l String>)> {
    let mut found = Vec::new();
    for file in files {
        let Some(service) = &file.service else {
            continue;
        };
        let name = format!("{}.{}", file.package, service.name);
        for method in &service.methods {
            let known = lock.services.get(&name);
            let known = known.and_then(|known| known.get(&method.name));
            let at = format!("{name}/{}", method.name);
            found.push((at, signature(method), known));
        }
    }
    found
}

fn calls(
    service: &str,
    methods: &BTreeMap<String, String>,
    files: &[File],
    breaks: &mut Vec<Break>,
) {
    let now = files.iter().filter_map(|file| {
        let found = file.service.as_ref()?;
        (format!("{}.{}", file.package, found.name) == service).then_some(found)
    });
    let now: Vec<_> = now.flat_map(|found| &found.methods).collect();
    for (method, before) in methods {
        let found = now.iter().find(|found| found.name == *method);
        let change = match found.map(|found| signature(found)) {
            Some(after) if after == *before => continue,
            Some(after) => format!("was `{before}` and is `{after}`"),
            None => "is gone".to_owned(),
        };
        let at = format!("{service}/{method}");
        breaks.push(Break { at, change });
    }
}

fn of_message(name: &str, entry: &Entry, message: &Message, ways: &Directions) -> Vec<Break> {
    let (to_host, from_host) = (ways.to_host.contains(name), ways.from_host.contains(name));
    let mut changes = Vec::new();
    for field in &message.fields {
        let shape = field.shape();
        match entry.find(&field.name) {
            Some((_, known)) if known.shape == shape => {}
            Some((_, known)) => {
                changes.push((
                    &field.name,
                    format!("was `{}` and is `{shape}`", known.shape),
                ));
            }
            None if entry.was(&field.name) => changes.push((&field.name, COMES_BACK.to_owned())),
            None if to_host && field.cardinality == Cardinality::One => {
                let change = "is new and must be said: make it an option".to_owned();
                changes.push((&field.name, change));
            }
            None => {}
        }
    }
    for known in entry.numbers.values().filter(|known| !known.retired) {
        let still = message.fields.iter().any(|field| field.name == known.name);
        let case = known.shape.starts_with("case ");
        let may_miss = known.shape.starts_with("optional ") || known.shape.starts_with("repeated ");
        let broken = if case {
            to_host
        } else {
            from_host && !may_miss
        };
        if !still && broken {
            changes.push((&known.name, "is gone".to_owned()));
        }
    }
    let changes = changes.into_iter();
    changes
        .map(|(field, change)| Break {
            at: format!("{name}.{field}"),
            change,
        })
        .collect()
}

fn of_enum(name: &str, entry: &Entry, made: &Enum, ways: &Directions) -> Vec<Break> {
    let mut breaks = Vec::new();
    let mut found = |value: &str, change: &str| {
        breaks.push(Break {
            at: format!("{name}.{value}"),
            change: change.to_owned(),
        });
    };
    for value in &made.values {
        if entry.find(&value.name).is_none() && entry.was(&value.name) {
            found(&value.name, COMES_BACK);
        }
    }
    for known in entry.numbers.values().filter(|known| !known.retired) {
        let still = made.values.iter().any(|value| value.name == known.name);
        if !still && ways.to_host.contains(name) {
            found(&known.name, "is gone");
        }
    }
    breaks
}

const COMES_BACK: &str = "had been taken away and comes back: give it another name";

impl Entry {
    /// Whether the name is retired.
    fn was(&self, name: &str) -> bool {
        let mut numbers = self.numbers.values();
        numbers.any(|known| known.name == name && known.retired)
    }
}

/// The full names of messages to the host, and of messages from it.
struct Directions {
    to_host: BTreeSet<String>,
    from_host: BTreeSet<String>,
}

impl Directions {
    fn of(files: &[File]) -> Self {
        let messages = files.iter().flat_map(|file| {
            let named = file.messages.iter();
            named.map(|message| (format!("{}.{}", file.package, message.name), message))
        });
        let messages: BTreeMap<String, &Message> = messages.collect();
        let mut ways = Self {
            to_host: BTreeSet::new(),
            from_host: BTreeSet::new(),
        };
        let services = files.iter().filter_map(|file| file.service.as_ref());
        for method in services.flat_map(|service| &service.methods) {
            reach(&method.input, &messages, &mut ways.to_host);
            reach(&method.output, &messages, &mut ways.from_host);
            if let Some(error) = &method.error {
                reach(error, &messages, &mut ways.from_host);
            }
        }
        ways
    }
}

fn reach(name: &str, messages: &BTreeMap<String, &Message>, reached: &mut BTreeSet<String>) {
    if !reached.insert(name.to_owned()) {
        return;
    }
    let fields = messages
        .get(name)
        .into_iter()
        .flat_map(|message| &message.fields);
    for field in fields {
        if let Kind::Message(other) | Kind::Enum(other) = &field.kind {
            reach(other, messages, reached);
        }
    }
}
