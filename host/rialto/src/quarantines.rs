//! Rules in quarantine, for operators: what is shown of them, their metrics, and their entries in the audit log.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rialto_components::Runtime;
use rialto_components::quarantine::{
    QuarantineChange, QuarantineKey, QuarantineStage, Quarantined, Quarantines,
};
use rialto_store_sqlite::Outcome;
use serde::{Deserialize, Serialize};

use crate::audit::{Audit, AuditedAction};

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

/// Write into the audit log which quarantines have begun and ended since the last call.
pub fn write_down(quarantines: &Quarantines, audit: &Audit) {
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
    let told = changes.iter().map(|change| {
        let QuarantineKey { step, rule, .. } = &change.key;
        (format!("rule {rule} at {step}"), said(change))
    });
    let told: Vec<(String, (&str, String))> = told.collect();
    let entries = told.iter().map(|(about, (action, said))| {
        let audited = AuditedAction::new(action, about);
        (audited, Outcome::Done(said.clone()))
    });
    audit.of_host(entries.collect());
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
        QuarantineStage::Gone => (
            "quarantine-end",
            format!(
                "no release in memory binds it so any more; {decided} requests were decided without it"
            ),
        ),
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
            let counter = ConstCounter::new(value);
            let metric = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
            counter.encode(metric)?;
        }
        let current = self.0.current();
        let now = current.map_or(0, |release| release.quarantines().len());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        let gauge = ConstGauge::new(now);
        let help = "Rules that are in quarantine now";
        let kind = gauge.metric_type();
        gauge.encode(encoder.encode_descriptor("rules_in_quarantine", help, None, kind)?)
    }
}
