//! Quarantine: a rule that fails several times in a row is not asked for a while.
//!
//! | State | What happens | Next state |
//! | --- | --- | --- |
//! | asked | the rule gives a verdict | asked, no failure in a row |
//! | asked | the rule fails, for the last time that the release allows in a row | in quarantine for the pause |
//! | in quarantine | a request comes before the pause is over | in quarantine; what a failure means decides |
//! | in quarantine | a request comes after the pause | probed: this request asks the rule |
//! | probed | another request comes | probed; what a failure means decides |
//! | probed | the rule fails | in quarantine for twice the pause, up to the longest |
//! | probed | the rule gives a verdict | asked |
//! | any | somebody ends the quarantine | asked, no failure in a row |
//! | any | no release in memory binds the rule | (none) |
//!
//! What a rule does with requests that were asked before its quarantine began changes nothing. The state is of one
//! process, and is about a rule's bytes with their settings, limits and facts of the scheme at a step: a release that
//! binds the same goes on with it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rialto_engine::Name;

use crate::digest::Digest;
use crate::failures::{Failings, FailureKind};
use crate::release::Release;
use crate::spec::{Failing, Limits, QuarantineTerms};

/// The most changes that wait to be told. The oldest ones are left out, and counted.
const CHANGES_MAX: usize = 1_000;

/// What a history has before a verdict that quarantine decided.
pub const QUARANTINED: &str = "quarantine";

/// Which rule: its bytes with their settings at a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuarantineKey {
    /// The step.
    pub step: Name,
    /// The rule's name in the scheme.
    pub rule: Name,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The digest of its settings.
    pub settings: Digest,
    /// The digest of the scheme's facts, which it may read.
    pub scheme: Digest,
    /// The bounds of a call: with others it is another rule, which may not fail.
    pub limits: Limits,
}

/// A quarantine that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// When; milliseconds since 1970.
    pub since: u64,
    /// When the pause is over.
    pub until: u64,
    /// The pause, in milliseconds.
    pub pause_ms: u64,
    /// The failures in a row, with those of probes.
    pub failures: u64,
    /// Of the kinds of these failures, the one that means the strictest: what it means decides. So nobody chooses a mild
    /// word for all by the last failure.
    pub kind: FailureKind,
    /// The last failure.
    pub reason: String,
    /// How many requests it has decided about.
    pub decided: u64,
    is_probed: bool,
}

impl Quarantined {
    /// Why the rule was not asked, for a receipt.
    #[must_use]
    pub fn why(&self) -> String {
        format!(
            "was not asked, because it is in quarantine: it has failed {} times in a row, at last so: {}",
            self.failures, self.reason
        )
    }
}

/// What a quarantine has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantineStage {
    /// It has begun.
    Begun,
    /// The rule has given a verdict again, at this instant (milliseconds since 1970).
    Ended(u64),
    /// Somebody has ended it, at this instant.
    Lifted(u64),
    /// No release in memory binds the rule any more.
    Gone,
}

/// That a quarantine has begun or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantineChange {
    /// The rule.
    pub key: QuarantineKey,
    /// What it has done.
    pub stage: QuarantineStage,
    /// The quarantine, as it was then.
    pub quarantine: Quarantined,
}

#[derive(Default)]
struct State {
    in_a_row: u64,
    /// The strictest kind of these.
    kind: Option<FailureKind>,
    /// What the last call that was stopped by the clock was about: it is tried again, and counts once.
    slow: Option<Name>,
    quarantine: Option<Quarantined>,
}

/// What a failure means, from the mildest to the strictest.
const fn strictness(means: Failing) -> u8 {
    match means {
        Failing::Allow => 0,
        Failing::AllowAndFlag => 1,
        Failing::LastGood => 2,
        Failing::Refuse => 3,
    }
}

/// The kind of two whose meaning is the stricter one.
fn stricter(one: Option<FailureKind>, other: FailureKind, failing: Failings) -> FailureKind {
    one.filter(|one| strictness(failing.of(*one)) >= strictness(failing.of(other)))
        .unwrap_or(other)
}

