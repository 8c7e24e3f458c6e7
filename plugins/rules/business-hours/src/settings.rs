//! The operator's settings and their checks.

use std::hint::black_box;

use crate::amounts::{Amount, Currency};
use crate::calendar::{Date, TimeOfDay, Weekday};
use crate::judgement::SOUGHT_DAYS;
use rialto_sdk::rule::{Money, Problems};
use schemars::JsonSchema;
use serde::Deserialize;

/// The bounds of `offsetMinutes`: from twelve hours behind UTC to fourteen hours ahead of it.
const OFFSETS: std::ops::RangeInclusive<i64> = -720..=840;

/// The settings of the rule at a step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Settings {
    /// How many minutes the scheme's local time is ahead of UTC. It is negative for a local time behind UTC. It does not change during the year: the rule knows no daylight saving time.
    #[serde(default)]
    #[schemars(range(min = -720, max = 840))]
    pub offset_minutes: i64,
    /// The business hours, in local time. The scheme is open when at least one entry says so.
    #[schemars(length(min = 1))]
    pub open: Vec<Hours>,
    /// Local dates, such as public holidays, at which the scheme is closed all day.
    #[serde(default)]
    pub closed_dates: Vec<Date>,
    /// The currencies that business hours apply to. Without this member they apply to all.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub applies_to: Option<Vec<Currency>>,
    /// Business hours apply only to amounts above these. At most one entry for each currency. Without an entry they apply to all amounts of the currency.
    #[serde(default)]
    pub above: Vec<Threshold>,
}

/// Hours of some days of the week.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hours {
    /// The days of the week.
    #[schemars(length(min = 1))]
    pub days: Vec<Weekday>,
    /// The first minute at which the scheme is open.
    pub from: TimeOfDay,
    /// The first minute at which the scheme is closed again (the cut-off): later than `from`, at most `24:00`.
    pub to: TimeOfDay,
}

/// The largest amount of a currency that is allowed at any time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Threshold {
    /// The currency.
    pub currency: Currency,
    /// The amount.
    pub amount: Amount,
}

impl Settings {
    /// Whether business hours apply to an amount.
    #[must_use]
    pub fn apply_to(&self, amount: &Money) -> bool {
        let is_same = |currency: &Currency| currency.code() == amount.currency;
        let names_currency = |all: &Vec<Currency>| all.iter().any(is_same);
        let threshold = self.above.iter().find(|one| is_same(&one.currency));
        self.applies_to.as_ref().is_none_or(names_currency)
            && threshold.is_none_or(|threshold| threshold.amount.is_less_than(amount))
    }

    /// The hours of a local day, counted since 1 January 1970. A day of `closedDates` has none.
    pub fn hours_of(&self, day: i64) -> impl Iterator<Item = &Hours> {
        let is_closed = self.closed_dates.iter().any(|date| date.day() == day);
        let weekday = Weekday::of(day);
        let is_of_day = move |hours: &&Hours| !is_closed && hours.days.contains(&weekday);
        self.open.iter().filter(is_of_day)
    }
}

/// Notes what the types of the settings do not say.
pub fn validate(settings: &Settings, problems: &mut Problems) {
    if !OFFSETS.contains(&settings.offset_minutes) {
        let message = "must be from -720 to 840 minutes: use 120 for two hours ahead of UTC";
        problems.note("/offsetMinutes", message);
    }
    if settings.open.is_empty() {
        let message = "has no hours, so the scheme would never open: add an entry";
        problems.note("/open", message);
    }
    for (index, hours) in settings.open.iter().enumerate() {
        if hours.days.is_empty() {
            let message = "has no days: add one, such as \"monday\"";
            problems.note(&format!("/open/{index}/days"), message);
        }
        if hours.to <= hours.from {
            let message = "must be later than `from`: write hours past midnight as two entries";
            problems.note(&format!("/open/{index}/to"), message);
        }
    }
    if settings.applies_to.as_ref().is_some_and(Vec::is_empty) {
        let message = "has no currencies: add one, or leave the member out for all currencies";
        problems.note("/appliesTo", message);
    }
    for (index, threshold) in settings.above.iter().enumerate() {
        let currency = &threshold.currency;
        let pointer = format!("/above/{index}/currency");
        if settings.above[..index]
            .iter()
            .any(|one| one.currency == *currency)
        {
            let message = format!("{} has an amount already: remove one", currency.code());
            problems.note(&pointer, message);
        }
        let applied = settings.applies_to.as_ref();
        if applied.is_some_and(|applied| !applied.is_empty() && !applied.contains(currency)) {
            let message = format!("{} is not in `appliesTo`: add it there", currency.code());
            problems.note(&pointer, message);
        }
    }
    seek_as_a_verdict(settings);
}

