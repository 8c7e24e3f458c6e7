//! The calendar of a release: when its rules begin and end, and what of that cannot be.

use std::collections::BTreeSet;

use rialto_manifest::scheme::{Binding, Scheme};
use rialto_manifest::values::{Instant, Pointer};
use serde_json::Value as Json;

use crate::words;

/// The beginnings and ends of rules after an instant (milliseconds since 1970), in their order, each in words.
#[must_use]
pub fn ahead(scheme: &Scheme, now: u64) -> Vec<String> {
    let mut all = Vec::new();
    for (step, bindings) in &scheme.steps {
        for binding in bindings {
            let begins = binding.effective_from.map(|at| (at, "begins"));
            let ends = binding.effective_until.map(|at| (at, "ends"));
            let later = begins.into_iter().chain(ends);
            let later = later.filter(|(at, _)| at.millis() > now);
            all.extend(
                later.map(|(at, what)| (at, format!("rule {} {what} at {step}", binding.rule))),
            );
            let settings = of_settings(step.as_str(), binding);
            all.extend(settings.into_iter().filter(|(at, _)| at.millis() > now));
        }
    }
    all.sort();
    let told = all.into_iter();
    told.map(|(at, what)| format!("{}: {what}", words::instant(at.millis())))
        .collect()
}

/// When single settings of a rule get other values, each in words.
fn of_settings(step: &str, binding: &Binding) -> Vec<(Instant, String)> {
    let intervals = binding.intervals();
    let mut all = Vec::new();
    for pair in intervals.windows(2) {
        let [before, after] = pair else { continue };
        let Some(at) = after.binding.effective_from else {
            continue;
        };
        let involved = before.changes.iter().chain(&after.changes);
        let pointers: BTreeSet<&Pointer> =
            involved.map(|nth| &binding.changes[*nth].setting).collect();
        let settings = [before, after].map(|one| Json::Object(one.binding.settings.clone()));
        for pointer in pointers {
            let [was, is] = [0, 1].map(|nth| settings[nth].pointer(pointer.as_str()));
            if was != is {
                let whose = format!("rule {} at {step}: {pointer}", binding.rule);
                let how = is.map_or_else(|| "is left out".to_owned(), |is| format!("becomes {is}"));
                all.push((at, format!("{whose} {how}")));
            }
        }
    }
    all
}

/// What cannot be about the dates of a scheme that becomes current now, in place of `before`.
#[must_use]
pub fn problems(before: Option<&Scheme>, after: &Scheme, now: u64) -> Vec<String> {
    let mut problems = Vec::new();
    for (step, bindings) in &after.steps {
        for (nth, binding) in bindings.iter().enumerate() {
            let whose = format!("steps.{step}: rule {}", binding.rule);
            // A first release may be one that served elsewhere.
            if let Some(before) = before {
                let known = before.steps.get(step).map_or(&[][..], Vec::as_slice);
                past(&mut problems, &whose, binding, known, now);
            }
            let twice = bindings[..nth].iter().any(|earlier| {
                let has_date =
                    |one: &Binding| one.effective_from.is_some() || one.effective_until.is_some();
                earlier.rule == binding.rule
                    && (has_date(earlier) || has_date(binding))
                    && earlier.overlaps(binding)
            });
            if twice {
                problems.push(format!(
                    "{whose} would be asked twice at a time: let the first end (`effective-until`) when the second begins (`effective-from`)"
                ));
            }
        }
        if let Some(at) = unguarded(bindings, now) {
            problems.push(format!(
                "steps.{step}: from {} on no rule would guard the step: let another rule begin then, or this one end later",
                words::instant(at)
            ));
        }
    }
    problems
}

/// Dates that have passed, unless they were there before.
fn past(problems: &mut Vec<String>, whose: &str, binding: &Binding, known: &[Binding], now: u64) {
    let of_rule = known.iter().filter(|one| one.rule == binding.rule);
    let known: BTreeSet<(&str, Instant)> = of_rule
        .flat_map(Binding::intervals)
        .flat_map(|one| dates(one.binding.effective_from, one.binding.effective_until))
        .collect();
    let own = dates(binding.effective_from, binding.effective_until);
    let own = own.map(|date| (String::new(), date));
    let changes = binding.changes.iter().flat_map(|change| {
        let whose = format!(": the change of {}", change.setting);
        let dates = dates(change.effective_from, change.effective_until);
        dates.map(move |date| (whose.clone(), date))
    });
    for (of, (name, at)) in own.chain(changes) {
        if at.millis() <= now && !known.contains(&(name, at)) {
            problems.push(format!(
                "{whose}{of} has {name} = \"{at}\", which has passed: name a later instant, or leave it out"
            ));
        }
    }
}

/// The dates that are there, by their keys.
fn dates(
    from: Option<Instant>,
    until: Option<Instant>,
) -> impl Iterator<Item = (&'static str, Instant)> {
    let from = from.map(|at| ("effective-from", at));
    let until = until.map(|at| ("effective-until", at));
    from.into_iter().chain(until)
}

