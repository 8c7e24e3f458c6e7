//! The windows of counters: which slot of a counter's document an instant belongs to, and which slots count.
//!
//! | Window | Slots |
//! |---|---|
//! | rolling | at most 60, each a 59th of the window: a transfer leaves with the last of its slot |
//! | day, week, month | one: the current day, week or month at the offset from UTC |

use rialto_sdk::counters::Window;
use rialto_sdk::time::{civil_from_days, days_from_civil};

/// The most slots of a document.
pub const SLOTS_MAX: usize = 60;
/// The slots within the length of a rolling window. A window that does not begin with a slot touches one more.
const SLOTS_OF_WINDOW: u64 = SLOTS_MAX as u64 - 1;

const MS_PER_MINUTE: i64 = 60 * 1000;
const MS_PER_DAY: i64 = 24 * 60 * MS_PER_MINUTE;
/// 1 January 1970 was a Thursday, three days after a Monday.
const DAYS_AFTER_MONDAY: i64 = 3;

/// A window at an instant. Instants are UTC, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The slots that begin at this instant or later are in the window.
    pub from: u64,
    /// The beginning of the slot of the instant.
    pub slot: u64,
    /// From this instant on, nothing of that slot is in its window.
    pub until: u64,
}

impl Span {
    /// The window at an instant.
    #[must_use]
    pub fn of(window: Window, now: u64) -> Self {
        match window {
            Window::Rolling(seconds) => Self::rolling(seconds.saturating_mul(1000), now),
            Window::Day(offset) => Self::calendar(offset, now, |day| (day, day + 1)),
            Window::Week(offset) => Self::calendar(offset, now, |day| {
                let monday = day - (day + DAYS_AFTER_MONDAY).rem_euclid(7);
                (monday, monday + 7)
            }),
            Window::Month(offset) => Self::calendar(offset, now, |day| {
                let (year, month, _) = civil_from_days(day);
                let (next_year, next) = if month == 12 {
                    (year + 1, 1)
                } else {
                    (year, month + 1)
                };
                let first = days_from_civil(year, month, 1);
                (first, days_from_civil(next_year, next, 1))
            }),
        }
    }

    fn rolling(length: u64, now: u64) -> Self {
        let each = length.div_ceil(SLOTS_OF_WINDOW).max(1);
        let begins = |at: u64| at / each * each;
        let slot = begins(now);
        Self {
            from: begins(now.saturating_sub(length)),
            slot,
            until: slot.saturating_add(each).saturating_add(length),
        }
    }

    /// `days` gives the first day of a period and that of the next one, for one of its days.
    fn calendar(offset: i16, now: u64, days: impl Fn(i64) -> (i64, i64)) -> Self {
        let offset = i64::from(offset) * MS_PER_MINUTE;
        let local = i64::try_from(now).unwrap_or(i64::MAX - MS_PER_DAY) + offset;
        let (first, next) = days(local.div_euclid(MS_PER_DAY));
        let instant = |day: i64| {
            let utc = day.saturating_mul(MS_PER_DAY).saturating_sub(offset);
            u64::try_from(utc).unwrap_or(0)
        };
        let slot = instant(first);
        Self {
            from: slot,
            slot,
            until: instant(next),
        }
    }
}

/// A window in words, for the document and its id.
#[must_use]
pub fn words(window: Window) -> String {
    match window {
        Window::Rolling(seconds) => format!("rolling {seconds}"),
        Window::Day(offset) => format!("day {offset}"),
        Window::Week(offset) => format!("week {offset}"),
        Window::Month(offset) => format!("month {offset}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::time::{format_date_time, parse_date_time};

    fn period(window: Window, now: &str) -> (String, String) {
        let span = Span::of(window, parse_date_time(now).unwrap());
        assert_eq!(span.from, span.slot);
        (format_date_time(span.slot), format_date_time(span.until))
    }

    #[test]
    fn calendar_windows_begin_and_end_at_local_midnight() {
        for (window, now, begins, ends) in [
            (
                Window::Day(0),
                "2026-02-28T23:59:59.999Z",
                "2026-02-28T00:00:00.000Z",
                "2026-03-01T00:00:00.000Z",
            ),
            (
                Window::Day(120),
                "2026-02-28T22:00:00.000Z",
                "2026-02-28T22:00:00.000Z",
                "2026-03-01T22:00:00.000Z",
            ),
            (
                Window::Day(-300),
                "2026-03-01T04:59:00.000Z",
                "2026-02-28T05:00:00.000Z",
                "2026-03-01T05:00:00.000Z",
            ),
            // A Sunday, and the Monday after it.
            (
                Window::Week(0),
                "2026-03-01T12:00:00.000Z",
                "2026-02-23T00:00:00.000Z",
                "2026-03-02T00:00:00.000Z",
            ),
            (
                Window::Week(0),
                "2026-03-02T00:00:00.000Z",
                "2026-03-02T00:00:00.000Z",
                "2026-03-09T00:00:00.000Z",
            ),
            (
                Window::Month(0),
                "2028-02-29T12:00:00.000Z",
                "2028-02-01T00:00:00.000Z",
                "2028-03-01T00:00:00.000Z",
            ),
            (
                Window::Month(60),
                "2026-12-31T23:00:00.000Z",
                "2026-12-31T23:00:00.000Z",
                "2027-01-31T23:00:00.000Z",
            ),
        ] {
            let expected = (begins.to_owned(), ends.to_owned());
            assert_eq!(period(window, now), expected, "{window:?} at {now}");
        }
    }

    #[test]
    fn rolling_window_touches_at_most_its_slots() {
        for seconds in [1, 2, 59, 60, 61, 3_600, 86_400, 34_300_800] {
            for now in [
                0,
                1,
                999,
                1_000,
                59_999,
                1_767_258_000_123,
                1_767_258_001_000,
            ] {
                let window = Window::Rolling(seconds);
                let span = Span::of(window, now);
                let each = (seconds * 1000).div_ceil(59);
                assert!((span.slot - span.from) / each < SLOTS_MAX as u64);
                assert!(span.slot <= now && now < span.slot + each);
                // All of the window is there, and at most a slot more.
                let begins = now.saturating_sub(seconds * 1000);
                assert!(span.from <= begins && begins - span.from < each);
                // A slot is in the window until its end.
                assert!(Span::of(window, span.until - 1).from <= span.slot);
                assert!(Span::of(window, span.until).from > span.slot);
            }
        }
    }

    #[test]
    fn instants_at_the_bounds_do_not_overflow() {
        for window in [
            Window::Rolling(u64::MAX),
            Window::Day(840),
            Window::Week(-840),
            Window::Month(840),
        ] {
            for now in [0, u64::from(u32::MAX), 253_402_300_799_999] {
                let span = Span::of(window, now);
                assert!(span.from <= now && span.slot <= now, "{window:?}: {span:?}");
            }
        }
    }
}
