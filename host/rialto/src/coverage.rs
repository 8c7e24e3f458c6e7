//! Coverage: which rules have decided, by which branches and codes, how often, when last, and which never.
//!
//! It counts receipts, live and archived. Rules of today's scheme are listed with their own descriptions, also those that
//! were never asked; earlier versions of them and rules that are gone are listed too, as far as they have judged.

mod page;

use std::collections::{BTreeMap, BTreeSet};

use rialto_components::rules::Outcome;
use rialto_components::{Digest, Release};
use rialto_engine::store::{Receipt, StoreError};
use rialto_store::ReceiptPages;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::personal_data::{OpenedReceipt, Reader};

pub use page::page;

/// The name of the report's form.
pub const FORM: &str = "rialto-coverage/1";
/// The most versions of rules at steps that are told apart.
const RULES_MAX: usize = 10_000;
/// The most labels of one version at one step; each verdict has at most 32.
const LABELS_MAX: usize = 1_000;
/// The member of a settings' schema with the labels of a rule's branches.
const BRANCHES: &str = "x-rialto-branches";

/// A report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Coverage {
    /// [`FORM`].
    pub form: String,
    /// The digest of the scheme whose rules are described.
    pub scheme: Digest,
    /// The first instant of the receipts; milliseconds since 1970.
    pub since: u64,
    /// The instant before which they are.
    pub until: u64,
    /// How many receipts were counted.
    pub receipts: u64,
    /// Receipts that cannot be read: of people whose keys are destroyed, or of another version.
    pub unread: u64,
    /// Archives that are missing or damaged, each with what is wrong.
    pub archives: Vec<String>,
    /// The rules by step; those of the scheme first.
    pub rules: Vec<RuleCoverage>,
}

/// A version of a rule at a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleCoverage {
    /// The step.
    pub step: String,
    /// The rule, by its name in the scheme.
    pub rule: String,
    /// Its own version.
    pub version: String,
    /// The digest of its bytes.
    pub digest: String,
    /// Whether the scheme binds it here now: as a rule, or as a canary.
    pub is_bound: bool,
    /// What it says of itself; empty for one that the scheme does not have.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Its verdicts.
    pub asked: Times,
    /// Those that allow.
    pub allowed: Times,
    /// Those that refuse, by their first code. Codes that it declares and has never given have 0.
    pub refused: BTreeMap<String, Times>,
    /// Its failures.
    pub failed: Times,
    /// Those with each branch that it marks. Branches that it declares and has never taken have 0.
    pub branches: BTreeMap<String, Times>,
}

/// How often, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// How often.
    pub count: u64,
    /// First; milliseconds since 1970. None for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
}

impl Times {
    fn add(&mut self, at: u64) {
        self.count += 1;
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.last = Some(self.last.map_or(at, |last| last.max(at)));
    }
}

/// What of a receipt is counted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    step: String,
    rule: String,
    rule_version: String,
    digest: String,
    verdict: Outcome,
    #[serde(default)]
    branches: Vec<String>,
    /// Of a candidate in a shadow, which decided nothing.
    #[serde(default)]
    shadow: Option<IgnoredAny>,
    /// Of a rule in quarantine, which was not asked.
    #[serde(default)]
    quarantined: bool,
    /// Of a draft, about which nothing was decided.
    #[serde(default)]
    what_if: bool,
}

/// A version of a rule at a step: the step, the rule's name, and the digest.
type Key = (String, String, String);

/// Count the receipts of a reader, and describe the rules of a release.
///
/// # Errors
/// When the receipts cannot be read.
pub fn count(
    scheme: &Release,
    receipts: &mut dyn ReceiptPages,
    people: Option<&Reader>,
    (since, until): (u64, u64),
) -> Result<Coverage, StoreError> {
    let mut all = bound(scheme);
    let (mut counted, mut unread) = (0, 0);
    receipts.visit_while(&mut |page| {
        for receipt in page {
            match add(&mut all, receipt, people) {
                Some(true) => counted += 1,
                Some(false) => {}
                None => unread += 1,
            }
        }
        true
    })?;
    let mut rules: Vec<RuleCoverage> = all.into_values().collect();
    rules.sort_by(|a, b| {
        let order = |one: &RuleCoverage| (!one.is_bound, one.step.clone(), one.rule.clone());
        order(a).cmp(&order(b))
    });
    Ok(Coverage {
        form: FORM.to_owned(),
        scheme: scheme.digest,
        since,
        until,
        receipts: counted,
        unread,
        archives: receipts.unread().to_vec(),
        rules,
    })
}

