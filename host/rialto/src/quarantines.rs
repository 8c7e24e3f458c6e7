//! Rules in quarantine, for operators: what is shown of them, their metrics, their entries in the audit log, and what people
//! are told.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use rialto_components::Runtime;
use rialto_components::quarantine::{
    QuarantineChange, QuarantineKey, QuarantineStage, Quarantined, Quarantines,
};
use rialto_components::release::BoundRule;
use rialto_store_sqlite::Outcome;
use serde::{Deserialize, Serialize};

use crate::audit::{Audit, AuditedAction};
use crate::one_metric::{counter, gauge};
use crate::rule_states::{Measure, RuleState, RuleStates};

/// The audit log's name for what a person has ended.
pub const LIFTED: &str = "quarantine-lift";
/// How much of a digest tells rules of one name apart.
const DIGEST_DIGITS: usize = 12;

/// A rule in quarantine, as the operators' API shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownQuarantine {
    /// The step.
    pub step: String,
    /// The rule, by its name in the scheme.
    pub rule: String,
    /// The digest of its bytes.
    pub digest: String,
    /// Its last kind of failure: what this kind means decides.
    pub failure: String,
    /// Its last failure.
    pub reason: String,
    /// The failures in a row.
    pub failures: u64,
    /// When the quarantine began; milliseconds since 1970.
    pub since: u64,
    /// When the next request asks the rule.
    pub until: u64,
    /// How many requests the quarantine has decided about.
    pub decided: u64,
}

impl ShownQuarantine {
    fn of((key, quarantine): (QuarantineKey, Quarantined)) -> Self {
        Self {
            step: key.step.to_string(),
            rule: key.rule.to_string(),
            digest: key.digest.to_string(),
            failure: quarantine.kind.name().to_owned(),
            reason: quarantine.reason,
            failures: quarantine.failures,
            since: quarantine.since,
            until: quarantine.until,
            decided: quarantine.decided,
        }
    }
}

/// The rules of the current release that are in quarantine, by step.
#[must_use]
pub fn list(runtime: &Runtime) -> Vec<ShownQuarantine> {
    let current = runtime.current();
    let all = current.iter().flat_map(|release| release.quarantines());
    all.map(ShownQuarantine::of).collect()
}

/// Write into the audit log which quarantines have begun and ended since the last call, and have operators told.
pub fn write_down(quarantines: &Quarantines, audit: &Audit, states: &RuleStates, now: u64) {
    let (changes, left_out) = quarantines.take_changes();
    if left_out > 0 {
        tracing::error!(
            left_out,
            "beginnings and ends of quarantines have no entries in the audit log: there were too many at once"
        );
    }
    if changes.is_empty() {
        return;
    }
    for change in &changes {
        states.tell(told(change, now));
    }
    // What a person has ended has an entry in that person's name.
    let own = changes
        .iter()
        .filter(|change| !matches!(change.stage, QuarantineStage::Lifted(_)));
    let told = own.map(|change| {
        let QuarantineKey { step, rule, .. } = &change.key;
        (format!("rule {rule} at {step}"), said(change))
    });
    let told: Vec<(String, (&str, String))> = told.collect();
    let entries = told.iter().map(|(about, (action, said))| {
        let audited = AuditedAction::new(action, about);
        (audited, Outcome::Done(said.clone()))
    });
    let entries: Vec<_> = entries.collect();
    if !entries.is_empty() {
        audit.of_host(entries);
    }
}

/// Why no quarantine was ended.
#[derive(Debug, thiserror::Error)]
pub enum NotEnded {
    /// The current release asks no rule of this name there.
    #[error("the current release has no rule `{rule}`{}: `rialto rule quarantines`", at(.step.as_deref()))]
    NoRule {
        /// The name.
        rule: String,
        /// The step, if it was named.
        step: Option<String>,
    },
    /// It is not in quarantine.
    #[error("the rule {rule} is not in quarantine{}: `rialto rule quarantines` shows those that are", at(.step.as_deref()))]
    NotHeld {
        /// The name.
        rule: String,
        /// The step, if it was named.
        step: Option<String>,
    },
}

fn at(step: Option<&str>) -> String {
    step.map_or_else(String::new, |step| format!(" at `{step}`"))
}

