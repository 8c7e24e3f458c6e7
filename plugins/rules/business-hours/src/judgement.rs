//! The verdict on an amount at an instant.

use crate::calendar::MINUTES_PER_DAY;
use crate::settings::Settings;
use rialto_sdk::rule::{Money, Verdict, refuse};
use rialto_sdk::time::format_date_time;

/// FSPIOP's "Service currently unavailable": the scheme is closed.
pub const CLOSED: &str = "2003";

const MS_PER_MINUTE: u64 = 60_000;
/// The most days in which the next opening is sought.
pub const SOUGHT_DAYS: i64 = 366;

/// Checks an amount at an instant in milliseconds since 1970 (UTC).
#[must_use]
pub fn judge(settings: &Settings, now: u64, amount: &Money) -> Verdict {
    if !settings.apply_to(amount) {
        return Verdict::Allow;
    }
    let local = local_minutes(settings, now);
    let (day, minute) = (
        local.div_euclid(MINUTES_PER_DAY),
        local.rem_euclid(MINUTES_PER_DAY),
    );
    let mut hours = settings.hours_of(day);
    if hours.any(|hours| (hours.from.minutes()..hours.to.minutes()).contains(&minute)) {
        return Verdict::Allow;
    }
    let message = match next_opening(settings, day, minute) {
        Some(at) => format!("outside business hours until {}", format_date_time(at)),
        None => "outside business hours".to_owned(),
    };
    refuse(CLOSED, message)
}

/// Whole minutes of local time since 1 January 1970.
fn local_minutes(settings: &Settings, now: u64) -> i64 {
    // Less than 2^49.
    (now / MS_PER_MINUTE) as i64 + settings.offset_minutes
}

