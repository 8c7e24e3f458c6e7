//! Days of the week, times of day and dates: how settings write them, and how they are counted.

use rialto_sdk::time::{format_date_time, parse_date_time};
use schemars::JsonSchema;
use serde::Deserialize;

/// Minutes of a day.
pub const MINUTES_PER_DAY: i64 = 24 * 60;
/// Milliseconds of a day.
const MS_PER_DAY: u64 = 86_400_000;

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Weekday {
    /// The first day of the week.
    Monday,
    /// The day after Monday.
    Tuesday,
    /// The day after Tuesday.
    Wednesday,
    /// The day after Wednesday.
    Thursday,
    /// The day after Thursday.
    Friday,
    /// The day after Friday.
    Saturday,
    /// The last day of the week.
    Sunday,
}

/// The week of 1 January 1970, which was a Thursday.
const WEEK: [Weekday; 7] = [
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
];

impl Weekday {
    /// The day of the week of a number of days since 1 January 1970.
    #[must_use]
    pub const fn of(day: i64) -> Self {
        // From 0 to 6.
        WEEK[day.rem_euclid(7) as usize]
    }
}

/// A local time of day, such as `08:00`. `24:00` is the end of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"))]
pub struct TimeOfDay(i64);

impl TimeOfDay {
    /// Minutes since the beginning of the day, from 0 to 1440.
    #[must_use]
    pub const fn minutes(self) -> i64 {
        self.0
    }
}

impl TryFrom<String> for TimeOfDay {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = "must be a time of day with four digits, from \"00:00\" to \"24:00\"";
        let [h1, h2, b':', m1, m2] = text.as_bytes() else {
            return Err(wrong);
        };
        let digits = [*h1, *h2, *m1, *m2];
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(wrong);
        }
        let [h1, h2, m1, m2] = digits.map(|digit| i64::from(digit - b'0'));
        let (hours, minutes) = (h1 * 10 + h2, m1 * 10 + m2);
        let all = hours * 60 + minutes;
        if minutes < 60 && all <= MINUTES_PER_DAY {
            Ok(Self(all))
        } else {
            Err(wrong)
        }
    }
}

/// A date of the Gregorian calendar from 1970 on, such as `2026-12-25`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("format" = "date"))]
pub struct Date(i64);

impl Date {
    /// Days since 1 January 1970.
    #[must_use]
    pub const fn day(self) -> i64 {
        self.0
    }
}

impl TryFrom<String> for Date {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = "must be a date that exists, from 1970 to 9999, such as \"2026-12-25\"";
        let midnight = parse_date_time(&format!("{text}T00:00:00.000Z")).map_err(|_| wrong)?;
        // A date before 1970 becomes 1 January 1970, and then has another text.
        if !format_date_time(midnight).starts_with(&text) {
            return Err(wrong);
        }
        i64::try_from(midnight / MS_PER_DAY)
            .map(Self)
            .map_err(|_| wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Option<i64> {
        Date::try_from(text.to_owned()).ok().map(Date::day)
    }

    #[test]
    fn known_dates_have_their_number_and_weekday() {
        for (text, day, weekday) in [
            ("1970-01-01", 0, Weekday::Thursday),
            ("1999-12-31", 10_956, Weekday::Friday),
            ("2000-02-29", 11_016, Weekday::Tuesday),
            ("2000-03-01", 11_017, Weekday::Wednesday),
            ("2024-02-29", 19_782, Weekday::Thursday),
            ("2026-12-25", 20_812, Weekday::Friday),
            ("2038-01-19", 24_855, Weekday::Tuesday),
            ("2100-02-28", 47_540, Weekday::Sunday),
            ("2100-03-01", 47_541, Weekday::Monday),
            ("9999-12-31", 2_932_896, Weekday::Friday),
        ] {
            assert_eq!(date(text), Some(day), "{text}");
            assert_eq!(Weekday::of(day), weekday, "{text}");
        }
        assert_eq!(Weekday::of(-1), Weekday::Wednesday);
    }

    #[test]
    fn days_of_500_years_are_counted_one_by_one() {
        let (mut day, mut weekday) = (0, 3);
        let week = [
            Weekday::Monday,
            Weekday::Tuesday,
            Weekday::Wednesday,
            Weekday::Thursday,
            Weekday::Friday,
            Weekday::Saturday,
            Weekday::Sunday,
        ];
        for year in 1970..2470 {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let february = if is_leap { 29 } else { 28 };
            let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            for (month, length) in (1..).zip(lengths) {
                for of_month in 1..=length {
                    let text = format!("{year}-{month:02}-{of_month:02}");
                    assert_eq!(date(&text), Some(day), "{text}");
                    assert_eq!(Weekday::of(day), week[weekday], "{text}");
                    day += 1;
                    weekday = (weekday + 1) % 7;
                }
                let after = format!("{year}-{month:02}-{:02}", length + 1);
                assert_eq!(date(&after), None, "{after}");
            }
        }
    }

    #[test]
    fn other_texts_are_no_dates() {
        for text in [
            "",
            "2026-12-2",
            "2026-12-251",
            "26-12-25",
            "2026-12-00",
            "2026-13-01",
            "2026-00-01",
            "2023-02-29",
            "2100-02-29",
            "1969-12-31",
            "2026/12/25",
            "25.12.2026",
            " 2026-12-25",
            "2026-12-25T00:00:00.000Z",
            "２026-12-5",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn times_of_day_have_four_digits() {
        let minutes = |text: &str| TimeOfDay::try_from(text.to_owned()).map(TimeOfDay::minutes);
        for (text, expected) in [
            ("00:00", 0),
            ("08:05", 485),
            ("23:59", 1439),
            ("24:00", 1440),
        ] {
            assert_eq!(minutes(text), Ok(expected), "{text}");
        }
        for text in [
            "", "8:00", "08:60", "24:01", "25:00", "08.00", "0800", "08:00:00", "-8:00", "+8:00",
            "08:0x", "٠٨:00",
        ] {
            assert!(minutes(text).is_err(), "{text}");
        }
    }
}