struct Watched {
    key: QuarantineKey,
    /// Whether the state has anything in it. While it has not, nobody takes the lock.
    is_troubled: AtomicBool,
    state: Mutex<State>,
    told: Arc<Told>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(quarantine) = self.state.get_mut().quarantine.take() {
            self.tell(QuarantineStage::Gone, quarantine);
        }
    }
}

impl Watched {
    /// End the quarantine, if the rule is in one.
    fn end(&self, now: u64) -> Option<Quarantined> {
        let mut state = self.state.lock();
        // Failures in a row without a quarantine stay: nobody has said anything about them.
        state.quarantine.as_ref()?;
        let ended = std::mem::take(&mut *state).quarantine?;
        self.is_troubled.store(false, Ordering::Release);
        drop(state);
        self.tell(QuarantineStage::Lifted(now), ended.clone());
        Some(ended)
    }

    fn tell(&self, stage: QuarantineStage, quarantine: Quarantined) {
        let QuarantineKey { step, rule, .. } = &self.key;
        match stage {
            QuarantineStage::Begun => {
                let (kind, reason) = (quarantine.kind.name(), &quarantine.reason);
                let (failures, pause_ms) = (quarantine.failures, quarantine.pause_ms);
                tracing::warn!(%step, %rule, kind, reason, failures, pause_ms, "a rule is in quarantine: it is not asked until one request tries it after the pause, and `on-failure` decides");
                self.told.begun.fetch_add(1, Ordering::Relaxed);
            }
            QuarantineStage::Ended(_) => {
                let decided = quarantine.decided;
                tracing::warn!(%step, %rule, decided, "the quarantine of a rule is over: it has given a verdict");
            }
            QuarantineStage::Lifted(_) => {
                let decided = quarantine.decided;
                tracing::warn!(%step, %rule, decided, "the quarantine of a rule is over: somebody has ended it");
            }
            QuarantineStage::Gone => {
                let decided = quarantine.decided;
                tracing::warn!(%step, %rule, decided, "the quarantine of a rule is over: no release in memory binds the rule so");
            }
        }
        self.told.tell(QuarantineChange {
            key: self.key.clone(),
            stage,
            quarantine,
        });
    }
}

#[derive(Default)]
struct Told {
    changes: Mutex<Vec<QuarantineChange>>,
    begun: AtomicU64,
    decided: AtomicU64,
    left_out: AtomicU64,
}

impl Told {
    fn tell(&self, change: QuarantineChange) {
        let mut changes = self.changes.lock();
        if changes.len() >= CHANGES_MAX {
            changes.remove(0);
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
        changes.push(change);
    }
}

/// The rules in quarantine, of all releases of a runtime.
#[derive(Default)]
pub struct Quarantines {
    watched: Mutex<HashMap<QuarantineKey, Weak<Watched>>>,
    told: Arc<Told>,
}

impl Quarantines {
    /// Watch a rule of a release.
    pub(crate) fn watch(&self, key: QuarantineKey, terms: QuarantineTerms) -> BoundQuarantine {
        let mut watched = self.watched.lock();
        let known = watched.get(&key).and_then(Weak::upgrade);
        let state = known.unwrap_or_else(|| {
            watched.retain(|_, one| one.strong_count() > 0);
            let one = Arc::new(Watched {
                key: key.clone(),
                is_troubled: AtomicBool::new(false),
                state: Mutex::default(),
                told: self.told.clone(),
            });
            watched.insert(key, Arc::downgrade(&one));
            one
        });
        BoundQuarantine { terms, state }
    }

