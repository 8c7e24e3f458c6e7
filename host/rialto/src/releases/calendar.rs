//! The calendar of a release: when its rules begin and end, and what of that cannot be.

use std::collections::BTreeSet;

use rialto_manifest::scheme::{Binding, Scheme};
use rialto_manifest::values::Instant;

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
        }
    }
    all.sort();
    let told = all.into_iter();
    told.map(|(at, what)| format!("{}: {what}", words::instant(at.millis())))
        .collect()
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
    let begins: fn(&Binding) -> Option<Instant> = |one| one.effective_from;
    let ends: fn(&Binding) -> Option<Instant> = |one| one.effective_until;
    for (name, of) in [("effective-from", begins), ("effective-until", ends)] {
        let Some(at) = of(binding).filter(|at| at.millis() <= now) else {
            continue;
        };
        let mut known = known.iter();
        if !known.any(|one| one.rule == binding.rule && of(one) == Some(at)) {
            problems.push(format!(
                "{whose} has {name} = \"{at}\", which has passed: name a later instant, or leave it out"
            ));
        }
    }
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
