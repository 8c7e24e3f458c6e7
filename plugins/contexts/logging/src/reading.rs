//! Searches of the log.

use rialto_sdk::documents::{Collection, Range};
use rialto_sdk::operators::{Answer, Kind, Problem};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::entries::{
    ABOUT_BYTES_MAX, BY_ABOUT, BY_TRACE, ENTRIES, Entry, Level, id as id_of, indexed,
};
use crate::newest::{self, Part};
use crate::sealing;
use crate::world::World;

/// How many entries a page has if the query does not say.
const LIMIT: usize = 100;
/// How many entries one search looks at.
const LOOKED_AT_MAX: u32 = 1_000;

/// In which order entries are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The oldest first.
    #[default]
    Oldest,
    /// The newest first.
    Newest,
}

/// What is searched for. All conditions hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Query {
    /// Entries that arrived at this instant or later: UTC, milliseconds since 1970.
    pub since: Option<u64>,
    /// Entries that arrived before this instant.
    pub until: Option<u64>,
    /// Entries of this level or above.
    pub level: Option<Level>,
    /// Who has written the entries.
    pub writer: Option<String>,
    /// What the entries are about.
    pub about: Option<String>,
    /// The trace that they belong to.
    pub trace: Option<String>,
    /// A text in their messages.
    pub text: Option<String>,
    /// Which entries come first; the oldest if it is not said.
    pub order: Option<Order>,
    /// Where to go on.
    pub cursor: Option<String>,
    /// The most entries.
    pub limit: Option<usize>,
}

/// An entry as it is shown.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    entry: Entry,
    /// Whether its signature fits; none for an entry that need not have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<bool>,
    /// Why it is not verified, or cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    items: Vec<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Search.
///
/// # Errors
/// When the query has no bounds.
pub fn search(world: &mut impl World, query: &Query) -> Result<Answer, Problem> {
    if query
        .about
        .as_ref()
        .is_some_and(|about| about.len() > ABOUT_BYTES_MAX)
    {
        let detail = format!("`about` has more than {ABOUT_BYTES_MAX} bytes, which no entry has");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    let is_bounded = query.trace.is_some() || query.about.is_some() || query.since.is_some();
    if !is_bounded && query.cursor.is_none() {
        let detail = "the query has no bounds: add `since`, `trace` or `about`";
        return Err(Problem::new(Kind::QueryUnbounded, detail));
    }
    let (ids, mut more) = ids(world, query);
    let limit = query.limit.unwrap_or(LIMIT);
    let (mut items, mut last) = (Vec::new(), None);
    for id in ids {
        if items.len() == limit {
            more = true;
            break;
        }
        items.extend(shown(world, query, &id));
        last = Some(id);
    }
    let found = Found {
        items,
        next_cursor: last.filter(|_| more),
    };
    Ok(Answer::json(200, &found).with("cache-control", "no-store"))
}

/// The ids of the entries to look at, in the order of the query, and whether there are more.
fn ids(world: &mut impl World, query: &Query) -> (Vec<String>, bool) {
    match (&query.trace, &query.about) {
        (Some(trace), _) => ids_of(world, &BY_TRACE, &indexed(trace), query),
        (None, Some(about)) => ids_of(world, &BY_ABOUT, &indexed(about), query),
        (None, None) => ids_of(world, &ENTRIES, "", query),
    }
}

fn ids_of<T: Serialize + DeserializeOwned>(
    world: &mut impl World,
    collection: &Collection<T>,
    prefix: &str,
    query: &Query,
) -> (Vec<String>, bool) {
    let since = query.since.unwrap_or(0);
    let cursor = query.cursor.as_deref();
    if query.order == Some(Order::Newest) {
        // Entries that arrive from now on are no part of it, so that they do not disturb the search.
        let next = world.now() + 1;
        let until = query.until.map_or(next, |until| until.min(next));
        let arrived_at = cursor.and_then(|id| id.split('-').next()?.parse::<u64>().ok());
        let part = Part {
            prefix,
            from: since,
            until: arrived_at.map_or(until, |at| until.min(at + 1)),
            before: cursor.filter(|id| **id < *id_of(until)),
        };
        return newest::ids(world, collection, &part, LOOKED_AT_MAX);
    }
    // Ids are digits and hyphens: an exclamation mark is before them, a tilde behind them.
    let from = cursor.map_or_else(|| id_of(since), |last| format!("{last}!"));
    let to = query.until.map_or_else(|| "~".to_owned(), id_of);
    let range = Range::Between((format!("{prefix}{from}"), format!("{prefix}{to}")));
    let page = collection.within(world).scan(&range, None, LOOKED_AT_MAX);
    let ids = page.documents.into_iter();
    let ids = ids.filter_map(|(id, _)| id.strip_prefix(prefix).map(str::to_owned));
    (ids.collect(), page.cursor.is_some())
}

/// The entry with its message, if it is wanted.
fn shown(world: &mut impl World, query: &Query, id: &str) -> Option<Shown> {
    let mut entry = ENTRIES.within(world).get(id)?;
    // One that was moved in the store does not fit its signature.
    id.clone_into(&mut entry.id);
    if !is_wanted(&entry, query) {
        return None;
    }
    let opened = sealing::open(world, &mut entry);
    if let Some(text) = &query.text
        && !entry.message.contains(text)
    {
        return None;
    }
    let is_signed = entry.signature.is_some() || world.settings().signed;
    let verified = match &opened {
        Ok(()) if is_signed => Some(sealing::verify(world, &entry)),
        Err(why) if is_signed || entry.sealed.is_some() => Some(Err(why.clone())),
        _ => None,
    };
    entry.sealed = None;
    entry.signature = None;
    Some(Shown {
        entry,
        verified: verified.as_ref().map(Result::is_ok),
        problem: verified.and_then(Result::err),
    })
}

/// Whether all conditions hold but the one of the message.
fn is_wanted(entry: &Entry, query: &Query) -> bool {
    let is = |wanted: &Option<String>, found: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted == found)
    };
    query.level.is_none_or(|level| entry.level >= level)
        && is(&query.writer, &entry.writer)
        && is(&query.about, &entry.about)
        && is(&query.trace, &entry.trace)
}