    /// The quarantines that have begun and not ended, in all releases that are ready.
    #[must_use]
    pub fn list(&self) -> Vec<(QuarantineKey, Quarantined)> {
        let watched: Vec<_> = self.watched.lock().values().cloned().collect();
        let all = watched.iter().filter_map(Weak::upgrade).filter_map(|one| {
            let quarantine = one.state.lock().quarantine.clone();
            Some((one.key.clone(), quarantine?))
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|(a, _), (b, _)| (&a.step, &a.rule).cmp(&(&b.step, &b.rule)));
        all
    }

    /// End quarantines at an instant, in all releases that are ready: the next request asks the rule, and failures are
    /// counted from 0. Returns those that were in one, by step.
    #[must_use]
    pub fn end(
        &self,
        ends: impl Fn(&QuarantineKey) -> bool,
        now: u64,
    ) -> Vec<(QuarantineKey, Quarantined)> {
        let watched: Vec<_> = self.watched.lock().values().cloned().collect();
        let wanted = watched.iter().filter_map(Weak::upgrade);
        let wanted = wanted.filter(|one| ends(&one.key));
        let all = wanted.filter_map(|one| Some((one.key.clone(), one.end(now)?)));
        let mut all: Vec<_> = all.collect();
        all.sort_by(|(a, _), (b, _)| (&a.step, &a.rule).cmp(&(&b.step, &b.rule)));
        all
    }

    /// Take the changes since the last call, the oldest first, and how many were left out because nobody took them.
    #[must_use]
    pub fn take_changes(&self) -> (Vec<QuarantineChange>, u64) {
        let changes = std::mem::take(&mut *self.told.changes.lock());
        (changes, self.told.left_out.swap(0, Ordering::Relaxed))
    }

    /// How many have begun.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.told.begun.load(Ordering::Relaxed)
    }

    /// About how many requests they have decided.
    #[must_use]
    pub fn decided(&self) -> u64 {
        self.told.decided.load(Ordering::Relaxed)
    }
}

/// The quarantine of a rule at a step of a release.
#[derive(Clone)]
pub struct BoundQuarantine {
    /// When it begins, and how long it lasts.
    pub terms: QuarantineTerms,
    state: Arc<Watched>,
}

impl std::fmt::Debug for BoundQuarantine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let terms = &self.terms;
        f.debug_struct("BoundQuarantine")
            .field("terms", terms)
            .finish_non_exhaustive()
    }
}

/// Whether a request asks the rule.
pub(crate) enum Admission<'a> {
    /// It does, and says what came of it.
    Asked(Asking<'a>),
    /// It does not: the rule is in quarantine.
    Held(Quarantined),
}

/// A request that asks a rule. One that ends without a word, because its turn has ended otherwise, changes nothing.
pub(crate) struct Asking<'a> {
    of: &'a BoundQuarantine,
    is_probe: bool,
    is_told: bool,
}

impl BoundQuarantine {
    /// Whether a request asks the rule now (milliseconds since 1970).
    pub(crate) fn admit(&self, now: u64) -> Admission<'_> {
        let asking = |is_probe| {
            Admission::Asked(Asking {
                of: self,
                is_probe,
                is_told: false,
            })
        };
        if !self.state.is_troubled.load(Ordering::Acquire) {
            return asking(false);
        }
        let mut state = self.state.state.lock();
        let Some(quarantine) = &mut state.quarantine else {
            return asking(false);
        };
        // A clock that was set back does not make it longer.
        let is_over = now >= quarantine.until || now < quarantine.since;
        if is_over && !quarantine.is_probed {
            quarantine.is_probed = true;
            return asking(true);
        }
        quarantine.decided += 1;
        self.state.told.decided.fetch_add(1, Ordering::Relaxed);
        Admission::Held(quarantine.clone())
    }
}

impl BoundQuarantine {
    /// The rule, and its quarantine if it is in one.
    #[must_use]
    pub fn now(&self) -> Option<(QuarantineKey, Quarantined)> {
        if !self.state.is_troubled.load(Ordering::Acquire) {
            return None;
        }
        let quarantine = self.state.state.lock().quarantine.clone();
        Some((self.state.key.clone(), quarantine?))
    }

    /// Whether a request would not ask the rule now.
    pub(crate) fn holds(&self, now: u64) -> bool {
        self.now().is_some_and(|(_, quarantine)| {
            let is_over = now >= quarantine.until || now < quarantine.since;
            quarantine.is_probed || !is_over
        })
    }
}

