//! Cron expressions: when a recurring reminder comes due, in UTC.
//!
//! An expression has five fields: minute, hour, day of the month, month, day of the week. A field is a list of values,
//! of ranges (`1-5`), or of all (`*`); a range and `*` may have a step (`*/15`). Months and days of the week may be named
//! (`JAN`, `MON`); 0 and 7 are Sunday. As in Vixie's cron, a day must match both of its fields if one of them begins with
//! `*`, and else one of them. So the shortest interval is a minute.

use rialto_sdk::time::civil_from_days;

/// A minute, in milliseconds.
const MINUTE: u64 = 60_000;
/// Minutes of a day.
const DAY_MINUTES: u64 = 24 * 60;
/// Days after which an expression that has not come due never does. Its longest gap is that of a day of the week at a
/// date, over the year 2100: twelve years.
const DAYS_MAX: u64 = 13 * 366;
/// The longest expression, in bytes.
pub const CRON_BYTES_MAX: usize = 256;

const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// A field's place, range and names.
struct Field {
    name: &'static str,
    first: u32,
    last: u32,
    /// Names of the values from `first` on.
    names: &'static [&'static str],
}

const FIELDS: [Field; 5] = [
    Field::of("minute", 0, 59, &[]),
    Field::of("hour", 0, 23, &[]),
    Field::of("day of the month", 1, 31, &[]),
    Field::of("month", 1, 12, &MONTHS),
    Field::of("day of the week", 0, 7, &DAYS),
];

impl Field {
    const fn of(name: &'static str, first: u32, last: u32, names: &'static [&'static str]) -> Self {
        Self {
            name,
            first,
            last,
            names,
        }
    }

    fn value(&self, text: &str) -> Result<u32, String> {
        let named = self
            .names
            .iter()
            .position(|name| name.eq_ignore_ascii_case(text));
        let number = match named {
            Some(at) => u32::try_from(at).ok().map(|at| self.first + at),
            None => Some(text)
                .filter(|text| text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|text| text.parse().ok()),
        };
        number
            .filter(|number| (self.first..=self.last).contains(number))
            .ok_or_else(|| {
                format!(
                    "{text:?} is no {}: write {} to {}",
                    self.name, self.first, self.last
                )
            })
    }

    /// The values of a field, one bit each.
    fn parse(&self, text: &str) -> Result<u64, String> {
        let mut bits = 0;
        for part in text.split(',') {
            let (range, step) = match part.split_once('/') {
                None => (part, None),
                Some((range, step)) => (range, Some(step)),
            };
            let (first, last) = match range.split_once('-') {
                _ if range == "*" => (self.first, self.last),
                Some((first, last)) => (self.value(first)?, self.value(last)?),
                None if step.is_some() => {
                    let name = self.name;
                    return Err(format!(
                        "the {name} {part:?} has a step without a range: write a range or `*` before `/`"
                    ));
                }
                None => {
                    let only = self.value(range)?;
                    (only, only)
                }
            };
            let step = match step.map(str::parse::<usize>) {
                None => 1,
                Some(Ok(step)) if (1..=59).contains(&step) => step,
                Some(_) => return Err(format!("the {} {part:?} has no good step", self.name)),
            };
            if first > last {
                return Err(format!("the {} {part:?} ends before it begins", self.name));
            }
            for value in (first..=last).step_by(step) {
                bits |= 1 << value;
            }
        }
        Ok(bits)
    }
}

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether a day must match both of its fields.
    needs_both: bool,
}

