//! Removing what is older than the scheme wants, or more. While there are entries, a reminder looks each hour; while there is
//! much to remove, the next look follows at once. An empty log has no reminder.

use rialto_sdk::documents::Range;

use crate::entries::{ENTRIES, HOUR, HOURS, hour_id, id, remove};
use crate::world::World;

/// How many entries one turn removes.
pub const AT_ONCE: u32 = 100;
/// How many counts of hours are read at a time.
const HOURS_AT_ONCE: u32 = 1_000;

/// Have the log trimmed from now on, if it has entries: a release may have other settings.
pub fn begin(world: &mut impl World) {
    let now = world.now();
    if has_entries(world) {
        world.remind(now + HOUR);
    }
}

/// Whether the log has entries. Then it has a reminder.
pub fn has_entries(world: &mut impl World) -> bool {
    let first = HOURS.within(world).scan(&Range::All, None, 1);
    !first.documents.is_empty()
}

/// Remove the oldest entries that are not to be kept, some of them, and say when to go on.
pub fn trim(world: &mut impl World) {
    let now = world.now();
    let before = kept_from(world, now);
    let range = Range::Between((String::new(), id(before)));
    let page = ENTRIES.within(world).scan(&range, None, AT_ONCE);
    let is_done = page.documents.len() < AT_ONCE as usize;
    for (_, entry) in &page.documents {
        remove(world, entry);
    }
    if is_done {
        forget_hours(world, before / HOUR);
    }
    if !is_done {
        world.remind(now);
    } else if has_entries(world) {
        world.remind(now + HOUR);
    }
}

/// The instant from which on entries are kept.
fn kept_from(world: &mut impl World, now: u64) -> u64 {
    let settings = world.settings();
    let by_age = now.saturating_sub(settings.keeps());
    let mut kept = 0;
    for (hour, entries) in hours(world).into_iter().rev() {
        kept += entries;
        // The hour that goes beyond it goes as a whole, but for the current one.
        if kept > settings.entries_max && hour < now / HOUR {
            return by_age.max((hour + 1) * HOUR);
        }
    }
    by_age
}

/// The hours with entries, the oldest first, each with their number.
fn hours(world: &mut impl World) -> Vec<(u64, u64)> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = HOURS
            .within(world)
            .scan(&Range::All, cursor.as_deref(), HOURS_AT_ONCE);
        let documents = page.documents.into_iter();
        all.extend(documents.filter_map(|(id, hour)| Some((id.parse().ok()?, hour.entries))));
        cursor = page.cursor;
        if cursor.is_none() {
            return all;
        }
    }
}

/// Forget the counts of hours whose entries are all gone.
fn forget_hours(world: &mut impl World, first_kept: u64) {
    let gone = Range::Between((String::new(), hour_id(first_kept)));
    let page = HOURS.within(world).scan(&gone, None, HOURS_AT_ONCE);
    for (id, _) in page.documents {
        HOURS.within(world).delete(&id);
    }
}