/// The rules that a release binds, with what they declare and have not done.
fn bound(release: &Release) -> BTreeMap<Key, RuleCoverage> {
    let mut all = BTreeMap::new();
    for (step, rules) in &release.steps {
        let canaries = rules.iter().filter_map(|bound| bound.canary.as_deref());
        let members: BTreeSet<usize> = rules
            .iter()
            .map(|bound| bound.member)
            .chain(canaries.map(|canary| canary.bound.member))
            .collect();
        for at in members {
            let member = &release.members[at];
            let Some(said) = &member.description else {
                continue;
            };
            let none = |names: &[String]| -> BTreeMap<String, Times> {
                let names = names.iter().cloned();
                names.map(|name| (name, Times::default())).collect()
            };
            let rule = RuleCoverage {
                step: step.to_string(),
                rule: member.identity.name.to_string(),
                version: said.version.clone(),
                digest: member.digest.to_string(),
                is_bound: true,
                summary: said.summary.clone(),
                refused: none(&said.codes),
                branches: none(&declared(&said.settings_schema)),
                ..RuleCoverage::default()
            };
            let key = (rule.step.clone(), rule.rule.clone(), rule.digest.clone());
            all.insert(key, rule);
        }
    }
    all
}

/// The branches that a settings' schema lists.
fn declared(schema: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let labels = schema.get(BRANCHES).and_then(Value::as_array);
    let labels = labels.into_iter().flatten().filter_map(Value::as_str);
    labels.map(str::to_owned).collect()
}

/// Add a receipt. None if it cannot be read, false if it is no decision of a rule.
fn add(
    all: &mut BTreeMap<Key, RuleCoverage>,
    receipt: Receipt,
    people: Option<&Reader>,
) -> Option<bool> {
    let at = receipt.at.0;
    let opened = match people {
        Some(people) => people.receipt(receipt),
        None => OpenedReceipt::plain(receipt),
    };
    let body = opened.is_readable.then_some(&opened.receipt.body)?;
    let counted: Counted = serde_json::from_str(body).ok()?;
    if counted.shadow.is_some() || counted.quarantined || counted.what_if {
        return Some(false);
    }
    let key = (counted.step, counted.rule, counted.digest);
    if !all.contains_key(&key) && all.len() >= RULES_MAX {
        return None;
    }
    let (step, rule, digest) = key.clone();
    let of = all.entry(key).or_insert_with(|| RuleCoverage {
        step,
        rule,
        digest,
        version: counted.rule_version,
        ..RuleCoverage::default()
    });
    of.asked.add(at);
    match &counted.verdict {
        Outcome::Allow => of.allowed.add(at),
        Outcome::Refuse { violations } => {
            let code = violations.first().map(|first| first.code.clone());
            of.refused
                .entry(code.unwrap_or_default())
                .or_default()
                .add(at);
        }
        Outcome::Failed { .. } => of.failed.add(at),
    }
    for label in counted.branches {
        if of.branches.contains_key(&label) || of.branches.len() < LABELS_MAX {
            of.branches.entry(label).or_default().add(at);
        }
    }
    Some(true)
}

impl Coverage {
    /// Its text, which has its digest.
    ///
    /// # Errors
    /// None that is known: all of it can be written as JSON.
    pub fn text(&self) -> serde_json::Result<String> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }
}

/// What is signed: that this is the report of this digest.
#[must_use]
pub fn statement(report: Digest) -> Vec<u8> {
    format!("{FORM}\n{report}\n").into_bytes()
}
