//! The figures of a backtest while it runs. Each thread counts for itself, and the sums are the same in whatever order
//! inputs come. Their size does not grow with the number of inputs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use rialto_components::Failing;
use rialto_components::rules::Outcome;
use serde::{Deserialize, Serialize};

use super::facets::{Facets, Money};

/// The most groups of differing outcomes. Further ones are counted in one, without names.
const GROUPS_MAX: usize = 50_000;
/// The most kinds of failures that are kept apart.
const FAILURES_MAX: usize = 1_000;
/// The examples of a group: the earliest.
const EXAMPLES: usize = 5;
/// The inputs with the most fuel.
const DEAREST: usize = 10;
/// How exact percentiles of fuel are, in digits.
const FUEL_DIGITS: u8 = 3;

/// What a step decided about an input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Decision {
    /// All its rules allowed, or a failure meant that.
    Allow,
    /// A rule refused.
    Refuse {
        /// The rule's name in the scheme.
        rule: String,
        /// The code that the request was refused with.
        code: String,
    },
    /// A rule failed, and that meant a refusal.
    Failed {
        /// The rule's name in the scheme.
        rule: String,
    },
}

impl Decision {
    /// Whether the sender is told the same by both: which rule refuses makes no difference.
    #[must_use]
    pub fn tells_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Allow, Self::Allow) | (Self::Failed { .. }, Self::Failed { .. }) => true,
            (Self::Refuse { code, .. }, Self::Refuse { code: other, .. }) => code == other,
            _ => false,
        }
    }

    /// That of a step whose rules have given these outcomes in this order.
    pub fn of<'a>(outcomes: impl Iterator<Item = (&'a str, &'a Outcome)>) -> Self {
        for (rule, outcome) in outcomes {
            let rule = rule.to_owned();
            match outcome {
                Outcome::Refuse { violations } => {
                    let code = violations.first().map(|first| first.code.clone());
                    let code = code.unwrap_or_default();
                    return Self::Refuse { rule, code };
                }
                Outcome::Failed {
                    means: Failing::Refuse,
                    ..
                } => return Self::Failed { rule },
                Outcome::Allow | Outcome::Failed { .. } => {}
            }
        }
        Self::Allow
    }
}

/// What the requests of a group have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupKey {
    /// The step.
    pub step: String,
    /// What was decided.
    pub before: Decision,
    /// What the candidate decides.
    pub after: Decision,
    /// Who pays; none if the input does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
    /// Who is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payee: Option<String>,
    /// The currency of the amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// How many digits the whole units of the amount have; 0 below one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u32>,
}

/// A receipt of a request, by which it is found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// The receipt's id.
    pub receipt: u64,
    /// What the request is about.
    pub subject: String,
}

/// How many requests, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// How many.
    pub requests: u64,
    /// The sum of their amounts by scale, in whole minor units.
    pub minor_units: BTreeMap<u8, u128>,
    /// The earliest of them.
    pub examples: BTreeSet<Example>,
}

impl Counted {
    fn add(&mut self, amount: Option<&Money>, example: &Example) {
        self.requests += 1;
        if let Some(amount) = amount {
            let sum = self.minor_units.entry(amount.scale).or_default();
            *sum = sum.saturating_add(amount.minor_units);
        }
        if self.examples.len() < EXAMPLES || self.examples.last() > Some(example) {
            self.examples.insert(example.clone());
        }
        self.cut();
    }

    /// Add others.
    pub fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        for (scale, more) in other.minor_units {
            let sum = self.minor_units.entry(scale).or_default();
            *sum = sum.saturating_add(more);
        }
        self.examples.extend(other.examples);
        self.cut();
    }

    fn cut(&mut self) {
        while self.examples.len() > EXAMPLES {
            self.examples.pop_last();
        }
    }
}

/// A failure of a rule of the candidate, or why it gave no verdict.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FailureKey {
    /// The step.
    pub step: String,
    /// The rule.
    pub rule: String,
    /// How it failed.
    pub reason: String,
    /// Whether the input has no verdict, because the clock stopped the rule or it could not be run.
    pub has_no_verdict: bool,
}

/// The fuel of a rule at a step.
#[derive(Clone, Default)]
pub struct Fuel {
    /// What receipts have.
    pub before: Used,
    /// What the candidate used.
    pub after: Used,
}

