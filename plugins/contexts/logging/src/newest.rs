//! The ids of the newest entries of a part of a collection. The host scans in the order of ids only, so this looks at
//! windows of time from the end to the beginning. A window with too many entries is narrowed, and an empty one is widened.

use rialto_sdk::documents::{Collection, Range};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entries::id;
use crate::world::World;

/// The first window, in milliseconds.
const WINDOW: u64 = 60_000;
/// How a window grows and shrinks.
const FACTOR: u64 = 8;
/// How many windows are looked at. So many reach from now to 1970 and back to a millisecond.
const WINDOWS_MAX: u32 = 64;

/// A part of a collection.
pub struct Part<'a> {
    /// What all ids begin with.
    pub prefix: &'a str,
    /// The first instant: UTC, milliseconds since 1970.
    pub from: u64,
    /// The instant after the last one.
    pub until: u64,
    /// The id of an entry; only older ones are wanted. It arrived before `until`.
    pub before: Option<&'a str>,
}

/// Ids without the prefix, the newest first, at most `most`, and whether there are more. Of one millisecond only `most` ids
/// are found; so many do not arrive in it.
pub fn ids<T: Serialize + DeserializeOwned>(
    world: &mut impl World,
    collection: &Collection<T>,
    part: &Part<'_>,
    most: u32,
) -> (Vec<String>, bool) {
    let prefix = part.prefix;
    let mut found: Vec<String> = Vec::new();
    let mut end = part.until;
    let mut before = part.before.map(str::to_owned);
    let mut window = WINDOW;
    for _ in 0..WINDOWS_MAX {
        if end <= part.from {
            return (found, false);
        }
        let start = end.saturating_sub(window).max(part.from);
        let to = before.clone().unwrap_or_else(|| id(end));
        let range = Range::Between((format!("{prefix}{}", id(start)), format!("{prefix}{to}")));
        let page = collection.within(world).scan(&range, None, most);
        let is_whole = page.cursor.is_none();
        if !is_whole && end - start > 1 {
            window = ((end - start) / FACTOR).max(1);
            continue;
        }
        let seen = page.documents.len();
        let ids = page.documents.into_iter().rev();
        found.extend(ids.filter_map(|(id, _)| id.strip_prefix(prefix).map(str::to_owned)));
        end = start;
        before = None;
        if found.len() >= most as usize {
            let is_cut = found.len() > most as usize;
            found.truncate(most as usize);
            return (found, is_cut || end > part.from);
        }
        if seen < most as usize / 10 {
            window = window.saturating_mul(FACTOR);
        }
    }
    let is_cut = end > part.from && !found.is_empty();
    (found, is_cut)
}
