//! What the rules of a step would say about a draft of a component's: without receipts, without a trace in the history, and
//! for everybody who may know it.
//!
//! | Rule | What happens |
//! | --- | --- |
//! | in force | it judges with its settings and limits, and what it says is told |
//! | confidential | it is neither asked nor told, so that nobody can probe it |
//! | suspended, or in quarantine | it is neither asked nor told: it decides about nothing now |
//! | it needs counters | it is neither asked nor told: a draft is not counted, and counts are of other clients' requests too |
//! | a candidate, in a shadow or as a canary | it is not asked: the rule in force is |
//!
//! Drafts are bounded by asker and minute, because each costs as much as a verdict.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use rialto_engine::Name;
use wasmtime::component::Val;

use crate::guest::Active;
use crate::release::Release;
use crate::rules::{Outcome, Violation, refuse};
use crate::stored::StoredVerdict;

const MINUTE_MS: u64 = 60_000;
/// The askers of a minute that are counted. Further ones wait for the next minute.
const ASKERS_MAX: usize = 10_000;

/// How many drafts each asker has had judged in this minute.
#[derive(Debug, Default)]
pub(crate) struct Drafts {
    minute: Mutex<(u64, BTreeMap<String, u32>)>,
}

impl Drafts {
    /// Count a draft at an instant, in milliseconds since 1970.
    ///
    /// # Errors
    /// After how many seconds the asker may ask again, if the minute's share is used up.
    pub(crate) fn count(&self, asker: &str, per_minute: u32, now: u64) -> Result<(), u32> {
        let number = now / MINUTE_MS;
        let mut minute = self.minute.lock();
        if minute.0 != number {
            *minute = (number, BTreeMap::new());
        }
        let left_ms = MINUTE_MS - now % MINUTE_MS;
        let again = u32::try_from(left_ms.div_ceil(1_000)).unwrap_or(1);
        let askers = &mut minute.1;
        if askers.len() >= ASKERS_MAX && !askers.contains_key(asker) {
            return Err(again);
        }
        let asked = askers.entry(asker.to_owned()).or_default();
        if *asked >= per_minute {
            return Err(again);
        }
        *asked += 1;
        Ok(())
    }
}

/// What a rule says about a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldVerdict {
    /// The rule, by its name in the scheme.
    pub rule: Name,
    /// Its own version.
    pub version: String,
    /// What it says of itself.
    pub summary: String,
    /// Its settings at the step, a JSON object.
    pub settings: String,
    /// Why it refuses; empty if it does not. None if there is no verdict now.
    pub violations: Option<Vec<Violation>>,
}

/// Ask the rules of a step about a draft. Returns a `verdict`, and remembers what each rule says.
///
/// # Errors
/// When the arguments are none of a step's.
pub(crate) fn ask(active: &mut Active, step: &Name, params: &[Val]) -> wasmtime::Result<Val> {
    let now = active.turn.now().0;
    let told = judge(&active.release, step, params, now);
    let last = told.last().and_then(|one| one.violations.as_ref());
    let verdict = match last {
        Some(violations) if !violations.is_empty() => refuse(violations),
        _ => Val::Variant("allow".into(), None),
    };
    if let Some(all) = &mut active.what_if {
        all.extend(told);
    }
    Ok(verdict)
}

/// What the rules in force say, until one refuses or has no verdict.
fn judge(release: &Release, step: &Name, params: &[Val], now: u64) -> Vec<ToldVerdict> {
    let rules = release.steps.get(step).map_or(&[][..], Vec::as_slice);
    let mut all = Vec::new();
    for bound in rules {
        let name = &bound.identity.name;
        let is_held = bound.quarantine.as_ref().is_some_and(|one| one.holds(now));
        let is_in_force = bound.effective.covers(now) && !release.suspends(name, now) && !is_held;
        let is_judging = is_in_force && bound.is_given_all(params);
        if bound.confidential || !is_judging {
            continue;
        }
        let params = &bound.takes(params);
        let mut verdict = release.members[bound.member].stored_verdict(bound, params);
        let failed = verdict.outcome.as_ref().ok();
        if let Some(earlier) = failed.and_then(|outcome| bound.last_good_after(outcome)) {
            if earlier.bound.confidential {
                continue;
            }
            if !earlier.bound.is_given_all(params) {
                continue;
            }
            let params = &earlier.bound.takes(params);
            verdict = earlier.member.stored_verdict(earlier.bound, params);
        }
        let told = told(&verdict);
        let is_end = told.violations.as_ref().is_none_or(|all| !all.is_empty());
        all.push(told);
        if is_end {
            break;
        }
    }
    all
}

fn told(verdict: &StoredVerdict<'_>) -> ToldVerdict {
    let said = verdict.member.description.as_ref();
    let of_outcome = |outcome: &Outcome| verdict.bound.refusal(outcome).unwrap_or_default();
    ToldVerdict {
        rule: verdict.bound.identity.name.clone(),
        version: said.map(|said| said.version.clone()).unwrap_or_default(),
        summary: said.map(|said| said.summary.clone()).unwrap_or_default(),
        settings: verdict.bound.identity.settings.to_string(),
        violations: verdict.outcome.as_ref().ok().map(of_outcome),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drafts_are_bounded_by_asker_and_minute() {
        let drafts = Drafts::default();
        let at = 5 * MINUTE_MS + 59_000;
        for _ in 0..3 {
            assert_eq!(drafts.count("a", 3, at), Ok(()));
        }
        assert_eq!(drafts.count("a", 3, at), Err(1));
        assert_eq!(drafts.count("a", 3, 5 * MINUTE_MS), Err(60));
        assert_eq!(drafts.count("b", 3, at), Ok(()));
        assert_eq!(drafts.count("a", 3, at + 1_000), Ok(()));
    }

    #[test]
    fn askers_beyond_the_bound_wait_for_the_next_minute() {
        let drafts = Drafts::default();
        for asker in 0..ASKERS_MAX {
            assert_eq!(drafts.count(&asker.to_string(), 1, 0), Ok(()));
        }
        assert_eq!(drafts.count("one more", 1, 0), Err(60));
        assert_eq!(drafts.count("one more", 1, MINUTE_MS), Ok(()));
    }
}
