//! The report of a backtest: JSON with a fixed order, so that equal figures give equal bytes and one digest.

use std::collections::BTreeMap;

use rialto_components::{Digest, Member, Release};
use serde::{Deserialize, Serialize};

use super::Selection;
use super::facets::Money;
use super::figures::{Counted, Decision, Example, Figures, GroupKey, Used};

/// The name of the form.
pub const FORM: &str = "rialto-backtest/1";

/// A report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// [`FORM`].
    pub form: String,
    /// The digest of the candidate's release; of a candidate in the shadow that of its component.
    pub candidate: Digest,
    /// The rules of the candidate, by the names of the scheme.
    pub rules: Vec<Rule>,
    /// The first instant of the receipts; milliseconds since 1970.
    pub since: u64,
    /// The instant before which they are.
    pub until: u64,
    /// The instant by whose effective rules they were judged again.
    pub as_of: u64,
    /// The one step, if one was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The one participant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// The one currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// How many requests have a decision of the candidate.
    pub requests: u64,
    /// How many verdicts its rules gave.
    pub verdicts: u64,
    /// How many requests would be decided otherwise.
    pub different: u64,
    /// These by what would change.
    pub by_change: Vec<Change>,
    /// These by who pays whom.
    pub by_corridor: Vec<Corridor>,
    /// These by participant: it pays, or is paid.
    pub by_participant: Vec<OfParticipant>,
    /// These by the size of their amounts.
    pub by_band: Vec<Band>,
    /// These by all of that.
    pub groups: Vec<Group>,
    /// Those for which there are too many groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ungrouped: Option<Sum>,
    /// Requests of which a rule of the candidate failed or gave no verdict.
    pub failures: Vec<Failures>,
    /// Requests whose input the candidate's rules cannot read.
    pub misfits: Vec<Misfits>,
    /// Requests that the candidate's rules cannot follow: they need counters that were not kept then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncounted: Vec<Misfits>,
    /// What could not be judged.
    pub unread: Unread,
    /// Fuel of each rule at each step.
    pub fuel: Vec<FuelOf>,
    /// The inputs on which the candidate used most fuel.
    pub dearest: Vec<DearInput>,
}

/// Who judged again.
pub struct Candidate {
    /// The digest of a release or of a component.
    pub digest: Digest,
    /// The rules.
    pub rules: Vec<Rule>,
}

impl Candidate {
    /// All rules of a release.
    #[must_use]
    pub fn release(release: &Release) -> Self {
        Self {
            digest: release.digest,
            rules: release.members.iter().filter_map(Rule::of).collect(),
        }
    }
}

/// A rule of the candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Its name in the scheme.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// The digest of its bytes.
    pub digest: Digest,
}

impl Rule {
    /// A component, if it is a rule.
    #[must_use]
    pub fn of(member: &Member) -> Option<Self> {
        let said = member.description.as_ref()?;
        Some(Self {
            name: member.identity.name.to_string(),
            version: said.version.clone(),
            digest: member.digest,
        })
    }
}

/// How many requests, how much, and which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sum {
    /// How many.
    pub requests: u64,
    /// The sum of their amounts, as decimal text; of one currency this is one, unless its scale has changed.
    pub amounts: Vec<String>,
    /// The earliest of them.
    pub examples: Vec<Example>,
}

impl From<Counted> for Sum {
    fn from(counted: Counted) -> Self {
        let amounts = counted.minor_units.into_iter().map(|(scale, minor_units)| {
            let money = Money {
                currency: String::new(),
                scale,
                minor_units,
            };
            money.decimal()
        });
        Self {
            requests: counted.requests,
            amounts: amounts.collect(),
            examples: counted.examples.into_iter().collect(),
        }
    }
}

/// Requests that are decided otherwise in the same way, of the same participants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// What they have in common.
    #[serde(flatten)]
    pub key: GroupKey,
    /// How many.
    #[serde(flatten)]
    pub sum: Sum,
}

