//! Which rules judge at a step: those of the current release, or those that were in force when it was agreed that a request
//! may come.
//!
//! | What was agreed | Which rules judge |
//! | --- | --- |
//! | nothing, or it is not known | those of the current release that are effective now |
//! | under the current release | those that were effective at that instant |
//! | under an earlier one that is ready | its rules that were effective at that instant |
//! | under one that was rolled back, or is not ready any more | as if nothing was agreed |
//!
//! A rule that is always the newest, in either release, judges as the current release has it, now, and first. What is
//! suspended, in quarantine or held back never judges what was agreed before: the rule in force does.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use wasmtime::component::Val;

use crate::earlier::Earlier;
use crate::release::{BoundRule, Release};
use crate::steps::{Fit, unite};

/// Under which rules something was agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// The release.
    pub release: u64,
    /// When; milliseconds since 1970.
    pub at: u64,
}

/// Of a receipt of something that was agreed under another release: which, and why this one has judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgreedUnder {
    /// The release under which it was agreed.
    pub release: u64,
    /// When; milliseconds since 1970.
    pub at: u64,
    /// Why the receipt's release has judged.
    pub judged: JudgedBy,
}

/// Why a release has judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JudgedBy {
    /// It is the one of the agreement.
    Agreed,
    /// The rule is always the newest.
    AlwaysNewest,
    /// The one of the agreement was rolled back.
    RolledBack,
    /// The one of the agreement is not ready any more, or serves another version of the step.
    NotKept,
    /// Its rule is suspended.
    Suspended,
    /// Its rule is in quarantine.
    Quarantined,
}

/// The rules that judge.
pub(crate) struct Judges {
    current: Arc<Release>,
    earlier: Option<Arc<Release>>,
    /// Of what was agreed under another release.
    under: Option<AgreedUnder>,
    /// The instant at which a rule must be effective.
    at: u64,
    now: u64,
}

/// The rules of a step that are still to be asked.
pub(crate) struct Queue<'j> {
    judges: &'j Judges,
    step: String,
    waiting: VecDeque<Judge<'j>>,
    /// The rules in force that judge in the place of others, by their addresses. Each does once.
    instead: Vec<*const BoundRule>,
}

impl<'j> Queue<'j> {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next rule. In the place of one that must not judge what was agreed before, the rules in force come, if there are
    /// any.
    pub fn next(&mut self) -> Option<Judge<'j>> {
        while let Some(judge) = self.waiting.pop_front() {
            let Some(why) = judge.barred(self.judges.now) else {
                return Some(judge);
            };
            let mut fresh = self.judges.in_force(&self.step, judge.bound, why);
            fresh.retain(|one| !self.instead.contains(&std::ptr::from_ref(one.bound)));
            if fresh.is_empty() {
                return Some(judge);
            }
            for one in fresh.into_iter().rev() {
                self.instead.push(one.bound);
                self.waiting.push_front(one);
            }
        }
        None
    }
}

/// A rule that is asked.
pub(crate) struct Judge<'j> {
    pub release: &'j Release,
    pub bound: &'j BoundRule,
    pub agreed: Option<AgreedUnder>,
}

impl Judge<'_> {
    /// Why a rule of an earlier release does not judge what was agreed under it, if it does not.
    fn barred(&self, now: u64) -> Option<JudgedBy> {
        let Self {
            release,
            bound,
            agreed,
        } = self;
        let agreed = agreed.as_ref();
        if agreed.is_none_or(|agreed| agreed.judged != JudgedBy::Agreed) {
            return None;
        }
        let quarantine = bound.quarantine.as_ref();
        if release.suspends(&bound.identity.name, now) {
            Some(JudgedBy::Suspended)
        } else {
            quarantine
                .is_some_and(|quarantine| quarantine.holds(now))
                .then_some(JudgedBy::Quarantined)
        }
    }
}

impl Judges {
    /// The rules for a request, at an instant in milliseconds since 1970.
    pub fn of(current: &Arc<Release>, agreed: Option<Agreed>, now: u64) -> Self {
        let mut judges = Self {
            current: current.clone(),
            earlier: None,
            under: None,
            at: now,
            now,
        };
        let Some(Agreed { release, at }) = agreed else {
            return judges;
        };
        if release == current.number {
            judges.at = at;
            return judges;
        }
        let judged = match current.earlier(release) {
            Earlier::Ready(earlier) => {
                judges.earlier = Some(earlier);
                judges.at = at;
                JudgedBy::Agreed
            }
            Earlier::Withdrawn => JudgedBy::RolledBack,
            Earlier::NotKept => JudgedBy::NotKept,
        };
        judges.under = Some(AgreedUnder {
            release,
            at,
            judged,
        });
        judges
    }

