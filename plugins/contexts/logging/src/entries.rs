//! Entries of the log, and writing them. An entry is never changed.

use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::host::keys::KeyError;
use crate::sealing::{Made, Protection};
use crate::trimming::has_entries;
use crate::world::World;

/// Entries, by the time of their arrival; see [`id`].
pub const ENTRIES: Collection<Entry> = Collection::new("entries");
/// The same by trace; see [`indexed`].
pub const BY_TRACE: Collection<Mark> = Collection::new("by-trace");
/// The same by subject.
pub const BY_ABOUT: Collection<Mark> = Collection::new("by-about");
/// How many entries have arrived in each hour since 1970.
pub const HOURS: Collection<Hour> = Collection::new("hours");
/// An hour, in milliseconds.
pub const HOUR: u64 = 3_600_000;
/// The longest message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 4_096;
/// The longest subject, in bytes.
pub const ABOUT_BYTES_MAX: usize = 200;
/// The latest time that an entry may say, in milliseconds since 1970: thirteen digits, in the year 2286.
const AT_MAX: u64 = 9_999_999_999_999;
/// The length of a trace's id (W3C Trace Context), in hexadecimal digits.
const TRACE_DIGITS: usize = 32;

/// How much an entry matters. The later ones matter more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// For who looks for a mistake.
    Debug,
    /// What happens.
    Info,
    /// Somebody should look.
    Warn,
    /// Something does not work.
    Error,
}

/// What a program says.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Said {
    /// How much it matters.
    pub level: Level,
    /// The line.
    pub message: String,
    /// What it is about.
    #[serde(default)]
    pub about: String,
    /// The trace that it belongs to.
    #[serde(default)]
    pub trace: String,
    /// When it happened: UTC, milliseconds since 1970. The time of arrival if it is not said.
    #[serde(default)]
    pub at: Option<u64>,
}

/// By which way an entry has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Source {
    /// A program outside has sent it. The host says which one.
    Program,
    /// A context has published it. Who, it says itself.
    Event,
    /// It is a line of the host's log. The host says which component wrote it.
    Host,
}

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// When it happened, as its writer says: UTC, milliseconds since 1970.
    pub at: u64,
    /// When it arrived.
    pub arrived_at: u64,
    /// By which way it has come.
    pub source: Source,
    /// Who has written it: the operator's name of a program, a context, or `host`.
    pub writer: String,
    /// How much it matters.
    pub level: Level,
    /// The line.
    pub message: String,
    /// What it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The trace that it belongs to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub trace: String,
    /// The part of the host that has written it, for a line of the host's log.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// The message, if it is encrypted. Then `message` is empty in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Made>,
    /// The signature of the entry with its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Made>,
}

/// Why entries are not written.
#[derive(Debug)]
pub enum NotWritten {
    /// As many have arrived in this hour as are kept in all: somebody writes without end.
    TooMany,
    /// They cannot be signed or encrypted.
    Key(KeyError),
}

/// That there is an entry. Its id says which.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {}

/// The entries of an hour.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hour {
    /// How many have arrived.
    pub entries: u64,
}

/// The beginning of the ids of entries that arrived at this instant. Ids are in the order of time.
#[must_use]
pub fn id(arrived_at: u64) -> String {
    format!("{arrived_at:013}")
}

/// The id of an hour's count.
#[must_use]
pub fn hour_id(hour: u64) -> String {
    format!("{hour:010}")
}

/// What is wrong with what a program says; none if nothing is.
#[must_use]
pub fn wrong(said: &Said) -> Option<String> {
    let is_text = |text: &str| {
        text.chars()
            .all(|c| !c.is_control() || c == '\n' || c == '\t')
    };
    if !(1..=MESSAGE_BYTES_MAX).contains(&said.message.len()) || !is_text(&said.message) {
        return Some(format!(
            "`message` has 1 to {MESSAGE_BYTES_MAX} bytes, and no control characters but line ends and tabs"
        ));
    }
    if said.about.len() > ABOUT_BYTES_MAX || said.about.chars().any(char::is_control) {
        return Some(format!(
            "`about` has at most {ABOUT_BYTES_MAX} bytes and no control characters"
        ));
    }
    let is_trace = said.trace.is_empty() || is_trace(&said.trace);
    (!is_trace).then(|| format!("`trace` has {TRACE_DIGITS} hexadecimal digits in lower case"))
}