/// Requests that are decided otherwise in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The step.
    pub step: String,
    /// What was decided.
    pub before: Decision,
    /// What the candidate decides.
    pub after: Decision,
    /// The currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// How many.
    #[serde(flatten)]
    pub sum: Sum,
}

/// Requests of the same payer and payee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Corridor {
    /// Who pays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
    /// Who is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payee: Option<String>,
    /// The currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// How many.
    #[serde(flatten)]
    pub sum: Sum,
}

/// Requests in which a participant pays or is paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfParticipant {
    /// The participant.
    pub participant: String,
    /// The currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// How many.
    #[serde(flatten)]
    pub sum: Sum,
}

/// Requests with amounts of one size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Band {
    /// How many digits the whole units have; 0 below one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digits: Option<u32>,
    /// The currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// How many.
    #[serde(flatten)]
    pub sum: Sum,
}

/// Requests of which a rule failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failures {
    /// The step.
    pub step: String,
    /// The rule.
    pub rule: String,
    /// How it failed.
    pub reason: String,
    /// Whether there is no verdict, because the clock stopped the rule or it could not be run.
    pub has_no_verdict: bool,
    /// How many.
    #[serde(flatten)]
    pub sum: Sum,
}

/// Requests whose input does not fit, or was not counted, in the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misfits {
    /// The step.
    pub step: String,
    /// What does not fit or is missing.
    pub reason: String,
    /// How many.
    #[serde(flatten)]
    pub sum: Sum,
}

/// What could not be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Receipts of people whose keys are destroyed or missing.
    pub sealed: u64,
    /// Requests about which the quarantine of a rule has decided, in the place of the rule.
    #[serde(default)]
    pub quarantined: u64,
    /// Receipts that this version cannot read.
    pub unreadable: u64,
    /// Archives that are missing or damaged, each with what is wrong.
    pub archives: Vec<String>,
}

/// Percentiles of fuel, to a thousandth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// How many verdicts.
    pub verdicts: u64,
    /// Half of them used at most this.
    pub p50: u64,
    /// 99 of 100 used at most this.
    pub p99: u64,
    /// The most, exactly.
    pub max: u64,
}

impl Percentiles {
    fn of(used: &Used) -> Self {
        Self {
            verdicts: used.verdicts(),
            p50: used.at(0.5),
            p99: used.at(0.99),
            max: used.max(),
        }
    }
}

/// The fuel of a rule at a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FuelOf {
    /// The step.
    pub step: String,
    /// The rule.
    pub rule: String,
    /// In the receipts.
    pub before: Percentiles,
    /// Of the candidate.
    pub after: Percentiles,
}

/// An input on which a rule used much fuel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DearInput {
    /// Fuel.
    pub fuel: u64,
    /// The step.
    pub step: String,
    /// The rule.
    pub rule: String,
    /// The input.
    #[serde(flatten)]
    pub input: Example,
}

