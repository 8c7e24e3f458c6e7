//! Asks a rule again, with the bytes, the settings and the input of a receipt.

use std::sync::Arc;

use rialto_components::Release;
use rialto_components::release::BoundRule;
use rialto_components::rules::{Outcome, Receipt};

use crate::host::Shared;
use crate::ops::{Kind, Problem, ReplayResult};
use crate::releases::Refused;

/// A release by its number: the current one, or one of before.
///
/// # Errors
/// When it no longer exists.
pub fn release(shared: &Shared, number: u64) -> Result<Arc<Release>, Refused> {
    let current = shared.runtime.current();
    match current.filter(|current| current.number == number) {
        Some(current) => Ok(current),
        None => shared.releases.load(number),
    }
}

/// The rule of a receipt in its release, a candidate included.
#[must_use]
pub fn bound<'r>(release: &'r Release, receipt: &Receipt) -> Option<&'r BoundRule> {
    let rules = release.steps.get(&receipt.step).into_iter().flatten();
    let shadows = rules.clone().filter_map(|bound| bound.shadow.as_deref());
    let canaries = rules.clone().filter_map(|bound| bound.canary.as_deref());
    let mut all = rules
        .chain(shadows.map(|shadow| &shadow.bound))
        .chain(canaries.map(|canary| &canary.bound));
    all.find(|bound| {
        release.members[bound.member].digest == receipt.digest
            && bound.settings_digest == receipt.settings_digest
    })
}

/// Ask again and compare.
///
/// # Errors
/// When the release or its rule no longer exists, or the receipt was changed.
pub fn again(shared: &Shared, receipt: &Receipt) -> Result<ReplayResult, Problem> {
    let gone = |what: String| Problem::new(Kind::NotReplayable, what);
    if receipt.quarantined {
        let rule = &receipt.rule;
        return Err(gone(format!(
            "the rule {rule} was in quarantine, and was not asked: there is no verdict that it could give again"
        )));
    }
    let release = release(shared, receipt.release)?;
    let bound = bound(&release, receipt);
    let Some(bound) = bound else {
        return Err(gone(format!(
            "release {} does not bind {} with these settings to {}",
            receipt.release, receipt.digest, receipt.step
        )));
    };
    let member = &release.members[bound.member];
    let judgement = member
        .judge_stored(bound, &receipt.subject, receipt.input.get())
        .map_err(|misfit| gone(format!("the stored input does not fit the rule: {misfit}")))?;
    let verdict = bound.outcome(judgement.outcome).map_err(|(_, reason)| {
        let detail = format!("the rule could not be asked: {reason}; try again");
        Problem::new(Kind::NotNow, detail)
    })?;
    // A stored release is asked alone, so a failure may mean something else there.
    let verdict = match (verdict, &receipt.verdict) {
        (Outcome::Failed { reason, kind, .. }, Outcome::Failed { means, .. })
            if receipt.last_good_for.is_some() || receipt.verdict.leaves_it_to_last_good() =>
        {
            let means = *means;
            Outcome::Failed {
                reason,
                means,
                kind,
            }
        }
        (verdict, _) => verdict,
    };
    Ok(ReplayResult {
        same: verdict.is_same(&receipt.verdict) && judgement.fuel == receipt.fuel,
        verdict: verdict.short(),
        fuel: judgement.fuel,
    })
}
