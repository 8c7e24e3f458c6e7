//! The lock: the field numbers, and everything else that clients were built against. It is a checked-in file beside the
//! WIT. A number is never reused, also after its field was removed. [`breaks`] says which changes break clients.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use crate::breaks::{self, Break};
use crate::model::{Enum, Field, File, Message, Method};

/// The first lines of the file.
const HEAD: &str = "# The numbers of the fields that gRPC clients were built against, and their types. Written by\n\
    # `rialto proto` and `cargo xtask tidy --accept-wit`. A number is never used again, so take no line away. Only a call that is\n\
    # ended on purpose is ended by taking away its line under its service.\n";
/// The end of a line for a retired field or value.
const RETIRED: &str = ", retired";
/// Numbers that protobuf reserves.
const PROTOBUFS_OWN: std::ops::RangeInclusive<i32> = 19_000..=19_999;
/// The key, among a message's numbers, of its WIT type.
const WIT: &str = "wit";

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    /// By full name.
    pub(crate) messages: BTreeMap<String, Entry>,
    /// By full name.
    pub(crate) enums: BTreeMap<String, Entry>,
    /// By full name, then by method: the messages of its request, answer and refusal.
    pub(crate) services: BTreeMap<String, BTreeMap<String, String>>,
}

/// A message or an enum.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its WIT type.
    pub wit: String,
    /// Fields or values by number.
    pub numbers: BTreeMap<i32, Numbered>,
}

/// A field or a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub name: String,
    /// The type of a field; nothing for a value.
    pub shape: String,
    pub retired: bool,
}

/// A lock that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BadLock {
    /// It is not TOML of tables of tables of strings.
    #[error("the lock of the protobuf numbers cannot be read: take it as it was last checked in")]
    Toml(#[from] toml::de::Error),
    /// A key is no number.
    #[error(
        "{0} has the key `{1}`, which is no field number: take the lock as it was last checked in"
    )]
    Number(String, String),
    /// A table is none of messages, enums and services.
    #[error("the lock of the protobuf numbers has a table `{0}` that nothing here writes")]
    Table(String),
}

/// Numbered files, with the lock as it must be checked in for them.
#[derive(Clone, Debug)]
pub struct Locked {
    /// The files to write.
    pub files: Vec<File>,
    /// The lock with the new numbers.
    pub lock: Lock,
    /// The changes that would break clients. If there are any, use neither files nor lock.
    pub breaks: Vec<Break>,
}

type Tables = BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>;

impl Lock {
    /// Read a lock.
    ///
    /// # Errors
    /// When the text is not in the form of [`Lock::to_text`].
    pub fn parse(text: &str) -> Result<Self, BadLock> {
        let mut lock = Self::default();
        for (table, entries) in toml::from_str::<Tables>(text)? {
            match table.as_str() {
                "messages" => lock.messages = read(entries)?,
                "enums" => lock.enums = read(entries)?,
                "services" => lock.services = entries,
                _ => return Err(BadLock::Table(table)),
            }
        }
        Ok(lock)
    }

    /// The text of the checked-in file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (kind, entries) in [("messages", &self.messages), ("enums", &self.enums)] {
            for (name, entry) in entries {
                let _ = writeln!(text, "\n[{kind}.\"{name}\"]\n{WIT} = \"{}\"", entry.wit);
                for (number, numbered) in &entry.numbers {
                    let _ = writeln!(text, "{number} = \"{}\"", numbered.words());
                }
            }
        }
        for (name, methods) in &self.services {
            let _ = writeln!(text, "\n[services.\"{name}\"]");
            for (method, signature) in methods {
                let _ = writeln!(text, "{method} = \"{signature}\"");
            }
        }
        text
    }

    /// Adds another lock's entries that are missing here.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for (name, entry) in other.messages {
            self.messages.entry(name).or_insert(entry);
        }
        for (name, entry) in other.enums {
            self.enums.entry(name).or_insert(entry);
        }
        for (name, methods) in other.services {
            let known = self.services.entry(name).or_default();
            for (method, signature) in methods {
                known.entry(method).or_insert(signature);
            }
        }
        self
    }

    /// Removes the entries that are the same in another lock.
    #[must_use]
    pub fn without(mut self, other: &Self) -> Self {
        self.messages
            .retain(|name, entry| other.messages.get(name) != Some(entry));
        self.enums
            .retain(|name, entry| other.enums.get(name) != Some(entry));
        for (name, methods) in &mut self.services {
            let known = other.services.get(name);
            methods.retain(|method, signature| {
                known.and_then(|known| known.get(method)) != Some(signature)
            });
        }
        self.services.retain(|_, methods| !methods.is_empty());
        self
    }

    /// The names by WIT type, so that a new type neither takes a name nor changes one.
    pub(crate) fn names(&self) -> HashMap<String, String> {
        let entries = self.messages.iter().chain(&self.enums);
        let names = entries.map(|(name, entry)| {
            let package = name.rsplit_once('.').map_or("", |(package, _)| package);
            (format!("{package}/{}", entry.wit), name.clone())
        });
        names.collect()
    }

    /// Numbers files, with new numbers for new fields, and lists the changes that would break clients.
    #[must_use]
    pub fn apply(&self, files: Vec<File>) -> Locked {
        let breaks = breaks::between(self, &files);
        self.number(files, breaks)
    }

    /// As [`Lock::apply`], for a part of all files. A call that these files do not have is not taken for removed.
    #[must_use]
    pub fn apply_part(&self, files: Vec<File>) -> Locked {
        let breaks = breaks::of_part(self, &files);
        let mut locked = self.number(files, breaks);
        locked.lock = locked.lock.with(self.clone());
        locked
    }

    fn number(&self, mut files: Vec<File>, breaks: Vec<Break>) -> Locked {
        let mut lock = self.clone();
        for file in &mut files {
            let package = file.package.clone();
            for message in &mut file.messages {
                let entry = lock.messages.entry(format!("{package}.{}", message.name));
                number_message(message, entry.or_default());
            }
            for made in &mut file.enums {
                let entry = lock.enums.entry(format!("{package}.{}", made.name));
                number_enum(made, entry.or_default());
            }
            if let Some(service) = &file.service {
                let name = format!("{package}.{}", service.name);
                let methods = service.methods.iter();
                let methods = methods.map(|method| (method.name.clone(), signature(method)));
                lock.services.insert(name, methods.collect());
            }
        }
        Locked {
            files,
            lock,
            breaks,
        }
    }
}