impl Report {
    /// Whether only some of the requests were judged again.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.step.is_some() || self.participant.is_some() || self.currency.is_some()
    }

    /// The report of these figures. `unread` are archives that could not be read.
    #[must_use]
    pub fn of(
        candidate: Candidate,
        (since, until): (u64, u64),
        selection: &Selection,
        figures: Figures,
        unread: &[String],
    ) -> Self {
        let all = &figures.groups;
        let by_change = folded(all, |key| {
            let GroupKey {
                step,
                before,
                after,
                currency,
                ..
            } = key.clone();
            [Some((step, before, after, currency)), None]
        });
        let by_change = by_change.map(|((step, before, after, currency), sum)| Change {
            step,
            before,
            after,
            currency,
            sum,
        });
        let by_corridor = folded(all, |key| {
            let both = (key.payer.clone(), key.payee.clone());
            [Some((both, key.currency.clone())), None]
        });
        let by_corridor = by_corridor.map(|(((payer, payee), currency), sum)| Corridor {
            payer,
            payee,
            currency,
            sum,
        });
        let by_participant = folded(all, |key| {
            // One that pays itself counts once.
            let payee = key.payee.clone().filter(|_| key.payee != key.payer);
            [key.payer.clone(), payee].map(|name| Some((name?, key.currency.clone())))
        });
        let by_participant = by_participant.map(|((participant, currency), sum)| OfParticipant {
            participant,
            currency,
            sum,
        });
        let by_band = folded(all, |key| [Some((key.currency.clone(), key.digits)), None]);
        let by_band = by_band.map(|((currency, digits), sum)| Band {
            digits,
            currency,
            sum,
        });
        let counted = figures.groups.values().chain([&figures.ungrouped]);
        let different = counted.map(|group| group.requests).sum();
        let ungrouped = (figures.ungrouped.requests > 0).then(|| figures.ungrouped.into());
        let groups = figures.groups.into_iter().map(|(key, counted)| Group {
            key,
            sum: counted.into(),
        });
        let failures = figures.failures.into_iter().map(|(key, counted)| Failures {
            step: key.step,
            rule: key.rule,
            reason: key.reason,
            has_no_verdict: key.has_no_verdict,
            sum: counted.into(),
        });
        let misfits = |of: BTreeMap<(String, String), Counted>| {
            let misfits = of.into_iter().map(|((step, reason), counted)| Misfits {
                step,
                reason,
                sum: counted.into(),
            });
            misfits.collect()
        };
        let fuel = figures.fuel.into_iter().map(|((step, rule), fuel)| FuelOf {
            step,
            rule,
            before: Percentiles::of(&fuel.before),
            after: Percentiles::of(&fuel.after),
        });
        let dearest = figures.dearest.into_iter().map(|dear| DearInput {
            fuel: dear.fuel.0,
            step: dear.step,
            rule: dear.rule,
            input: dear.example,
        });
        Self {
            form: FORM.to_owned(),
            candidate: candidate.digest,
            rules: candidate.rules,
            since,
            until,
            as_of: selection.as_of,
            step: selection.step.clone(),
            participant: selection.participant.clone(),
            currency: selection.currency.clone(),
            requests: figures.requests,
            verdicts: figures.verdicts,
            different,
            by_change: by_change.collect(),
            by_corridor: by_corridor.collect(),
            by_participant: by_participant.collect(),
            by_band: by_band.collect(),
            groups: groups.collect(),
            ungrouped,
            failures: failures.collect(),
            misfits: misfits(figures.misfits),
            uncounted: misfits(figures.uncounted),
            unread: Unread {
                sealed: figures.sealed,
                quarantined: figures.quarantined,
                unreadable: figures.unreadable,
                archives: unread.to_vec(),
            },
            fuel: fuel.collect(),
            dearest: dearest.collect(),
        }
    }

    /// How many requests have no decision of the candidate, and receipts that could not be read.
    #[must_use]
    pub fn unjudged(&self) -> u64 {
        let failures = self.failures.iter().filter(|one| one.has_no_verdict);
        let requests = failures.map(|one| one.sum.requests);
        let misfits = self.misfits.iter().chain(&self.uncounted);
        let misfits = misfits.map(|one| one.sum.requests);
        requests.chain(misfits).sum::<u64>() + self.unread.sealed + self.unread.unreadable
    }

    /// The bytes of its file.
    ///
    /// # Errors
    /// Never, for a report of this form.
    pub fn bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Groups by a part of their keys.
fn folded<K: Ord>(
    groups: &BTreeMap<GroupKey, Counted>,
    parts: impl Fn(&GroupKey) -> [Option<K>; 2],
) -> std::vec::IntoIter<(K, Sum)> {
    let mut folded: BTreeMap<K, Counted> = BTreeMap::new();
    for (key, counted) in groups {
        for part in parts(key).into_iter().flatten() {
            folded.entry(part).or_default().merge(counted.clone());
        }
    }
    let sums = folded.into_iter().map(|(key, sum)| (key, sum.into()));
    sums.collect::<Vec<_>>().into_iter()
}
