//! What each rule said at each step in the last hour: how often, with which codes, and with how much fuel.
//!
//! Runs of turns are counted, and a run that a conflict interrupts is counted again. Receipts are exact; these figures are
//! for those who look at a running host.

use std::collections::{BTreeMap, HashMap, VecDeque};

use parking_lot::Mutex;
use rialto_engine::Name;

use crate::digest::Digest;
use crate::rules::Outcome;

/// The time of a slot, in milliseconds.
const SLOT_MS: u64 = 5 * 60 * 1_000;
/// The slots that make an hour.
const SLOTS: u64 = 12;
/// The most rules at steps whose figures are kept. Further ones are not counted one by one.
const SERIES_MAX: usize = 512;
/// The most codes of a rule in a slot that are told apart.
const CODES_MAX: usize = 32;
/// The buckets of fuel for each doubling: a percentile is exact to a twentieth.
const BUCKETS_PER_DOUBLING: f64 = 16.0;
/// The buckets of fuel: up to 2^40.
const BUCKETS: usize = 640;

/// A version of a rule at a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CountedRule {
    /// The step.
    pub step: Name,
    /// The rule, by its name in the scheme.
    pub rule: Name,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// What a rule said since an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictFigures {
    /// The first instant of these figures; milliseconds since 1970.
    pub since: u64,
    /// Verdicts that allow.
    pub allowed: u64,
    /// Verdicts that refuse, by their first code.
    pub refused: BTreeMap<String, u64>,
    /// Failures.
    pub failed: u64,
    /// Half of the verdicts used at most this much fuel; 0 without any.
    pub fuel_p50: u64,
    /// 99 of 100 did.
    pub fuel_p99: u64,
}

/// The figures of all rules of a runtime, whatever the release.
#[derive(Debug, Default)]
pub struct VerdictCounts {
    series: Mutex<HashMap<CountedRule, VecDeque<Slot>>>,
}

/// Some minutes.
#[derive(Debug)]
struct Slot {
    number: u64,
    allowed: u64,
    refused: BTreeMap<String, u64>,
    failed: u64,
    /// How many verdicts used so much fuel.
    fuel: Vec<u32>,
}

impl VerdictCounts {
    /// Count a verdict at an instant, in milliseconds since 1970.
    pub fn count(&self, rule: &CountedRule, outcome: &Outcome, fuel: u64, at: u64) {
        let number = at / SLOT_MS;
        let mut series = self.series.lock();
        if !series.contains_key(rule) {
            if series.len() >= SERIES_MAX {
                // What nobody was asked lately makes room.
                series.retain(|_, slots| is_of_the_hour(slots, number));
            }
            if series.len() >= SERIES_MAX {
                return;
            }
            series.insert(rule.clone(), VecDeque::new());
        }
        if let Some(slots) = series.get_mut(rule) {
            // A turn may have begun before another one that is counted already.
            let is_new = slots.back().is_none_or(|last| last.number < number);
            if is_new {
                slots.push_back(Slot::new(number));
                while slots.len() as u64 > SLOTS + 1 {
                    slots.pop_front();
                }
            }
            if let Some(slot) = slots.back_mut() {
                slot.count(outcome, fuel);
            }
        }
    }

    /// The figures of the last hour, at an instant. A rule that said nothing has none.
    #[must_use]
    pub fn last_hour(&self, now: u64) -> BTreeMap<CountedRule, VerdictFigures> {
        let first = (now / SLOT_MS).saturating_sub(SLOTS - 1);
        let series = self.series.lock();
        let figures = series.iter().filter_map(|(rule, slots)| {
            let slots = slots.iter().filter(|slot| slot.number >= first);
            Some((rule.clone(), figures(slots, first * SLOT_MS)?))
        });
        figures.collect()
    }

    /// The first instant of the last hour, at an instant.
    #[must_use]
    pub const fn hour_begins(now: u64) -> u64 {
        (now / SLOT_MS).saturating_sub(SLOTS - 1) * SLOT_MS
    }
}

fn is_of_the_hour(slots: &VecDeque<Slot>, number: u64) -> bool {
    let last = slots.back();
    last.is_some_and(|last| last.number + SLOTS > number)
}

fn figures<'s>(slots: impl Iterator<Item = &'s Slot>, since: u64) -> Option<VerdictFigures> {
    let mut sum = VerdictFigures {
        since,
        ..VerdictFigures::default()
    };
    let mut fuel = vec![0_u64; BUCKETS];
    let mut has_any = false;
    for slot in slots {
        has_any = true;
        sum.allowed += slot.allowed;
        sum.failed += slot.failed;
        for (code, count) in &slot.refused {
            *sum.refused.entry(code.clone()).or_default() += count;
        }
        for (total, count) in fuel.iter_mut().zip(&slot.fuel) {
            *total += u64::from(*count);
        }
    }
    sum.fuel_p50 = percentile(&fuel, 50);
    sum.fuel_p99 = percentile(&fuel, 99);
    has_any.then_some(sum)
}