/// End the quarantine of a rule, at one step or at all. The next request asks the rule, and failures are counted from 0.
///
/// # Errors
/// When there is none.
pub fn end(
    runtime: &Runtime,
    rule: &str,
    step: Option<&str>,
    now: u64,
) -> Result<Vec<ShownQuarantine>, NotEnded> {
    let is_named = |(of, bound): (&str, &BoundRule)| {
        *bound.identity.name == *rule && step.is_none_or(|step| step == of)
    };
    let current = runtime.current();
    let steps = current.iter().flat_map(|release| release.steps.iter());
    let mut bound = steps.flat_map(|(of, rules)| rules.iter().map(move |one| (&**of, one)));
    let is_known = bound.any(is_named);
    let ended = runtime.quarantines().end(
        |key| *key.rule == *rule && step.is_none_or(|step| *step == *key.step),
        now,
    );
    let (rule, step) = (rule.to_owned(), step.map(str::to_owned));
    match (ended.is_empty(), is_known) {
        (false, _) => Ok(ended.into_iter().map(ShownQuarantine::of).collect()),
        (true, true) => Err(NotEnded::NotHeld { rule, step }),
        (true, false) => Err(NotEnded::NoRule { rule, step }),
    }
}

/// A change's name in the audit log, and what it says.
fn said(change: &QuarantineChange) -> (&'static str, String) {
    let Quarantined {
        failures,
        kind,
        reason,
        pause_ms,
        decided,
        ..
    } = &change.quarantine;
    match change.stage {
        QuarantineStage::Begun => (
            "quarantine-begin",
            format!(
                "it failed {failures} times in a row, at last so ({}): {reason}; it is not asked for {pause_ms} ms",
                kind.name()
            ),
        ),
        QuarantineStage::Ended(_) => (
            "quarantine-end",
            format!("it gave a verdict again; {decided} requests were decided without it"),
        ),
        QuarantineStage::Lifted(_) => (
            LIFTED,
            format!("somebody has ended it; {decided} requests were decided without it"),
        ),
        QuarantineStage::Gone => (
            "quarantine-end",
            format!(
                "no release in memory binds it so any more; {decided} requests were decided without it"
            ),
        ),
    }
}

/// What operators are told of a change.
fn told(change: &QuarantineChange, now: u64) -> RuleState {
    let QuarantineKey {
        step, rule, digest, ..
    } = &change.key;
    let Quarantined {
        since, failures, ..
    } = &change.quarantine;
    let (_, reason) = said(change);
    let (state, at, measure) = match change.stage {
        QuarantineStage::Begun => {
            let measure = Measure {
                name: "failures",
                value: *failures,
                limit: *failures,
            };
            ("BEGUN", *since, Some(measure))
        }
        QuarantineStage::Ended(at) | QuarantineStage::Lifted(at) => ("ENDED", at, None),
        QuarantineStage::Gone => ("ENDED", now, None),
    };
    let digest: String = digest.hex().chars().take(DIGEST_DIGITS).collect();
    RuleState {
        id: format!("quarantine/{rule}/{step}/{digest}/{since}/{state}"),
        kind: "quarantine",
        state,
        rule: rule.to_string(),
        in_place_of: None,
        steps: vec![step.to_string()],
        measure,
        reason,
        at,
    }
}

/// Reports quarantines when metrics are read.
#[derive(Clone)]
pub struct QuarantineCollector(pub Arc<Runtime>);

impl std::fmt::Debug for QuarantineCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("QuarantineCollector")
    }
}

impl Collector for QuarantineCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, help, value) in [
            (
                "rule_quarantines",
                "Quarantines of rules that have begun",
                self.0.quarantines().begun(),
            ),
            (
                "rule_quarantine_verdicts",
                "Verdicts that a quarantine decided, without asking the rule",
                self.0.quarantines().decided(),
            ),
        ] {
            counter(&mut encoder, name, help, value)?;
        }
        let current = self.0.current();
        let now = current.map_or(0, |release| release.quarantines().len());
        let help = "Rules that are in quarantine now";
        gauge(&mut encoder, "rules_in_quarantine", help, now)
    }
}