/// The first instant from now on at which a step that has rules is guarded by none.
fn unguarded(bindings: &[Binding], now: u64) -> Option<u64> {
    if bindings.is_empty() {
        return None;
    }
    // Only at an end, and now, can there be none that was there before.
    let ends = bindings.iter().filter_map(|one| one.effective_until);
    let ends: BTreeSet<u64> = ends.map(Instant::millis).filter(|at| *at > now).collect();
    let mut instants = std::iter::once(now).chain(ends);
    instants.find(|at| !bindings.iter().any(|one| one.is_effective(*at)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn scheme(bindings: &str) -> Scheme {
        let text = format!(
            "name = \"x\"\nauthentication = {{ fsps = \"none\" }}\nerrors = [{{ code = \"2001\", description = \"x\" }}]\n\
             [rules]\na = {{ component = \"a.wasm\" }}\nb = {{ component = \"b.wasm\" }}\n[steps]\ncheck = [{bindings}]\n"
        );
        Scheme::parse(&text).unwrap_or_else(|problems| panic!("{}", problems.plain()))
    }

    fn at(text: &str) -> u64 {
        text.parse::<Instant>().unwrap().millis()
    }

    const BOTH: &str = r#"{ rule = "a", effective-until = "2030-01-01T00:00:00Z" }, { rule = "b", effective-from = "2030-01-01T00:00:00Z" }"#;

    #[test]
    fn a_rule_takes_over_from_another() {
        let scheme = scheme(BOTH);
        let now = at("2029-01-01T00:00:00Z");
        assert_eq!(problems(None, &scheme, now), Vec::<String>::new());
        assert_eq!(
            ahead(&scheme, now),
            [
                "2030-01-01 00:00:00.000Z: rule a ends at check",
                "2030-01-01 00:00:00.000Z: rule b begins at check"
            ]
        );
        // When it is over, nothing is ahead, and the same dates stay.
        let later = at("2031-01-01T00:00:00Z");
        assert!(ahead(&scheme, later).is_empty());
        assert_eq!(
            problems(Some(&scheme), &scheme, later),
            Vec::<String>::new()
        );
        // New, they have passed, unless there was no release before.
        assert_eq!(problems(None, &scheme, later), Vec::<String>::new());
        let new = problems(Some(&self::scheme("")), &scheme, later);
        assert!(
            new.iter().all(|one| one.contains("has passed")) && new.len() == 2,
            "{new:?}"
        );
    }

    const CHANGED: &str = r#"{ rule = "a", settings = { n = 1 }, changes = [{ setting = "/n", value = 2, effective-from = "2030-01-01T00:00:00Z", effective-until = "2031-01-01T00:00:00Z" }, { setting = "/more", value = ["x"], effective-from = "2031-01-01T00:00:00Z" }] }"#;

    #[test]
    fn changes_of_settings_are_in_the_calendar() {
        let scheme = scheme(CHANGED);
        let now = at("2029-01-01T00:00:00Z");
        // No instant of it is unguarded, and none asks the rule twice.
        assert_eq!(problems(Some(&scheme), &scheme, now), Vec::<String>::new());
        assert_eq!(
            ahead(&scheme, now),
            [
                "2030-01-01 00:00:00.000Z: rule a at check: /n becomes 2",
                "2031-01-01 00:00:00.000Z: rule a at check: /more becomes [\"x\"]",
                "2031-01-01 00:00:00.000Z: rule a at check: /n becomes 1"
            ]
        );
        assert_eq!(ahead(&scheme, at("2030-06-01T00:00:00Z")).len(), 2);
    }

    #[test]
    fn new_changes_have_later_dates() {
        let later = at("2030-06-01T00:00:00Z");
        let changed = scheme(CHANGED);
        assert_eq!(
            problems(Some(&changed), &changed, later),
            Vec::<String>::new()
        );
        let plain = scheme(r#"{ rule = "a", settings = { n = 1 } }"#);
        let [problem] = &problems(Some(&plain), &changed, later)[..] else {
            panic!("one problem");
        };
        assert!(
            problem.starts_with("steps.check: rule a: the change of /n has effective-from = \"2030-01-01T00:00:00Z\", which has passed"),
            "{problem}"
        );
        assert!(problems(None, &changed, later).is_empty());
    }

    #[test]
    fn no_step_is_left_unguarded() {
        let now = at("2029-01-01T00:00:00Z");
        for (bindings, from) in [
            (
                r#"{ rule = "a", effective-until = "2030-01-01T00:00:00Z" }"#,
                "2030-01-01 00:00:00.000Z",
            ),
            (
                r#"{ rule = "a", effective-from = "2030-01-01T00:00:00Z" }"#,
                "2029-01-01 00:00:00.000Z",
            ),
            (
                r#"{ rule = "a", effective-until = "2030-01-01T00:00:00Z" }, { rule = "b", effective-from = "2030-01-01T00:00:01Z" }"#,
                "2030-01-01 00:00:00.000Z",
            ),
        ] {
            let found = problems(None, &scheme(bindings), now);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].contains(&format!("from {from} on no rule")),
                "{found:?}"
            );
        }
        assert!(problems(None, &scheme(""), now).is_empty());
    }

    #[test]
    fn a_rule_is_not_asked_twice_at_a_time() {
        let now = at("2029-01-01T00:00:00Z");
        let twice = r#"{ rule = "a", settings = { n = 1 }, effective-until = "2030-01-02T00:00:00Z" }, { rule = "a", settings = { n = 2 }, effective-from = "2030-01-01T00:00:00Z" }"#;
        let found = problems(None, &scheme(twice), now);
        assert!(found[0].contains("twice at a time"), "{found:?}");
        // Without dates, two settings may be meant.
        let both = r#"{ rule = "a", settings = { n = 1 } }, { rule = "a", settings = { n = 2 } }"#;
        assert!(problems(None, &scheme(both), now).is_empty());
    }
}