impl Slot {
    fn new(number: u64) -> Self {
        Self {
            number,
            allowed: 0,
            refused: BTreeMap::new(),
            failed: 0,
            fuel: vec![0; BUCKETS],
        }
    }

    fn count(&mut self, outcome: &Outcome, fuel: u64) {
        match outcome {
            Outcome::Allow => self.allowed += 1,
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::Refuse { violations } => {
                let code = violations.first().map_or("", |first| &first.code);
                let is_told_apart =
                    self.refused.contains_key(code) || self.refused.len() < CODES_MAX;
                // All further ones together.
                let code = if is_told_apart { code } else { "…" };
                *self.refused.entry(code.to_owned()).or_default() += 1;
            }
        }
        if let Some(count) = self.fuel.get_mut(bucket(fuel)) {
            *count = count.saturating_add(1);
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a bucket is a small number, and fuel is told roughly"
)]
fn bucket(fuel: u64) -> usize {
    let doublings = (fuel.max(1) as f64).log2();
    ((doublings * BUCKETS_PER_DOUBLING) as usize).min(BUCKETS - 1)
}

/// The upper end of the bucket in which a percentile is.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the end of a bucket is less than 2^41"
)]
fn percentile(buckets: &[u64], percent: u64) -> u64 {
    let all: u64 = buckets.iter().sum();
    let rank = (all * percent).div_ceil(100).max(1);
    let mut below = 0;
    for (at, count) in buckets.iter().enumerate() {
        below += count;
        if *count > 0 && below >= rank {
            return ((at + 1) as f64 / BUCKETS_PER_DOUBLING).exp2() as u64;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Violation;

    const START: u64 = 1_000 * SLOT_MS;

    fn rule(name: &str) -> CountedRule {
        CountedRule {
            step: "a-check".into(),
            rule: name.into(),
            digest: Digest::of(name),
        }
    }

    fn refusal(code: &str) -> Outcome {
        let violation = Violation {
            code: code.to_owned(),
            message: String::new(),
        };
        Outcome::Refuse {
            violations: vec![violation],
        }
    }

    #[test]
    fn verdicts_are_counted_by_code_and_fuel() {
        let counts = VerdictCounts::default();
        for fuel in 1..=100 {
            counts.count(&rule("limits"), &Outcome::Allow, fuel * 1_000, START);
        }
        counts.count(&rule("limits"), &refusal("4200"), 50_000, START);
        counts.count(&rule("fees"), &refusal("4100"), 1, START);
        let hour = counts.last_hour(START + 1);
        let limits = &hour[&rule("limits")];
        assert_eq!((limits.allowed, limits.failed), (100, 0));
        assert_eq!(limits.refused, BTreeMap::from([("4200".to_owned(), 1)]));
        for (found, wanted) in [(limits.fuel_p50, 50_000), (limits.fuel_p99, 99_000)] {
            assert!(
                found.abs_diff(wanted) * 20 <= wanted,
                "{found} is not {wanted}"
            );
        }
        assert_eq!(hour.len(), 2);
    }

    #[test]
    fn figures_are_of_the_last_hour() {
        let counts = VerdictCounts::default();
        for slot in 0..20 {
            counts.count(&rule("limits"), &Outcome::Allow, 7, START + slot * SLOT_MS);
        }
        let now = START + 19 * SLOT_MS;
        assert_eq!(counts.last_hour(now)[&rule("limits")].allowed, 12);
        assert_eq!(
            counts.last_hour(now)[&rule("limits")].since,
            VerdictCounts::hour_begins(now)
        );
        assert_eq!(counts.last_hour(now + 20 * SLOT_MS), BTreeMap::new());
    }

    #[test]
    fn rules_and_codes_without_end_take_bounded_room() {
        let counts = VerdictCounts::default();
        for at in 0..2 * SERIES_MAX {
            counts.count(&rule(&format!("rule-{at}")), &Outcome::Allow, 1, START);
        }
        assert_eq!(counts.last_hour(START).len(), SERIES_MAX);
        // An hour later, others have their room.
        let later = START + 13 * SLOT_MS;
        for code in 0..100 {
            counts.count(&rule("other"), &refusal(&code.to_string()), u64::MAX, later);
        }
        let refused = &counts.last_hour(later)[&rule("other")].refused;
        assert_eq!(refused.len(), CODES_MAX + 1);
        assert_eq!(refused.values().sum::<u64>(), 100);
    }
}