/// The messages of a call, against which clients are built.
pub(crate) fn signature(method: &Method) -> String {
    let mut text = format!("{} -> {}", method.input, method.output);
    if let Some(error) = &method.error {
        let _ = write!(text, " or {error}");
    }
    text
}

fn number_message(message: &mut Message, entry: &mut Entry) {
    entry.wit.clone_from(&message.wit);
    let wanted = message.fields.iter();
    let wanted: Vec<_> = wanted
        .map(|f: &Field| (f.name.clone(), f.shape()))
        .collect();
    let numbers = entry.give(&wanted);
    for (field, number) in message.fields.iter_mut().zip(numbers) {
        field.number = number;
    }
    // A number says more than the order in which WIT has them: what is new comes last.
    message.fields.sort_by_key(|field| field.number);
    message.reserved = entry.retired();
}

fn number_enum(made: &mut Enum, entry: &mut Entry) {
    entry.wit.clone_from(&made.wit);
    let wanted = made.values.iter();
    let wanted: Vec<_> = wanted.map(|v| (v.name.clone(), String::new())).collect();
    let numbers = entry.give(&wanted);
    for (value, number) in made.values.iter_mut().zip(numbers) {
        value.number = number;
    }
    made.values.sort_by_key(|value| value.number);
    made.reserved = entry.retired();
}

impl Entry {
    /// The entry of a name that is not retired.
    pub fn find(&self, name: &str) -> Option<(i32, &Numbered)> {
        let mut numbers = self.numbers.iter();
        let found = numbers.find(|(_, known)| known.name == name && !known.retired);
        found.map(|(number, known)| (*number, known))
    }

    /// The numbers for names with their types: the existing ones, or new ones. Other names are retired.
    fn give(&mut self, wanted: &[(String, String)]) -> Vec<i32> {
        for known in self.numbers.values_mut() {
            known.retired |= !wanted.iter().any(|(name, _)| *name == known.name);
        }
        let given = wanted.iter().map(|(name, shape)| {
            let known = self.find(name).map(|(number, _)| number);
            let number = known.unwrap_or_else(|| self.next());
            let numbered = Numbered {
                name: name.clone(),
                shape: shape.clone(),
                retired: false,
            };
            self.numbers.insert(number, numbered);
            number
        });
        given.collect()
    }

    /// The number after the highest one that was ever given.
    fn next(&self) -> i32 {
        let next = self
            .numbers
            .last_key_value()
            .map_or(1, |(last, _)| last + 1);
        if PROTOBUFS_OWN.contains(&next) {
            return PROTOBUFS_OWN.end() + 1;
        }
        next
    }

    fn retired(&self) -> Vec<(i32, String)> {
        let numbers = self.numbers.iter().filter(|(_, known)| known.retired);
        numbers
            .map(|(number, known)| (*number, known.name.clone()))
            .collect()
    }
}

impl Numbered {
    fn words(&self) -> String {
        let retired = if self.retired { RETIRED } else { "" };
        match self.shape.as_str() {
            "" => format!("{}{retired}", self.name),
            shape => format!("{}: {shape}{retired}", self.name),
        }
    }

    fn read(words: &str) -> Self {
        let (words, retired) = match words.strip_suffix(RETIRED) {
            Some(words) => (words, true),
            None => (words, false),
        };
        let (name, shape) = words.split_once(": ").unwrap_or((words, ""));
        Self {
            name: name.to_owned(),
            shape: shape.to_owned(),
            retired,
        }
    }
}

fn read(
    entries: BTreeMap<String, BTreeMap<String, String>>,
) -> Result<BTreeMap<String, Entry>, BadLock> {
    let entries = entries.into_iter().map(|(name, lines)| {
        let mut entry = Entry::default();
        for (key, words) in lines {
            if key == WIT {
                entry.wit = words;
                continue;
            }
            let Ok(number) = key.parse() else {
                return Err(BadLock::Number(name, key));
            };
            entry.numbers.insert(number, Numbered::read(&words));
        }
        Ok((name, entry))
    });
    entries.collect()
}