/// The fuel of many verdicts.
#[derive(Clone)]
pub struct Used {
    counts: Histogram<u64>,
    max: u64,
}

impl Default for Used {
    fn default() -> Self {
        let counts = Histogram::new(FUEL_DIGITS);
        Self {
            counts: counts.expect("three digits are within one to five"),
            max: 0,
        }
    }
}

impl Used {
    /// How many verdicts.
    #[must_use]
    pub fn verdicts(&self) -> u64 {
        self.counts.len()
    }

    /// The most that one of them used, exactly.
    #[must_use]
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// What this share of them used at most, to a thousandth.
    #[must_use]
    pub fn at(&self, share: f64) -> u64 {
        self.counts.value_at_quantile(share).min(self.max)
    }

    /// Counts one. The histogram grows as far as it has to.
    fn record(&mut self, fuel: u64) {
        let counted = self.counts.record(fuel);
        debug_assert!(counted.is_ok(), "{fuel} is not counted: {counted:?}");
        self.max = self.max.max(fuel);
    }

    fn merge(&mut self, other: &Self) {
        let added = self.counts.add(&other.counts);
        debug_assert!(added.is_ok(), "histograms are not added: {added:?}");
        self.max = self.max.max(other.max);
    }
}

/// An input by the fuel that a rule of the candidate used on it. The most comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dear {
    /// Fuel.
    pub fuel: Reverse<u64>,
    /// The input.
    pub example: Example,
    /// The step.
    pub step: String,
    /// The rule.
    pub rule: String,
}

/// The figures of a backtest.
#[derive(Clone)]
pub struct Figures {
    /// The most groups of differing outcomes.
    groups_max: usize,
    /// Requests that were judged again.
    pub requests: u64,
    /// Verdicts of the candidate's rules about them.
    pub verdicts: u64,
    /// Requests with another decision than before, in groups.
    pub groups: BTreeMap<GroupKey, Counted>,
    /// Those for which there are too many groups.
    pub ungrouped: Counted,
    /// Requests of which a rule failed or gave no verdict.
    pub failures: BTreeMap<FailureKey, Counted>,
    /// Requests whose input is not of the candidate's type, by the step and what does not fit.
    pub misfits: BTreeMap<(String, String), Counted>,
    /// Requests that were not counted as a rule of the candidate needs it, by the step and why.
    pub uncounted: BTreeMap<(String, String), Counted>,
    /// Receipts that cannot be read: they name people whose keys are destroyed or missing.
    pub sealed: u64,
    /// Requests about which a quarantine has decided.
    pub quarantined: u64,
    /// Receipts that are no receipts of this version.
    pub unreadable: u64,
    /// Fuel by step and rule.
    pub fuel: BTreeMap<(String, String), Fuel>,
    /// The inputs with the most fuel.
    pub dearest: BTreeSet<Dear>,
}

/// A request of a group.
pub struct Request<'a> {
    /// By which it is found.
    pub example: Example,
    /// The step.
    pub step: &'a str,
    /// What it is about.
    pub facets: Facets,
}

impl Default for Figures {
    fn default() -> Self {
        Self::with_groups(GROUPS_MAX)
    }
}

impl Figures {
    /// None yet, with so many groups at most.
    #[must_use]
    pub fn with_groups(groups_max: usize) -> Self {
        Self {
            groups_max,
            requests: 0,
            verdicts: 0,
            groups: BTreeMap::new(),
            ungrouped: Counted::default(),
            failures: BTreeMap::new(),
            misfits: BTreeMap::new(),
            uncounted: BTreeMap::new(),
            sealed: 0,
            quarantined: 0,
            unreadable: 0,
            fuel: BTreeMap::new(),
            dearest: BTreeSet::new(),
        }
    }

    /// Count a request's decisions.
    pub fn decided(&mut self, request: &Request<'_>, before: Decision, after: Decision) {
        self.requests += 1;
        if before.tells_the_same(&after) {
            return;
        }
        let amount = request.facets.amount.as_ref();
        let key = GroupKey {
            step: request.step.to_owned(),
            before,
            after,
            payer: request.facets.payer.clone(),
            payee: request.facets.payee.clone(),
            currency: amount.map(|amount| amount.currency.clone()),
            digits: amount.map(Money::band),
        };
        let counted = if self.groups.len() < self.groups_max || self.groups.contains_key(&key) {
            self.groups.entry(key).or_default()
        } else {
            &mut self.ungrouped
        };
        counted.add(amount, &request.example);
    }

