//! Searches of the audit log. Each one has an entry of its own.

use std::borrow::Cow;

use rialto_sdk::operators::{Answer, Kind, Problem};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::bindings::rialto::host::audit_log::{Filter, Proof, StoredEntry};
use crate::bindings::rialto::host::auditing::{Entry, Outcome};
use crate::world::World;

/// The longest text that the host searches for, in bytes.
const TEXT_BYTES_MAX: usize = 512;
/// How many entries a page has if the query does not say.
const LIMIT: u32 = 100;
/// How often the host is asked for one page, at most. Each time it looks at a bounded number of entries.
const LOOKS_MAX: u32 = 8;

/// What is searched for. All conditions hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Query {
    /// Entries of this instant or later: UTC, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Entries before this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// What the entries are about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Who has acted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Who has written the entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The trace that they belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// Where to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
    /// The most entries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    index: u64,
    proof: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<Box<RawValue>>,
    /// The entry with what is encrypted for people in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<Box<RawValue>>,
    /// An entry that is no JSON any more, because somebody has changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    path: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    items: Vec<Shown>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<String>,
}

/// Search, and write an entry about it.
///
/// # Errors
/// When the query has no bounds, or the log cannot be read.
pub fn search(world: &mut impl World, query: &Query) -> Result<Answer, Problem> {
    let filter = filter(query)?;
    // The entry about this search has the query, and may have a person's name by that.
    if let Some(about) = &query.about {
        world.names(about);
    }
    let found = find(world, query, &filter).map_err(|why| {
        let detail = format!("the audit log cannot be read: {why}");
        Problem::new(Kind::Overloaded, detail)
    })?;
    let details = json!({ "query": query, "entries": found.items.len() });
    world.write(&Entry {
        action: "audit.read".to_owned(),
        about: String::new(),
        outcome: Outcome::Done,
        note: String::new(),
        details: Some(details.to_string()),
    });
    Ok(Answer::json(200, &found).with("cache-control", "no-store"))
}

/// What a query finds. The host finds texts, also where they stand in other members, so it is asked again until the page is
/// full; but not too often in one turn.
fn find(world: &mut impl World, query: &Query, filter: &Filter) -> Result<Found, String> {
    let limit = query.limit.unwrap_or(LIMIT);
    let mut items = Vec::new();
    let mut first = query.cursor.unwrap_or(0);
    let mut looks = 0;
    loop {
        let missing = limit.saturating_sub(u32::try_from(items.len()).unwrap_or(u32::MAX));
        let page = world.search(filter, first, missing)?;
        items.extend(shown(page.entries, query));
        looks += 1;
        let is_full = items.len() as u64 >= u64::from(limit) || looks >= LOOKS_MAX;
        match page.next {
            Some(next) if !is_full => first = next,
            next => {
                return Ok(Found {
                    items,
                    next_cursor: next.map(|next| next.to_string()),
                    size: page.size,
                    checkpoint: page.checkpoint,
                });
            }
        }
    }
}

/// Write that somebody without the role wanted to read.
pub fn refused(world: &mut impl World) {
    world.write(&Entry {
        action: "audit.read".to_owned(),
        about: String::new(),
        outcome: Outcome::Refused,
        note: "the role is missing".to_owned(),
        details: None,
    });
}

fn filter(query: &Query) -> Result<Filter, Problem> {
    let members = [
        ("about", &query.about),
        ("action", &query.action),
        ("writer", &query.writer),
        ("outcome", &query.outcome),
        ("trace", &query.trace),
    ];
    let member = |name: &str, value: &str| format!("\"{name}\":{}", Value::from(value));
    let wanted = members
        .iter()
        .filter_map(|(name, value)| Some(member(name, value.as_deref()?)));
    let mut texts: Vec<String> = wanted.collect();
    // An actor has its name behind its kind.
    texts.extend(query.actor.as_deref().map(|actor| member("name", actor)));
    if texts.iter().any(|text| text.len() > TEXT_BYTES_MAX) {
        let detail = format!("a text of the query has more than {TEXT_BYTES_MAX} bytes as JSON");
        return Err(Problem::new(Kind::Malformed, detail));
    }
    if query.since.is_none() && texts.is_empty() && query.cursor.is_none() {
        let detail = "the query has no bounds: add `since`, `about`, `action`, `actor`, `writer`, `outcome` or `trace`";
        return Err(Problem::new(Kind::QueryUnbounded, detail));
    }
    Ok(Filter {
        since: query.since,
        until: query.until,
        texts,
    })
}

/// The members of an entry by which a query chooses.
#[derive(Deserialize)]
struct Chosen<'e> {
    #[serde(default, borrow)]
    about: Cow<'e, str>,
    #[serde(borrow)]
    action: Cow<'e, str>,
    #[serde(borrow)]
    writer: Cow<'e, str>,
    #[serde(borrow)]
    outcome: Cow<'e, str>,
    #[serde(default, borrow)]
    trace: Cow<'e, str>,
    #[serde(borrow)]
    actor: ChosenActor<'e>,
}

#[derive(Deserialize)]
struct ChosenActor<'e> {
    #[serde(borrow)]
    name: Cow<'e, str>,
}

/// Whether an entry is one that the query wants. The log was searched for texts, which may stand in other members too. An
/// entry that is none any more is always shown.
fn is_wanted(entry: &str, query: &Query) -> bool {
    let Ok(chosen) = serde_json::from_str::<Chosen<'_>>(entry) else {
        return true;
    };
    let members = [
        (&query.about, &chosen.about),
        (&query.action, &chosen.action),
        (&query.writer, &chosen.writer),
        (&query.outcome, &chosen.outcome),
        (&query.trace, &chosen.trace),
        (&query.actor, &chosen.actor.name),
    ];
    members
        .into_iter()
        .all(|(wanted, found)| wanted.as_ref().is_none_or(|wanted| wanted == found))
}

fn shown(entries: Vec<StoredEntry>, query: &Query) -> impl Iterator<Item = Shown> {
    let entries = entries.into_iter();
    // A person is found by the name, and by the pseudonym.
    let wanted = entries.filter(|stored| {
        let both = std::iter::once(&stored.entry).chain(&stored.opened);
        both.into_iter().any(|read| is_wanted(read, query))
    });
    wanted.map(|stored| {
        let (entry, text) = match serde_json::from_str::<Box<RawValue>>(&stored.entry) {
            Ok(entry) => (Some(entry), None),
            Err(_) => (None, Some(stored.entry)),
        };
        Shown {
            index: stored.index,
            proof: match stored.proof {
                Proof::Verified => "VERIFIED",
                Proof::Unsigned => "UNSIGNED",
                Proof::Changed => "CHANGED",
            },
            entry,
            opened: stored
                .opened
                .and_then(|opened| RawValue::from_string(opened).ok()),
            text,
            path: stored.path,
        }
    })
}
