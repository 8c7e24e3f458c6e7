//! Searches of the log.

use rialto_sdk::documents::Range;
use rialto_sdk::operators::{Answer, Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::entries::{ABOUT_BYTES_MAX, BY_ABOUT, BY_TRACE, ENTRIES, Entry, Level, id, indexed};
use crate::world::World;

/// How many entries a page has if the query does not say.
const LIMIT: usize = 100;
/// How many entries one search looks at.
const LOOKED_AT_MAX: u32 = 1_000;

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
    /// Where to go on.
    pub cursor: Option<String>,
    /// The most entries.
    pub limit: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    items: Vec<Entry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Search: the oldest first.
///
/// # Errors
/// When the query has no bounds.
pub fn search(world: &mut impl World, query: &Query) -> Result<Answer, Problem> {
    let of_index = match (&query.trace, &query.about) {
        (Some(trace), _) => Some((&BY_TRACE, trace)),
        (None, Some(about)) => Some((&BY_ABOUT, about)),
        (None, None) => None,
    };
    if query
        .about
        .as_ref()
        .is_some_and(|about| about.len() > ABOUT_BYTES_MAX)
    {
        let detail = format!("`about` has more than {ABOUT_BYTES_MAX} bytes, which no entry has");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    if of_index.is_none() && query.since.is_none() && query.cursor.is_none() {
        let detail = "the query has no bounds: add `since`, `trace` or `about`";
        return Err(Problem::new(Kind::QueryUnbounded, detail));
    }
    // Ids are digits and hyphens: an exclamation mark is before them, a tilde behind them.
    let from = match &query.cursor {
        Some(last) => format!("{last}!"),
        None => id(query.since.unwrap_or(0)),
    };
    let to = query.until.map_or_else(|| "~".to_owned(), id);
    let prefix = of_index.map_or_else(String::new, |(_, key)| indexed(key));
    let range = Range::Between((format!("{prefix}{from}"), format!("{prefix}{to}")));
    let (ids, mut more) = match of_index {
        Some((index, _)) => {
            let page = index.within(world).scan(&range, None, LOOKED_AT_MAX);
            let ids = page.documents.into_iter().map(|(id, _)| id);
            (ids.collect::<Vec<_>>(), page.cursor.is_some())
        }
        None => {
            let page = ENTRIES.within(world).scan(&range, None, LOOKED_AT_MAX);
            let ids = page.documents.into_iter().map(|(id, _)| id);
            (ids.collect(), page.cursor.is_some())
        }
    };
    let limit = query.limit.unwrap_or(LIMIT);
    let (mut items, mut last) = (Vec::new(), None);
    for id in ids.iter().filter_map(|id| id.strip_prefix(&prefix)) {
        if items.len() == limit {
            more = true;
            break;
        }
        let entry = ENTRIES.within(world).get(id);
        items.extend(entry.filter(|entry| is_wanted(entry, query)));
        last = Some(id.to_owned());
    }
    let found = Found {
        items,
        next_cursor: last.filter(|_| more),
    };
    Ok(Answer::json(200, &found).with("cache-control", "no-store"))
}

fn is_wanted(entry: &Entry, query: &Query) -> bool {
    let is = |wanted: &Option<String>, found: &str| {
        wanted.as_deref().is_none_or(|wanted| wanted == found)
    };
    let has_text = query
        .text
        .as_deref()
        .is_none_or(|text| entry.message.contains(text));
    query.level.is_none_or(|level| entry.level >= level)
        && is(&query.writer, &entry.writer)
        && is(&query.about, &entry.about)
        && is(&query.trace, &entry.trace)
        && has_text
}
