//! Single settings of a rule at a step that change at an instant.
//!
//! A binding with changes means several bindings, one after the other, each with all its settings:
//! [`Binding::intervals`]. They join without a gap and without an overlap, so each instant of the binding has exactly
//! one of them. Whatever looks at the rules of a step by their dates looks at these.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::Binding;
use crate::values::{Instant, Pointer};

/// The most changes of one rule at one step.
pub const CHANGES_MAX: usize = 64;

/// A setting that has another value for a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SettingChange {
    /// The setting, by the keys on the way to it. It is one of the rule's settings at this step, or a new one beside them.
    pub setting: Pointer,
    /// Its value while the change is in force.
    pub value: Json,
    /// The instant from which on it has this value. Without it, from the rule's beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<Instant>,
    /// The instant from which on it has the value of `settings` again. Without it, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_until: Option<Instant>,
}

/// A part of the time of a binding, in which its settings stay the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The binding in this time: with all settings, with its beginning and end, and without changes.
    pub binding: Binding,
    /// The changes that are in force, by their index.
    pub changes: Vec<usize>,
}

impl SettingChange {
    /// Whether there is an instant at which both are in force.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let ends_before = |one: &Self, other: &Self| {
            let ends = one.effective_until.zip(other.effective_from);
            ends.is_some_and(|(until, from)| until <= from)
        };
        !ends_before(self, other) && !ends_before(other, self)
    }

    /// Whether both change the same value, or one changes a part of the other's.
    #[must_use]
    pub fn is_about(&self, other: &Self) -> bool {
        self.setting.is_around(other.setting.as_str())
            || other.setting.is_around(self.setting.as_str())
    }

    /// Whether it is in force at the beginning of an interval. None is the beginning of time.
    fn covers(&self, start: Option<Instant>) -> bool {
        let has_begun = self.effective_from.is_none_or(|from| Some(from) <= start);
        let is_over = self
            .effective_until
            .is_some_and(|until| Some(until) <= start);
        has_begun && !is_over
    }

    /// Give the setting its value. False if it leads nowhere: neither to a value nor to a new member of an object.
    pub(crate) fn make(&self, settings: &mut Json) -> bool {
        if let Some(place) = settings.pointer_mut(self.setting.as_str()) {
            *place = self.value.clone();
            return true;
        }
        let (around, key) = self.setting.split();
        match settings.pointer_mut(around) {
            Some(Json::Object(members)) => {
                members.insert(key, self.value.clone());
                true
            }
            _ => false,
        }
    }
}

impl Binding {
    /// The times in which the settings stay the same, in their order. One without changes has one.
    #[must_use]
    pub fn intervals(&self) -> Vec<Interval> {
        let mut intervals: Vec<Interval> = Vec::new();
        for start in self.starts() {
            let covers = |(_, change): &(usize, &SettingChange)| change.covers(start);
            let changes = self.changes.iter().enumerate().filter(covers);
            let changes: Vec<usize> = changes.map(|(at, _)| at).collect();
            let settings = self.settings_with(&changes);
            match intervals.last_mut() {
                // Nothing is another than before.
                Some(last) if last.binding.settings == settings => continue,
                Some(last) => last.binding.effective_until = start,
                None => {}
            }
            let binding = Self {
                settings,
                changes: Vec::new(),
                effective_from: start,
                ..self.clone()
            };
            intervals.push(Interval { binding, changes });
        }
        intervals
    }

    /// The beginning of the binding, and the instants after it at which a change begins or ends.
    fn starts(&self) -> impl Iterator<Item = Option<Instant>> {
        let changes = self.changes.iter();
        let dates = changes.flat_map(|change| [change.effective_from, change.effective_until]);
        let inside = dates.flatten().filter(|at| {
            self.effective_from.is_none_or(|from| from < *at)
                && self.effective_until.is_none_or(|until| *at < until)
        });
        let inside: BTreeSet<Instant> = inside.collect();
        std::iter::once(self.effective_from).chain(inside.into_iter().map(Some))
    }

    fn settings_with(&self, changes: &[usize]) -> Map<String, Json> {
        let mut settings = Json::Object(self.settings.clone());
        for at in changes {
            self.changes[*at].make(&mut settings);
        }
        match settings {
            Json::Object(settings) => settings,
            // No pointer names the whole document.
            _ => self.settings.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn binding(text: &str) -> Binding {
        let json: Json = serde_json::from_str(text).unwrap();
        serde_json::from_value(json).unwrap()
    }

    /// The intervals as `from..until: settings`.
    fn told(binding: &Binding) -> Vec<String> {
        let date =
            |at: Option<Instant>| at.map_or_else(String::new, |at| at.to_string()[..4].into());
        let told = binding.intervals().into_iter().map(|one| {
            let of = &one.binding;
            let (from, until) = (date(of.effective_from), date(of.effective_until));
            format!("{from}..{until}: {}", of.settings_json())
        });
        told.collect()
    }

    #[test]
    fn changes_divide_the_time_of_a_rule() {
        let one = binding(
            r#"{"rule":"a","settings":{"n":1,"list":[{"m":1}]},
                "effective-from":"2030-01-01T00:00:00Z","effective-until":"2040-01-01T00:00:00Z",
                "changes":[
                  {"setting":"/n","value":2,"effective-until":"2031-01-01T00:00:00Z"},
                  {"setting":"/list/0/m","value":3,"effective-from":"2035-01-01T00:00:00Z"},
                  {"setting":"/new","value":true,"effective-from":"2033-01-01T00:00:00Z","effective-until":"2035-01-01T00:00:00Z"},
                  {"setting":"/n","value":1,"effective-from":"2036-01-01T00:00:00Z"}]}"#,
        );
        assert_eq!(
            told(&one),
            [
                r#"2030..2031: {"n":2,"list":[{"m":1}]}"#,
                r#"2031..2033: {"n":1,"list":[{"m":1}]}"#,
                r#"2033..2035: {"n":1,"list":[{"m":1}],"new":true}"#,
                r#"2035..2040: {"n":1,"list":[{"m":3}]}"#,
            ]
        );
        let changes: Vec<_> = one.intervals().into_iter().map(|one| one.changes).collect();
        assert_eq!(changes, [vec![0], vec![], vec![2], vec![1]]);
    }

    #[test]
    fn binding_without_changes_is_its_own_interval() {
        let one = binding(r#"{"rule":"a","settings":{"n":1}}"#);
        let [interval] = &one.intervals()[..] else {
            panic!("one interval");
        };
        assert_eq!(interval.binding, one);
    }

    #[test]
    fn each_instant_of_a_binding_has_one_interval() {
        let one = binding(
            r#"{"rule":"a","settings":{"n":0},"changes":[
                {"setting":"/n","value":1,"effective-from":"2030-01-01T00:00:00Z","effective-until":"2030-01-01T00:00:10Z"},
                {"setting":"/n","value":2,"effective-from":"2030-01-01T00:00:10Z","effective-until":"2030-01-01T00:00:20Z"}]}"#,
        );
        let at: Instant = "2030-01-01T00:00:00Z".parse().unwrap();
        for (after, expected) in [(0, 1), (9_999, 1), (10_000, 2), (19_999, 2), (20_000, 0)] {
            let intervals = one.intervals().into_iter();
            let found: Vec<_> = intervals
                .filter(|one| one.binding.is_effective(at.millis() + after))
                .map(|one| one.binding.settings["n"].clone())
                .collect();
            assert_eq!(found, [Json::from(expected)], "{after}");
        }
        assert_eq!(one.intervals()[0].binding.settings["n"], 0);
    }
}
