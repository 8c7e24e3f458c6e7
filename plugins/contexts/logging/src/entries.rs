//! Entries of the log, and writing them. An entry is never changed.

use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

use crate::bindings::exports::rialto::logging::log_write::{Event, Level as EventLevel};
use crate::world::World;

/// Entries, by the time of their arrival; see [`id`].
pub const ENTRIES: Collection<Entry> = Collection::new("entries");
/// The same by trace: `trace/id`.
pub const BY_TRACE: Collection<Mark> = Collection::new("by-trace");
/// The same by subject: `subject/id`.
pub const BY_ABOUT: Collection<Mark> = Collection::new("by-about");
/// How many entries have arrived in each hour since 1970.
pub const HOURS: Collection<Hour> = Collection::new("hours");
/// An hour, in milliseconds.
pub const HOUR: u64 = 3_600_000;
/// The longest message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 4_096;
/// The longest subject, in bytes.
pub const ABOUT_BYTES_MAX: usize = 200;
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
    /// Who has written it: the operator's name of a program, or a context.
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

fn is_trace(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == TRACE_DIGITS && text.bytes().all(is_digit)
}

/// Write entries of one writer. Returns their ids.
pub fn write(world: &mut impl World, writer: &str, all: Vec<Said>) -> Vec<String> {
    let now = world.now();
    let hour = hour_id(now / HOUR);
    let mut count = HOURS
        .within(world)
        .get_for_update(&hour)
        .unwrap_or_default();
    count.entries += all.len() as u64;
    HOURS.within(world).put(&hour, &count);
    all.into_iter()
        .map(|said| put(world, writer, said, now))
        .collect()
}

fn put(world: &mut impl World, writer: &str, said: Said, now: u64) -> String {
    let id = format!("{}-{}", id(now), world.random());
    let entry = Entry {
        id: id.clone(),
        at: said.at.unwrap_or(now),
        arrived_at: now,
        writer: writer.to_owned(),
        level: said.level,
        message: said.message,
        about: said.about,
        trace: said.trace,
    };
    ENTRIES.within(world).put(&id, &entry);
    for (index, key) in [(&BY_TRACE, &entry.trace), (&BY_ABOUT, &entry.about)] {
        if !key.is_empty() {
            index.within(world).put(&format!("{key}/{id}"), &Mark {});
        }
    }
    id
}

/// Remove an entry.
pub fn remove(world: &mut impl World, entry: &Entry) {
    ENTRIES.within(world).delete(&entry.id);
    for (index, key) in [(&BY_TRACE, &entry.trace), (&BY_ABOUT, &entry.about)] {
        if !key.is_empty() {
            index.within(world).delete(&format!("{key}/{}", entry.id));
        }
    }
}

/// Write the entry of an event. What does not fit is cut or left out, because an event that cannot be handled would stop
/// those behind it.
pub fn of_event(world: &mut impl World, event: Event) {
    let plain = |text: &str, bytes_max: usize| {
        let plain = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        let plain: String = plain.collect();
        plain[..plain.floor_char_boundary(bytes_max)].to_owned()
    };
    let message = plain(&event.message, MESSAGE_BYTES_MAX);
    let said = Said {
        level: match event.level {
            EventLevel::Debug => Level::Debug,
            EventLevel::Info => Level::Info,
            EventLevel::Warn => Level::Warn,
            EventLevel::Error => Level::Error,
        },
        message: if message.is_empty() {
            "-".to_owned()
        } else {
            message
        },
        about: plain(&event.about, ABOUT_BYTES_MAX),
        trace: Some(event.trace)
            .filter(|trace| is_trace(trace))
            .unwrap_or_default(),
        at: Some(event.at),
    };
    let writer = plain(&event.context, 64);
    write(world, &writer, vec![said]);
}
