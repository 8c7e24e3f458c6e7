//! What a candidate in the shadow of a rule has judged so far.

use rialto_components::Member;
use rialto_components::release::BoundShadow;
use serde::{Deserialize, Serialize};

use super::Told;
use crate::backtest::Selection;
use crate::backtest::figures::Figures;
use crate::backtest::report::{Candidate, Report, Rule};

/// Requests that a candidate has not judged, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// They are not in its share of requests.
    pub share: u64,
    /// Its processor time was used up.
    pub budget: u64,
    /// The clock stopped it, or it could not be run.
    pub without_verdict: u64,
    /// Receipts that had no room in the queue of all candidates, since the host's start.
    pub queue: u64,
    /// Receipts of requests that name people, which are encrypted: no candidate judges them.
    pub encrypted: u64,
}

/// A candidate in the shadow of a rule, and what it has judged since it is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShadowReport {
    /// The rule in force, by its name in the scheme.
    pub rule: String,
    /// The candidate, by its name in the scheme.
    pub candidate: String,
    /// The share of requests that it judges, in millionths.
    pub share: u32,
    /// Its share of one processor, in millionths.
    pub cpu: u32,
    /// What it has not judged.
    pub skipped: Skipped,
    /// How many of its differing verdicts have receipts.
    pub kept: u64,
    /// What it has judged, as for a backtest. The percentiles of fuel before are the rule's.
    pub report: Report,
}

impl ShadowReport {
    /// Of a candidate: the rule that it shadows, what it has judged and the time of that, and what none has judged.
    pub(super) fn of(
        rule: &str,
        shadow: &BoundShadow,
        member: &Member,
        judged: Option<(Told, u64)>,
        for_all: Skipped,
    ) -> Self {
        let candidate = Candidate {
            digest: member.digest,
            rules: Rule::of(member).into_iter().collect(),
        };
        let (told, now) = judged.unwrap_or_else(|| {
            let none = Told {
                since: 0,
                figures: Figures::default(),
                skipped: Skipped::default(),
                kept: 0,
            };
            (none, 0)
        });
        let period = (told.since, now);
        Self {
            rule: rule.to_owned(),
            candidate: member.identity.name.to_string(),
            share: shadow.share,
            cpu: shadow.cpu,
            skipped: Skipped {
                queue: for_all.queue,
                encrypted: for_all.encrypted,
                ..told.skipped
            },
            kept: told.kept,
            report: Report::of(candidate, period, &Selection::default(), told.figures, &[]),
        }
    }
}