impl Cron {
    /// Parses an expression.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it. One that never comes due is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > CRON_BYTES_MAX {
            return Err(format!(
                "a cron expression has at most {CRON_BYTES_MAX} bytes"
            ));
        }
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        let Ok(fields): Result<[&str; 5], _> = fields.try_into() else {
            return Err(
                "a cron expression has five fields: minute, hour, day of the month, month, day of the week"
                    .to_owned(),
            );
        };
        let mut bits = [0; 5];
        for ((field, text), bits) in FIELDS.iter().zip(fields).zip(&mut bits) {
            *bits = field.parse(text)?;
        }
        let [minutes, hours, days, months, weekdays] = bits;
        let is_open = |text: &str| text.starts_with('*');
        let cron = Self {
            minutes,
            hours,
            days,
            months,
            // Seven is Sunday, like zero.
            weekdays: (weekdays | weekdays >> 7) & 0x7f,
            needs_both: is_open(fields[2]) || is_open(fields[4]),
        };
        match cron.next_after(0) {
            Some(_) => Ok(cron),
            None => Err(format!(
                "{text:?} never comes due: no such month has such a day"
            )),
        }
    }

    /// The first instant after this one at which the expression comes due. Both are UTC, in milliseconds since 1970.
    #[must_use]
    pub fn next_after(&self, instant: u64) -> Option<u64> {
        let minute = instant / MINUTE + 1;
        let today = minute / DAY_MINUTES;
        (today..today.saturating_add(DAYS_MAX)).find_map(|day| {
            let from = if day == today {
                minute % DAY_MINUTES
            } else {
                0
            };
            let at = self.has_day(day).then(|| self.minute_from(from))??;
            Some((day * DAY_MINUTES + at) * MINUTE)
        })
    }

    fn has_day(&self, day: u64) -> bool {
        let Ok(days) = i64::try_from(day) else {
            return false;
        };
        let (_, month, date) = civil_from_days(days);
        // 1970-01-01 was a Thursday.
        let weekday = (days + 4) % 7;
        let by_date = has(self.days, date);
        let by_weekday = has(self.weekdays, weekday);
        has(self.months, month)
            && if self.needs_both {
                by_date && by_weekday
            } else {
                by_date || by_weekday
            }
    }

    /// The first minute of a day, from this one on.
    fn minute_from(&self, from: u64) -> Option<u64> {
        (from / 60..24).find_map(|hour| {
            let first = if hour == from / 60 { from % 60 } else { 0 };
            let left = self.minutes >> first << first;
            let is_due = self.hours >> hour & 1 == 1 && left != 0;
            is_due.then(|| hour * 60 + u64::from(left.trailing_zeros()))
        })
    }
}