    /// Count the fuel of a receipt.
    pub fn used_before(&mut self, step: &str, rule: &str, fuel: u64) {
        let of_rule = self.fuel.entry((step.to_owned(), rule.to_owned()));
        of_rule.or_default().before.record(fuel);
    }

    /// Count a verdict of the candidate, and its fuel.
    pub fn used(&mut self, request: &Request<'_>, rule: &str, fuel: u64) {
        self.verdicts += 1;
        let of_rule = (request.step.to_owned(), rule.to_owned());
        let of_rule = self.fuel.entry(of_rule).or_default();
        of_rule.after.record(fuel);
        let least = self.dearest.last().map(|least| least.fuel.0);
        if self.dearest.len() < DEAREST || least.is_some_and(|least| fuel >= least) {
            self.dearest.insert(Dear {
                fuel: Reverse(fuel),
                example: request.example.clone(),
                step: request.step.to_owned(),
                rule: rule.to_owned(),
            });
        }
        self.cut();
    }

    /// Count a failure of a rule.
    pub fn failed(&mut self, request: &Request<'_>, rule: &str, reason: &str, no_verdict: bool) {
        let key = FailureKey {
            step: request.step.to_owned(),
            rule: rule.to_owned(),
            reason: reason.to_owned(),
            has_no_verdict: no_verdict,
        };
        let key = Self::bounded(&self.failures, key, |key| key.reason = OTHERS.to_owned());
        let amount = request.facets.amount.as_ref();
        let counted = self.failures.entry(key).or_default();
        counted.add(amount, &request.example);
    }

    /// Count a request whose input the candidate cannot read.
    pub fn misfit(&mut self, request: &Request<'_>, why: &str) {
        let key = (request.step.to_owned(), why.to_owned());
        let key = Self::bounded(&self.misfits, key, |key| key.1 = OTHERS.to_owned());
        let amount = request.facets.amount.as_ref();
        let counted = self.misfits.entry(key).or_default();
        counted.add(amount, &request.example);
    }

    /// Count a request that does not have a counter that a rule of the candidate needs.
    pub fn uncounted(&mut self, request: &Request<'_>, why: &str) {
        let key = (request.step.to_owned(), why.to_owned());
        let key = Self::bounded(&self.uncounted, key, |key| key.1 = OTHERS.to_owned());
        let amount = request.facets.amount.as_ref();
        let counted = self.uncounted.entry(key).or_default();
        counted.add(amount, &request.example);
    }

    /// A key as it is if it is known or there is room for it.
    fn bounded<K: Ord>(
        known: &BTreeMap<K, Counted>,
        mut key: K,
        without_words: impl FnOnce(&mut K),
    ) -> K {
        if known.len() >= FAILURES_MAX && !known.contains_key(&key) {
            without_words(&mut key);
        }
        key
    }

    /// Add the figures of another thread. Beyond the bounds, the groups that come last in their order are counted in one.
    pub fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.verdicts += other.verdicts;
        self.sealed += other.sealed;
        self.quarantined += other.quarantined;
        self.unreadable += other.unreadable;
        self.ungrouped.merge(other.ungrouped);
        for (key, counted) in other.groups {
            self.groups.entry(key).or_default().merge(counted);
        }
        for (key, counted) in other.failures {
            self.failures.entry(key).or_default().merge(counted);
        }
        for (key, counted) in other.misfits {
            self.misfits.entry(key).or_default().merge(counted);
        }
        for (key, counted) in other.uncounted {
            self.uncounted.entry(key).or_default().merge(counted);
        }
        for (key, fuel) in other.fuel {
            let sum = self.fuel.entry(key).or_default();
            sum.before.merge(&fuel.before);
            sum.after.merge(&fuel.after);
        }
        self.dearest.extend(other.dearest);
        self.cut();
        while self.groups.len() > self.groups_max
            && let Some((_, counted)) = self.groups.pop_last()
        {
            self.ungrouped.merge(counted);
        }
    }

    fn cut(&mut self) {
        while self.dearest.len() > DEAREST {
            self.dearest.pop_last();
        }
    }
}

/// The reason of failures for which there are too many others.
const OTHERS: &str = "(other reasons)";

#[cfg(test)]
mod tests {
    use super::*;