    /// The rules of a step, one after the other.
    pub fn queue(&self, step: &str) -> Queue<'_> {
        Queue {
            waiting: self.rules(step).into(),
            instead: Vec::new(),
            step: step.to_owned(),
            judges: self,
        }
    }

    /// The counters of all rules that may judge at a step: of the current release, whether they are effective or not, and
    /// of the one of the agreement. A rule that is not asked yet finds what was counted before.
    pub fn counters(&self, step: &str) -> Vec<Val> {
        let mut all = Vec::new();
        for release in std::iter::once(&self.current).chain(&self.earlier) {
            let rules = release.steps.get(step).into_iter().flatten();
            let is_asked = rules.filter(|_| self.asks_as(release, step));
            is_asked.for_each(|bound| unite(&mut all, bound.all_counters()));
        }
        all
    }

    /// Whether the rules of a release can be asked with the current release's question of a step.
    fn asks_as(&self, release: &Release, step: &str) -> bool {
        let (Some(asked), Some(by)) = (self.current.asked.get(step), release.asked.get(step))
        else {
            return true;
        };
        if asked.interface == by.interface {
            return true;
        }
        let mut rules = release.steps.get(step).into_iter().flatten();
        rules.all(|bound| {
            let answer = release.members[bound.member].check(bound);
            answer.is_some_and(|answer| Fit::of(answer, &asked.check) == Fit::Serves)
        })
    }

    /// The rules of a step, in the order in which they are asked.
    fn rules(&self, step: &str) -> Vec<Judge<'_>> {
        let current = self.current.steps.get(step);
        let current = current.map_or(&[][..], Vec::as_slice);
        let Some(earlier) = &self.earlier else {
            let effective = current
                .iter()
                .filter(|bound| bound.effective.covers(self.instant(bound.always_newest)));
            return effective
                .map(|bound| self.judge(&self.current, bound, None))
                .collect();
        };
        let agreed = earlier.steps.get(step);
        let agreed = agreed.map_or(&[][..], Vec::as_slice);
        if !self.asks_as(earlier, step) {
            let effective = current.iter().filter(|one| one.effective.covers(self.now));
            let judge = |bound| self.judge(&self.current, bound, Some(JudgedBy::NotKept));
            return effective.map(judge).collect();
        }
        let newest = |rules: &[BoundRule], name: &str| {
            let mut rules = rules.iter();
            rules.any(|one| one.always_newest && *one.identity.name == *name)
        };
        let is_newest = |bound: &&BoundRule| {
            let name = &*bound.identity.name;
            newest(current, name) || newest(agreed, name)
        };
        let first = current
            .iter()
            .filter(is_newest)
            .filter(|bound| bound.effective.covers(self.now))
            .map(|bound| self.judge(&self.current, bound, Some(JudgedBy::AlwaysNewest)));
        let then = agreed
            .iter()
            .filter(|bound| !is_newest(bound) && bound.effective.covers(self.at))
            .map(|bound| self.judge(earlier, bound, None));
        first.chain(then).collect()
    }

    /// The rules of the current release that judge in the place of one of an earlier release: that of the same name, or
    /// else those that the earlier release does not have. What is suspended or in quarantine never judges what was agreed
    /// before: the rule in force does.
    fn in_force(&self, step: &str, instead: &BoundRule, why: JudgedBy) -> Vec<Judge<'_>> {
        let Some(earlier) = &self.earlier else {
            return Vec::new();
        };
        let current = self.current.steps.get(step);
        let current = current.map_or(&[][..], Vec::as_slice);
        let known = earlier.steps.get(step);
        let known = known.map_or(&[][..], Vec::as_slice);
        let name = &*instead.identity.name;
        let is_named = |one: &&BoundRule| *one.identity.name == *name;
        let has_it = current.iter().any(|one| is_named(&one));
        let is_new = |one: &&BoundRule| {
            let mut known = known.iter();
            !known.any(|other| other.identity.name == one.identity.name)
        };
        current
            .iter()
            .filter(|one| if has_it { is_named(one) } else { is_new(one) })
            .filter(|one| !one.always_newest && one.effective.covers(self.now))
            .map(|one| self.judge(&self.current, one, Some(why)))
            .collect()
    }

    const fn instant(&self, always_newest: bool) -> u64 {
        if always_newest { self.now } else { self.at }
    }

    fn judge<'j>(
        &self,
        release: &'j Release,
        bound: &'j BoundRule,
        judged: Option<JudgedBy>,
    ) -> Judge<'j> {
        let agreed = self.under.clone().map(|under| AgreedUnder {
            judged: judged.unwrap_or(under.judged),
            ..under
        });
        Judge {
            release,
            bound,
            agreed,
        }
    }
}