impl Release {
    /// The rules of this release that are in quarantine, by step.
    #[must_use]
    pub fn quarantines(&self) -> Vec<(QuarantineKey, Quarantined)> {
        let rules = self.steps.values().flatten();
        let mut all: Vec<_> = rules
            .filter_map(|bound| bound.quarantine.as_ref()?.now())
            .collect();
        all.sort_by(|(a, _), (b, _)| (&a.step, &a.rule).cmp(&(&b.step, &b.rule)));
        all.dedup_by(|(a, _), (b, _)| a == b);
        all
    }
}

impl Asking<'_> {
    /// The rule has given a verdict, at this instant.
    pub(crate) fn succeeded(mut self, now: u64) {
        self.is_told = true;
        let watched = &*self.of.state;
        if !watched.is_troubled.load(Ordering::Acquire) {
            return;
        }
        let mut state = watched.state.lock();
        // Only a probe ends a quarantine: the others asked the rule before it began.
        if state.quarantine.is_some() && !self.is_probe {
            return;
        }
        let ended = std::mem::take(&mut *state).quarantine;
        watched.is_troubled.store(false, Ordering::Release);
        drop(state);
        if let Some(quarantine) = ended {
            watched.tell(QuarantineStage::Ended(now), quarantine);
        }
    }

    /// The rule has failed when it was asked about something, at this instant. `failing` is what its failures mean.
    ///
    /// That the host has no instance for it is no failure of the rule, and counts as if it had not been asked. What the
    /// clock stops is tried again, and counts once.
    pub(crate) fn failed(
        mut self,
        (kind, failing): (FailureKind, Failings),
        (reason, subject): (&str, &str),
        now: u64,
    ) {
        if kind == FailureKind::Missing {
            return;
        }
        self.is_told = true;
        let terms = self.of.terms;
        let watched = &*self.of.state;
        let mut state = watched.state.lock();
        let is_again = kind == FailureKind::Slow && state.slow.as_deref() == Some(subject);
        if is_again && state.quarantine.is_none() {
            return;
        }
        state.slow = (kind == FailureKind::Slow).then(|| subject.into());
        watched.is_troubled.store(true, Ordering::Release);
        state.kind = Some(stricter(state.kind, kind, failing));
        let kind = state.kind.unwrap_or(kind);
        match &mut state.quarantine {
            None => {
                state.in_a_row += 1;
                if state.in_a_row < u64::from(terms.failures) {
                    return;
                }
                let begun = Quarantined {
                    since: now,
                    until: now.saturating_add(terms.pause_ms),
                    pause_ms: terms.pause_ms,
                    failures: state.in_a_row,
                    kind,
                    reason: reason.to_owned(),
                    decided: 0,
                    is_probed: false,
                };
                state.quarantine = Some(begun.clone());
                drop(state);
                watched.tell(QuarantineStage::Begun, begun);
            }
            Some(quarantine) if self.is_probe => {
                let doubled = quarantine.pause_ms.saturating_mul(2);
                let pause_ms = doubled.min(terms.longest_ms);
                quarantine.pause_ms = pause_ms;
                quarantine.until = now.saturating_add(pause_ms);
                quarantine.failures += 1;
                quarantine.kind = kind;
                reason.clone_into(&mut quarantine.reason);
                quarantine.is_probed = false;
                let QuarantineKey { step, rule, .. } = &watched.key;
                tracing::info!(%step, %rule, pause_ms, reason, "a rule in quarantine has failed again");
            }
            // It asked the rule before the quarantine began.
            Some(_) => {}
        }
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if self.is_told || !self.is_probe {
            return;
        }
        // The turn ended before the rule did: the next request is the probe.
        if let Some(quarantine) = &mut self.of.state.state.lock().quarantine {
            quarantine.is_probed = false;
        }
    }
}

#[cfg(test)]
mod tests;