    fn request(n: u64) -> Request<'static> {
        Request {
            example: Example {
                receipt: n,
                subject: format!("order:{n}"),
            },
            step: "a-check",
            facets: Facets {
                payer: Some("a".to_owned()),
                payee: Some("b".to_owned()),
                amount: Some(Money {
                    currency: "USD".to_owned(),
                    scale: 2,
                    minor_units: u128::from(n) * 100,
                }),
                transaction: None,
            },
        }
    }

    fn refuse() -> Decision {
        Decision::Refuse {
            rule: "r".to_owned(),
            code: "5200".to_owned(),
        }
    }

    fn figures(numbers: impl Iterator<Item = u64>) -> Figures {
        let mut figures = Figures::default();
        for n in numbers {
            let after = if n % 2 == 0 {
                refuse()
            } else {
                Decision::Allow
            };
            figures.decided(&request(n), Decision::Allow, after);
            figures.used_before("a-check", "r", n);
            figures.used(&request(n), "r", 2 * n);
            if n % 5 == 0 {
                figures.failed(&request(n), "r", "trap", false);
            }
        }
        figures
    }

    #[test]
    fn figures_do_not_depend_on_who_counts_what() {
        let whole = figures(1..1_000);
        let mut parts = figures((1..1_000).rev().filter(|n| n % 3 == 0));
        parts.merge(figures((1..1_000).filter(|n| n % 3 != 0)));
        assert_eq!(parts.groups, whole.groups);
        assert_eq!(parts.failures, whole.failures);
        assert_eq!(parts.dearest, whole.dearest);
        assert_eq!((parts.requests, parts.verdicts), (999, 999));
        let fuel = |figures: &Figures| {
            let fuel = figures.fuel.values().next().unwrap();
            [&fuel.before, &fuel.after].map(|of| (of.verdicts(), of.at(0.99), of.max()))
        };
        assert_eq!(fuel(&parts), fuel(&whole));
        assert_eq!(fuel(&whole), [(999, 990, 999), (999, 1_980, 1_998)]);
        let dear: Vec<u64> = whole.dearest.iter().map(|dear| dear.fuel.0).collect();
        assert_eq!(dear[..3], [1_998, 1_996, 1_994]);
        assert_eq!(dear.len(), DEAREST);
    }

    #[test]
    fn groups_have_sums_and_the_earliest_examples() {
        let whole = figures(1..1_000);
        let requests: u64 = whole.groups.values().map(|group| group.requests).sum();
        assert_eq!(requests, 499);
        let (key, first) = whole.groups.first_key_value().unwrap();
        assert_eq!((key.digits, first.requests), (Some(1), 4));
        assert_eq!(first.minor_units[&2], 2_000);
        let receipts: Vec<u64> = first.examples.iter().map(|one| one.receipt).collect();
        assert_eq!(receipts, [2, 4, 6, 8]);
    }

    #[test]
    fn who_refuses_makes_no_difference_to_the_sender() {
        let by = |rule: &str, code: &str| Decision::Refuse {
            rule: rule.to_owned(),
            code: code.to_owned(),
        };
        let failed = |rule: &str| Decision::Failed {
            rule: rule.to_owned(),
        };
        assert!(by("a", "4200").tells_the_same(&by("b", "4200")));
        assert!(!by("a", "4200").tells_the_same(&by("a", "4100")));
        assert!(failed("a").tells_the_same(&failed("b")));
        for other in [by("a", "2001"), failed("a")] {
            assert!(!Decision::Allow.tells_the_same(&other));
        }
        assert!(!failed("a").tells_the_same(&by("a", "2001")));
    }

    #[test]
    fn there_is_a_bound_for_groups() {
        let mut many = Figures::default();
        for n in 0..GROUPS_MAX as u64 + 10 {
            let mut one = request(n);
            one.facets.payer = Some(n.to_string());
            many.decided(&one, Decision::Allow, refuse());
        }
        assert_eq!(many.groups.len(), GROUPS_MAX);
        assert_eq!(many.ungrouped.requests, 10);
        assert_eq!(many.ungrouped.examples.len(), EXAMPLES);
        // Also when two threads' are added.
        let mut other = Figures::default();
        let mut one = request(7);
        one.facets.payer = Some("somebody".to_owned());
        other.decided(&one, Decision::Allow, refuse());
        other.merge(many);
        assert_eq!(
            (other.groups.len(), other.ungrouped.requests),
            (GROUPS_MAX, 11)
        );
    }
}
