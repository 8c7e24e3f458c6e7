//! What a canary has done, as the operators' API shows it.

use rialto_components::release::{BoundCanary, BoundRule};
use serde::{Deserialize, Serialize};

use super::Counts;

/// A canary of the current release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CanaryReport {
    /// The step.
    pub step: String,
    /// The rule in force, by its name in the scheme.
    pub rule: String,
    /// The candidate, by its name in the scheme.
    pub canary: String,
    /// The share of requests by the hash, in millionths.
    pub share: u32,
    /// Whom a request must name, one of them; empty for anybody.
    pub names: Vec<String>,
    /// What a request must be about, one of them; empty for anything.
    pub units: Vec<String>,
    /// How many requests it has decided about since the host's start. Steps with the same settings count together.
    pub decided: u64,
    /// With how many it has failed; the rule decided about those.
    pub failed: u64,
    /// How many of its verdicts were compared with the rule's.
    pub compared: u64,
    /// How many of these differ.
    pub different: u64,
    /// Its fuel: the 99th percentile.
    pub fuel_p99: u64,
    /// The rule's fuel on the same inputs.
    pub fuel_p99_of_rule: u64,
    /// The line of failures: at so many it is held back.
    #[serde(default)]
    pub failures_max: u32,
    /// The line of other verdicts, as a share in millionths; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_max: Option<u32>,
    /// The line of more fuel at the 99th percentile, as a share in millionths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel_max: Option<u32>,
    /// How many verdicts there must be before shares count.
    #[serde(default)]
    pub after: u32,
    /// When and why it was held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_back: Option<ShownHeldBack>,
}

/// When and why a canary was held back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownHeldBack {
    /// When; milliseconds since 1970.
    pub at: u64,
    /// Why.
    pub why: String,
}

impl CanaryReport {
    pub(super) fn of(
        (step, bound, canary): (&str, &BoundRule, &BoundCanary),
        counts: Option<&Counts>,
        held: Option<&(u64, String)>,
    ) -> Self {
        let of = |count: fn(&Counts) -> u64| counts.map_or(0, count);
        Self {
            step: step.to_owned(),
            rule: bound.identity.name.to_string(),
            canary: canary.bound.identity.name.to_string(),
            share: canary.terms.share,
            names: canary.terms.names.clone(),
            units: canary.terms.units.clone(),
            decided: of(|counts| counts.decided),
            failed: of(|counts| counts.failed),
            compared: of(|counts| counts.compared),
            different: of(|counts| counts.different),
            fuel_p99: of(|counts| counts.p99(0)),
            fuel_p99_of_rule: of(|counts| counts.p99(1)),
            failures_max: canary.terms.failures,
            drift_max: canary.terms.drift,
            fuel_max: canary.terms.fuel,
            after: canary.terms.after,
            held_back: held.map(|(at, why)| ShownHeldBack {
                at: *at,
                why: why.clone(),
            }),
        }
    }
}
