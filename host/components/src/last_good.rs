//! The last good release of a rule: when the rule fails, the same rule of an earlier release decides.
//!
//! The host finds the earlier release and prepares it, with this rule at this step alone, before the release becomes
//! current. So at most one release more is in memory for each rule at a step, and no turn waits for one. Without an
//! earlier release, the failure refuses.

use std::sync::{Arc, OnceLock};

use crate::failures::{Failings, FailureKind};
use crate::release::{BoundRule, Member, Release};
use crate::rules::Outcome;
use crate::spec::Failing;
use crate::steps::Fit;

/// The earlier release of a rule at a step; empty if there is none.
#[derive(Clone, Default)]
pub struct LastGoodSlot(Arc<OnceLock<Arc<Release>>>);

impl std::fmt::Debug for LastGoodSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = self.0.get().map(|release| release.number);
        f.debug_tuple("LastGoodSlot").field(&number).finish()
    }
}

/// A rule of an earlier release that decides when the current one fails.
#[derive(Clone, Copy)]
pub struct LastGood<'a> {
    /// The earlier release, with this rule alone.
    pub release: &'a Release,
    /// The rule at the step. Its failure refuses.
    pub bound: &'a BoundRule,
    /// The rule.
    pub member: &'a Member,
}

/// Why an earlier release cannot decide in the place of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotGood {
    /// It does not have one rule alone, at this step.
    #[error("it does not have one rule alone, at the same step")]
    NotAlone,
    /// It serves another version of the step.
    #[error("its rule serves another version of the step")]
    OtherStep,
    /// There is one already.
    #[error("the rule has a last good release already")]
    Taken,
}

impl Failings {
    /// Whether the last good release decides about some kind of failure.
    #[must_use]
    pub fn has_last_good(self) -> bool {
        FailureKind::ALL
            .into_iter()
            .any(|kind| self.of(kind) == Failing::LastGood)
    }
}

impl Outcome {
    /// Whether it is a failure after which the last good release decides.
    #[must_use]
    pub const fn leaves_it_to_last_good(&self) -> bool {
        matches!(
            self,
            Self::Failed {
                means: Failing::LastGood,
                ..
            }
        )
    }
}

impl BoundRule {
    /// The earlier release that decides when the rule fails, if there is one.
    #[must_use]
    pub fn last_good(&self) -> Option<LastGood<'_>> {
        let release = self.last_good.0.get()?;
        let bound = release.steps.values().flatten().next()?;
        Some(LastGood {
            release,
            bound,
            member: &release.members[bound.member],
        })
    }

    /// The earlier release that decides after this outcome, if it is a failure about which it does.
    #[must_use]
    pub fn last_good_after(&self, outcome: &Outcome) -> Option<LastGood<'_>> {
        let leaves_it = outcome.leaves_it_to_last_good();
        leaves_it.then(|| self.last_good()).flatten()
    }
}

impl Release {
    /// Have an earlier release decide when the nth rule at a step fails. It must have that rule at that step alone.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn set_last_good(&self, step: &str, nth: usize, earlier: Release) -> Result<(), NotGood> {
        let interface = |release: &Release, bound: &BoundRule| {
            let member = &release.members[bound.member];
            member.exports[bound.export].interface.clone()
        };
        let bound = self.steps.get(step).and_then(|rules| rules.get(nth));
        let bound = bound.ok_or(NotGood::NotAlone)?;
        let rules: Vec<_> = earlier.steps.get(step).into_iter().flatten().collect();
        let ([own], 1) = (&rules[..], earlier.steps.len()) else {
            return Err(NotGood::NotAlone);
        };
        // The contexts' question reaches both, or both have the same one.
        let serves = match self.asked.get(step) {
            Some(asked) => {
                let answer = earlier.members[own.member].check(own);
                answer.is_some_and(|answer| Fit::of(answer, &asked.check) == Fit::Serves)
            }
            None => interface(self, bound) == interface(&earlier, own),
        };
        if !serves {
            return Err(NotGood::OtherStep);
        }
        let slot = &bound.last_good.0;
        slot.set(Arc::new(earlier)).map_err(|_| NotGood::Taken)
    }
}