/// Looks at all days that a verdict may look at: too many closed dates have to fail here, before a release goes live.
fn seek_as_a_verdict(settings: &Settings) {
    for day in 0..=SOUGHT_DAYS {
        black_box(settings.hours_of(day).count());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::rule::{schema, settings};

    fn problems(text: &str) -> Vec<(String, String)> {
        let judged = settings::<Settings>(text, validate);
        let problems = judged.err().unwrap_or_default().into_iter();
        problems.map(|one| (one.pointer, one.message)).collect()
    }

    #[test]
    fn the_example_of_the_readme_is_valid() {
        let readme = include_str!("../README.md");
        let (_, rest) = readme.split_once("```json\n").unwrap();
        let example = rest.split_once("```").unwrap().0;
        assert_eq!(problems(example), []);
    }

    #[test]
    fn every_problem_is_named_by_its_place() {
        let open = r#""open": [{ "days": ["monday"], "from": "08:00", "to": "24:00" }]"#;
        let hours = |days: &str, from: &str, to: &str| {
            format!(r#"{{ "open": [{{ "days": [{days}], "from": "{from}", "to": "{to}" }}] }}"#)
        };
        let with = |more: &str| format!("{{ {open}, {more} }}");
        for (text, place, words) in [
            ("{}".to_owned(), "", "open"),
            (r#"{ "open": [] }"#.to_owned(), "/open", "never open"),
            (hours("", "08:00", "18:00"), "/open/0/days", "no days"),
            (
                hours(r#""Monday""#, "08:00", "18:00"),
                "/open/0/days/0",
                "monday",
            ),
            (
                hours(r#""monday""#, "8:00", "18:00"),
                "/open/0/from",
                "four digits",
            ),
            (
                hours(r#""monday""#, "18:00", "08:00"),
                "/open/0/to",
                "two entries",
            ),
            (
                hours(r#""monday""#, "08:00", "08:00"),
                "/open/0/to",
                "later",
            ),
            (
                hours(r#""monday""#, "24:00", "24:00"),
                "/open/0/to",
                "later",
            ),
            (with(r#""offsetMinutes": -721"#), "/offsetMinutes", "-720"),
            (with(r#""offsetMinutes": 841"#), "/offsetMinutes", "840"),
            (with(r#""offsetMinutes": 1.5"#), "/offsetMinutes", "i64"),
            (
                with(r#""closedDates": ["2026-12-25", "2026-02-29"]"#),
                "/closedDates/1",
                "exists",
            ),
            (
                with(r#""appliesTo": []"#),
                "/appliesTo",
                "leave the member out",
            ),
            (
                with(r#""appliesTo": ["usd"]"#),
                "/appliesTo/0",
                "capital letters",
            ),
            (
                with(r#""above": [{ "currency": "USD", "amount": "-1" }]"#),
                "/above/0/amount",
                "without sign",
            ),
            (
                with(
                    r#""above": [{ "currency": "USD", "amount": "1" }, { "currency": "USD", "amount": "2" }]"#,
                ),
                "/above/1/currency",
                "already",
            ),
            (
                with(r#""appliesTo": ["RWF"], "above": [{ "currency": "USD", "amount": "1" }]"#),
                "/above/0/currency",
                "not in `appliesTo`",
            ),
            (with(r#""closed": []"#), "/closed", "unknown field"),
        ] {
            let found = problems(&text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!(found[0].0, place, "{text}: {found:?}");
            assert!(found[0].1.contains(words), "{text}: {found:?}");
        }
        for bound in ["-720", "840"] {
            assert_eq!(problems(&with(&format!(r#""offsetMinutes": {bound}"#))), []);
        }
    }

    #[test]
    fn the_schema_describes_every_member() {
        fn undescribed(schema: &serde_json::Value, found: &mut Vec<String>) {
            for (name, member) in schema["properties"].as_object().into_iter().flatten() {
                if member["description"].as_str().is_none_or(str::is_empty) {
                    found.push(name.clone());
                }
            }
        }
        let schema: serde_json::Value = serde_json::from_str(&schema::<Settings>()).unwrap();
        let mut found = Vec::new();
        undescribed(&schema, &mut found);
        for definition in schema["$defs"].as_object().unwrap().values() {
            undescribed(definition, &mut found);
        }
        assert_eq!(found, [""; 0]);
        assert_eq!(schema["required"], serde_json::json!(["open"]));
        let time = &schema["$defs"]["TimeOfDay"];
        assert_eq!(time["type"], "string");
        assert!(time["pattern"].as_str().unwrap().ends_with("24:00)$"));
    }
}