/// Whether this is the id of a trace.
#[must_use]
pub fn is_trace(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == TRACE_DIGITS && text.bytes().all(is_digit)
}

/// The beginning of the ids in an index of entries with this trace or subject. The length is in front, so that no other one
/// begins in the same way.
#[must_use]
pub fn indexed(key: &str) -> String {
    format!("{:03}:{key}/", key.len())
}

/// What is said, and by whom.
pub struct Attributed {
    /// Who says it.
    pub writer: String,
    /// The part of the host that says it; empty for others.
    pub target: String,
    /// What is said.
    pub said: Said,
}

/// Write entries in their order. Returns their ids.
///
/// # Errors
/// When none of them is written.
pub fn write(
    world: &mut impl World,
    source: Source,
    all: Vec<Attributed>,
) -> Result<Vec<String>, NotWritten> {
    let now = world.now();
    let hour = hour_id(now / HOUR);
    let before = HOURS.within(world).get_for_update(&hour);
    let is_first = before.is_none();
    let mut count = before.unwrap_or_default();
    count.entries += all.len() as u64;
    let settings = world.settings();
    if count.entries > settings.entries_max {
        return Err(NotWritten::TooMany);
    }
    let entries = entries(world, source, all);
    // The host exports its own lines and those of contexts itself.
    let forwarded = match source {
        Source::Program => entries.clone(),
        Source::Event | Source::Host => Vec::new(),
    };
    let mut protection = Protection::default();
    let protected = entries.into_iter().map(|mut entry| {
        protection.apply(world, &settings, &mut entry)?;
        Ok(entry)
    });
    let protected: Vec<Entry> = protected
        .collect::<Result<_, _>>()
        .map_err(NotWritten::Key)?;
    // A log with entries has its reminder, which must not be put off.
    if is_first && !has_entries(world) {
        world.remind(now + HOUR);
    }
    HOURS.within(world).put(&hour, &count);
    let ids = protected.into_iter().map(|entry| {
        put(world, &entry);
        entry.id
    });
    let ids = ids.collect();
    for entry in &forwarded {
        world.forward(entry);
    }
    Ok(ids)
}

/// New entries, neither signed nor encrypted.
fn entries(world: &mut impl World, source: Source, all: Vec<Attributed>) -> Vec<Entry> {
    let (now, random) = (world.now(), world.random());
    let entry = |(n, attributed): (usize, Attributed)| {
        let said = attributed.said;
        Entry {
            // Entries of one call stay in their order.
            id: format!("{}-{random}{n:04x}", id(now)),
            at: said.at.unwrap_or(now).min(AT_MAX),
            arrived_at: now,
            source,
            writer: attributed.writer,
            level: said.level,
            message: said.message,
            about: said.about,
            trace: said.trace,
            target: attributed.target,
            sealed: None,
            signature: None,
        }
    };
    all.into_iter().enumerate().map(entry).collect()
}

fn put(world: &mut impl World, entry: &Entry) {
    ENTRIES.within(world).put(&entry.id, entry);
    for (index, key) in [(&BY_TRACE, &entry.trace), (&BY_ABOUT, &entry.about)] {
        if !key.is_empty() {
            let id = format!("{}{}", indexed(key), entry.id);
            index.within(world).put(&id, &Mark {});
        }
    }
}

/// Remove an entry.
pub fn remove(world: &mut impl World, entry: &Entry) {
    ENTRIES.within(world).delete(&entry.id);
    for (index, key) in [(&BY_TRACE, &entry.trace), (&BY_ABOUT, &entry.about)] {
        if !key.is_empty() {
            let id = format!("{}{}", indexed(key), entry.id);
            index.within(world).delete(&id);
        }
    }
}