/// The first beginning of business hours after a local minute of a day, in milliseconds since 1970 (UTC). None if there
/// is none within a year.
fn next_opening(settings: &Settings, day: i64, minute: i64) -> Option<u64> {
    let mut openings = (day..=day + SOUGHT_DAYS).filter_map(|sought| {
        let beginnings = settings.hours_of(sought).map(|hours| hours.from.minutes());
        let first = beginnings
            .filter(|from| sought > day || *from > minute)
            .min()?;
        Some(sought * MINUTES_PER_DAY + first)
    });
    let minutes = u64::try_from(openings.next()? - settings.offset_minutes).ok()?;
    minutes.checked_mul(MS_PER_MINUTE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::validate;
    use rialto_sdk::money::money;
    use rialto_sdk::rule::settings;
    use rialto_sdk::testing::Dice;
    use rialto_sdk::time::parse_date_time;

    /// From Monday to Friday with a lunch break, on Saturday until midnight. Kigali is two hours ahead of UTC.
    const KIGALI: &str = r#"{
        "offsetMinutes": 120,
        "open": [
            { "days": ["monday", "tuesday", "wednesday", "thursday", "friday"], "from": "08:00", "to": "12:00" },
            { "days": ["monday", "tuesday", "wednesday", "thursday", "friday"], "from": "13:00", "to": "18:00" },
            { "days": ["saturday"], "from": "09:00", "to": "24:00" }
        ],
        "closedDates": ["2026-12-25", "2026-12-26"],
        "appliesTo": ["RWF", "USD"],
        "above": [{ "currency": "USD", "amount": "100.50" }]
    }"#;

    fn at(text: &str) -> u64 {
        parse_date_time(text).unwrap()
    }

    /// The message of the refusal; empty if the amount is allowed.
    fn judged(settings: &Settings, now: u64, amount: &Money) -> String {
        match judge(settings, now, amount) {
            Verdict::Allow => String::new(),
            Verdict::Refuse(violations) => {
                assert_eq!(violations.len(), 1);
                assert_eq!(violations[0].code, CLOSED);
                assert!((1..=128).contains(&violations[0].message.chars().count()));
                violations[0].message.clone()
            }
        }
    }

    #[test]
    fn hours_begin_and_end_at_their_minutes() {
        let kigali = settings::<Settings>(KIGALI, validate).unwrap();
        for (now, until) in [
            // Monday, 5 January 2026.
            ("2026-01-05T07:59:59.999+02:00", "2026-01-05T06:00:00.000Z"),
            ("2026-01-05T08:00:00.000+02:00", ""),
            ("2026-01-05T11:59:59.999+02:00", ""),
            ("2026-01-05T12:00:00.000+02:00", "2026-01-05T11:00:00.000Z"),
            ("2026-01-05T13:00:00.000+02:00", ""),
            ("2026-01-05T17:59:59.999+02:00", ""),
            ("2026-01-05T18:00:00.000+02:00", "2026-01-06T06:00:00.000Z"),
            // Saturday until the end of the day, and Sunday.
            ("2026-01-10T08:59:59.999+02:00", "2026-01-10T07:00:00.000Z"),
            ("2026-01-10T23:59:59.999+02:00", ""),
            ("2026-01-11T00:00:00.000+02:00", "2026-01-12T06:00:00.000Z"),
            // Christmas is on Friday, and the day after it is closed too.
            ("2026-12-24T17:59:59.999+02:00", ""),
            ("2026-12-24T18:00:00.000+02:00", "2026-12-28T06:00:00.000Z"),
            ("2026-12-25T10:00:00.000+02:00", "2026-12-28T06:00:00.000Z"),
            ("2026-12-26T10:00:00.000+02:00", "2026-12-28T06:00:00.000Z"),
        ] {
            let message = judged(&kigali, at(now), &money("RWF", 0, 1));
            let expected = match until {
                "" => String::new(),
                until => format!("outside business hours until {until}"),
            };
            assert_eq!(message, expected, "{now}");
        }
    }

    #[test]
    fn only_amounts_in_question_are_refused() {
        let kigali = settings::<Settings>(KIGALI, validate).unwrap();
        let sunday = at("2026-01-11T12:00:00.000Z");
        for (amount, is_allowed) in [
            (money("USD", 2, 0), true),
            (money("USD", 2, 10_050), true),
            (money("USD", 2, 10_051), false),
            (money("USD", 1, 1005), true),
            (money("RWF", 0, 0), false),
            (money("EUR", 2, 10_051), true),
            (money("", 255, u128::MAX), true),
        ] {
            let message = judged(&kigali, sunday, &amount);
            assert_eq!(message.is_empty(), is_allowed, "{amount:?}");
        }
    }

    #[test]
    fn offset_moves_the_day_of_the_week() {
        for (offset, now, is_open) in [
            // Monday begins at Sunday 10:00 UTC on the Line Islands, and at Monday 12:00 UTC on Baker Island.
            (840, "2026-01-04T09:59:59.999Z", false),
            (840, "2026-01-04T10:00:00.000Z", true),
            (840, "2026-01-05T09:59:59.999Z", true),
            (840, "2026-01-05T10:00:00.000Z", false),
            (-720, "2026-01-05T11:59:59.999Z", false),
            (-720, "2026-01-05T12:00:00.000Z", true),
            (-720, "2026-01-06T11:59:59.999Z", true),
            (-720, "2026-01-06T12:00:00.000Z", false),
        ] {
            let text = format!(
                r#"{{ "offsetMinutes": {offset}, "open": [{{ "days": ["monday"], "from": "00:00", "to": "24:00" }}] }}"#
            );
            let monday = settings::<Settings>(&text, validate).unwrap();
            let message = judged(&monday, at(now), &money("USD", 2, 1));
            assert_eq!(message.is_empty(), is_open, "{offset} {now}");
        }
    }

    #[test]
    fn instants_at_both_ends_of_time_are_judged() {
        for offset in [-720, 0, 840] {
            let text = format!(
                r#"{{ "offsetMinutes": {offset}, "open": [{{ "days": ["monday"], "from": "00:00", "to": "00:01" }}] }}"#
            );
            let monday = settings::<Settings>(&text, validate).unwrap();
            for now in [0, u64::MAX] {
                assert!(!judged(&monday, now, &money("USD", 2, 1)).is_empty());
            }
        }
    }

    #[test]
    fn a_year_without_opening_names_no_instant() {
        let first = at("2026-01-01T00:00:00.000Z");
        let days = (0..=367).map(|day| {
            let text = format_date_time(first + day * 86_400_000);
            format!("\"{}\"", &text[..10])
        });
        let closed: Vec<String> = days.collect();
        let text = format!(
            r#"{{ "open": [{{ "days": ["friday"], "from": "00:00", "to": "24:00" }}], "closedDates": [{}] }}"#,
            closed.join(",")
        );
        let closed = settings::<Settings>(&text, validate).unwrap();
        let message = judged(&closed, first, &money("USD", 2, 1));
        assert_eq!(message, "outside business hours");
    }

    #[test]
    fn the_named_instant_is_the_first_open_one() {
        let kigali = settings::<Settings>(KIGALI, validate).unwrap();
        let amount = money("RWF", 0, 1);
        let mut dice = Dice::new(3);
        let mut closed = 0;
        for _ in 0..5_000 {
            let now = at("2026-01-01T00:00:00.000Z") + dice.below(366 * 86_400_000);
            let message = judged(&kigali, now, &amount);
            let Some(until) = message.strip_prefix("outside business hours until ") else {
                continue;
            };
            closed += 1;
            let until = at(until);
            assert!(until > now);
            assert_eq!(judged(&kigali, until, &amount), "");
            assert_eq!(judged(&kigali, until - 1, &amount), message);
            let between = now + dice.below(until - now);
            assert_eq!(judged(&kigali, between, &amount), message);
        }
        assert!(closed > 1_000);
    }
}