/// Whether a value is among those of a field.
const fn has(bits: u64, value: i64) -> bool {
    bits >> value & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::testing::Dice;
    use rialto_sdk::time::{format_date_time, parse_date_time};

    fn next(cron: &str, after: &str) -> String {
        let after = parse_date_time(&format!("{after}.000Z")).unwrap();
        let next = Cron::parse(cron).unwrap().next_after(after).unwrap();
        format_date_time(next).replace(".000Z", "")
    }

    #[test]
    fn expressions_come_due_when_they_say() {
        for (cron, after, due) in [
            ("* * * * *", "2026-01-01T00:00:00", "2026-01-01T00:01:00"),
            ("* * * * *", "2026-01-01T00:00:59", "2026-01-01T00:01:00"),
            ("*/15 * * * *", "2026-01-01T23:45:00", "2026-01-02T00:00:00"),
            ("30 6 * * *", "2026-01-01T06:29:59", "2026-01-01T06:30:00"),
            ("30 6 * * *", "2026-01-01T06:30:00", "2026-01-02T06:30:00"),
            ("0 0 31 * *", "2026-01-31T00:00:00", "2026-03-31T00:00:00"),
            ("0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
            ("0 0 29 FEB *", "2096-03-01T00:00:00", "2104-02-29T00:00:00"),
            (
                "0 9 * * mon-fri",
                "2026-11-27T09:00:00",
                "2026-11-30T09:00:00",
            ),
            ("0 9 * * 7", "2026-11-27T09:00:00", "2026-11-29T09:00:00"),
            ("0 9 * * 0", "2026-11-27T09:00:00", "2026-11-29T09:00:00"),
            (
                "5,10-12 3 * * *",
                "2026-01-01T03:05:00",
                "2026-01-01T03:10:00",
            ),
            // Either of two days, since none of the fields begins with an asterisk.
            ("0 0 13 * FRI", "2026-11-26T00:00:00", "2026-11-27T00:00:00"),
            ("0 0 13 * FRI", "2026-12-11T00:00:00", "2026-12-13T00:00:00"),
            // Both, since one does.
            (
                "0 0 */2 * FRI",
                "2026-11-26T00:00:00",
                "2026-11-27T00:00:00",
            ),
            (
                "0 0 */2 * FRI",
                "2026-11-27T00:00:00",
                "2026-12-11T00:00:00",
            ),
        ] {
            assert_eq!(next(cron, after), due, "{cron} after {after}");
        }
    }

    #[test]
    fn what_is_no_expression_is_refused_with_a_sentence() {
        for (cron, why) in [
            ("", "five fields"),
            ("* * * *", "five fields"),
            ("* * * * * *", "five fields"),
            ("@hourly", "five fields"),
            ("60 * * * *", "is no minute"),
            ("* 24 * * *", "is no hour"),
            ("* * 0 * *", "is no day of the month"),
            ("* * 32 * *", "is no day of the month"),
            ("* * * 13 *", "is no month"),
            ("* * * MON *", "is no month"),
            ("* * * * 8", "is no day of the week"),
            ("-1 * * * *", "is no minute"),
            ("+1 * * * *", "is no minute"),
            ("1,,2 * * * *", "is no minute"),
            ("5-1 * * * *", "ends before it begins"),
            ("5/2 * * * *", "a step without a range"),
            ("*/0 * * * *", "no good step"),
            ("*/60 * * * *", "no good step"),
            ("*/x * * * *", "no good step"),
            ("0 0 31 2 *", "never comes due"),
            ("0 0 31 4,6 *", "never comes due"),
        ] {
            let refused = Cron::parse(cron).unwrap_err();
            assert!(refused.contains(why), "{cron}: {refused}");
        }
        let long = format!("{} * * * *", vec!["1"; 200].join(","));
        assert!(Cron::parse(&long).unwrap_err().contains("at most"));
    }

    /// A field by its own, slower rules: a set of values.
    fn field(dice: &mut Dice, first: u32, last: u32) -> (String, Vec<u32>) {
        let span = u64::from(last - first + 1);
        let draw = |dice: &mut Dice| first + u32::try_from(dice.below(span)).unwrap();
        match dice.below(4) {
            0 => ("*".to_owned(), (first..=last).collect()),
            1 => {
                let step = 1 + dice.below(span.min(59)) as usize;
                (format!("*/{step}"), (first..=last).step_by(step).collect())
            }
            2 => {
                let (a, b) = (draw(dice), draw(dice));
                let (from, to) = (a.min(b), a.max(b));
                (format!("{from}-{to}"), (from..=to).collect())
            }
            _ => {
                let (a, b) = (draw(dice), draw(dice));
                (format!("{a},{b}"), vec![a, b])
            }
        }
    }

    #[test]
    fn the_next_instant_is_the_first_minute_that_matches() {
        let mut dice = Dice::new(11);
        for _ in 0..100 {
            let fields = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 6)];
            let drawn = fields.map(|(first, last)| field(&mut dice, first, last));
            let texts: Vec<&str> = drawn.iter().map(|(text, _)| text.as_str()).collect();
            let text = texts.join(" ");
            let Ok(cron) = Cron::parse(&text) else {
                continue;
            };
            let needs_both = texts[2].starts_with('*') || texts[4].starts_with('*');
            let matches = |minute: u64| {
                let (days, of_day) = (minute / DAY_MINUTES, minute % DAY_MINUTES);
                let (_, month, date) = civil_from_days(i64::try_from(days).unwrap());
                let is_in =
                    |at: usize, value: u64| drawn[at].1.contains(&u32::try_from(value).unwrap());
                let (date, month) = (date.unsigned_abs(), month.unsigned_abs());
                let (by_date, by_day) = (is_in(2, date), is_in(4, (days + 4) % 7));
                let is_day = if needs_both {
                    by_date && by_day
                } else {
                    by_date || by_day
                };
                is_in(0, of_day % 60) && is_in(1, of_day / 60) && is_in(3, month) && is_day
            };
            // Any instant between 1970 and 2120.
            let after = dice.below(150 * 366 * DAY_MINUTES * MINUTE);
            let next = cron.next_after(after).unwrap();
            assert!(next > after && next.is_multiple_of(MINUTE), "{text}");
            let next = next / MINUTE;
            assert!(matches(next), "{text} after {after}");
            // Two months of minutes before it are enough to notice one that was skipped.
            let first = (after / MINUTE + 1).max(next.saturating_sub(62 * DAY_MINUTES));
            assert!(!(first..next).any(matches), "{text} after {after}");
        }
    }
}
