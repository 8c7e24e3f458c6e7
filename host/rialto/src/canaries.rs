//! Canaries: candidates that decide about some requests in the place of a rule, until they go too far.
//!
//! | Question | Answer |
//! | --- | --- |
//! | which requests? | those that the scheme names, and of these a share by an HMAC of the transaction's id, under a secret of the store: a quote and its transfer have the same answer, and no sender can choose it |
//! | what if it fails? | the rule in force decides about that request, in the same turn |
//! | what is compared? | the rule in force judges the same inputs, when they are committed |
//! | when is it held back? | at so many failures, at once; when too many verdicts differ or need too much fuel, when that is seen |
//! | and then? | the rule decides about all requests; the host says so in its log, in the audit log and to operators; the component judges nothing with these settings again, in any release |
//!
//! Counts begin anew when the host starts. What was held back stays so.

mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use anyhow::Context as _;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use rialto_components::canaries::Canaries;
use rialto_components::release::{BoundCanary, BoundRule};
use rialto_components::rules::{Outcome, Receipt};
use rialto_components::{CanaryTerms, Digest, Release};
use rialto_engine::{Clock, Entropy, Timestamp};
use rialto_manifest::ComponentKind;
use rialto_manifest::scheme::{Binding, Scheme, SchemeDocument};
use rialto_signatures::secrets::MacKey;
use rialto_store::{HeldBack, HostStore, Outcome as AuditOutcome};
use serde_json::Value;

use crate::audit::{Audit, AuditedAction};
use crate::backtest::facets::Facets;
use crate::backtest::figures::Decision;
use crate::rule_states::{Measure, RECALLED_MS, RuleState, RuleStates};
use crate::shares;
use crate::spec;
use crate::words;

pub use report::CanaryReport;

/// How exact percentiles of fuel are, in digits.
const FUEL_DIGITS: u8 = 3;
/// The pause after the store did not take what was held back; milliseconds.
const AGAIN: u64 = 5_000;
/// Millionths of a whole.
const ALL: u64 = 1_000_000;

/// A candidate with its settings, by the digests of both.
type Key = (Digest, Digest);

fn key(canary: &BoundCanary) -> Key {
    (canary.digest, canary.bound.settings_digest)
}

/// What a canary has done.
#[derive(Debug)]
struct Counts {
    decided: u64,
    failed: u64,
    compared: u64,
    different: u64,
    /// Fuel of the canary and of the rule on the same inputs.
    fuel: [Histogram<u64>; 2],
}

impl Default for Counts {
    fn default() -> Self {
        let histogram =
            || Histogram::new(FUEL_DIGITS).expect("a histogram may have 3 digits of precision");
        Self {
            decided: 0,
            failed: 0,
            compared: 0,
            different: 0,
            fuel: [histogram(), histogram()],
        }
    }
}

impl Counts {
    fn p99(&self, of: usize) -> u64 {
        self.fuel[of].value_at_quantile(0.99)
    }

    /// By which measure and why the canary has gone too far by what was compared; none if it has not.
    fn beyond(&self, terms: &CanaryTerms) -> Option<(Measure, String)> {
        if self.compared < u64::from(terms.after) {
            return None;
        }
        let (compared, different) = (self.compared, self.different);
        if let Some(most) = terms.drift
            && different * ALL > compared * u64::from(most)
        {
            let measure = Measure {
                name: "verdict-drift",
                value: different * ALL / compared.max(1),
                limit: u64::from(most),
            };
            let why = format!(
                "{different} of {compared} verdicts differ from those of the rule in force"
            );
            return Some((measure, why));
        }
        let (now, before) = (self.p99(0), self.p99(1));
        if let Some(most) = terms.fuel
            && u128::from(now) * u128::from(ALL)
                > u128::from(before) * u128::from(ALL + u64::from(most))
        {
            let limit = u128::from(before) * u128::from(ALL + u64::from(most)) / u128::from(ALL);
            let measure = Measure {
                name: "fuel-p99",
                value: now,
                limit: u64::try_from(limit).unwrap_or(u64::MAX),
            };
            let why = format!(
                "99 of 100 verdicts need up to {now} fuel, and those of the rule in force {before}"
            );
            return Some((measure, why));
        }
        None
    }
}

/// The canaries of a running host.
pub struct HostCanaries {
    store: Arc<dyn HostStore>,
    clock: Arc<dyn Clock>,
    /// By which requests are chosen. There is none before [`Self::recall`].
    secret: OnceLock<MacKey>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    counts: BTreeMap<Key, Counts>,
    /// What was held back, when and why.
    held: BTreeMap<Key, (u64, String)>,
    /// What of that is not written down yet.
    unwritten: Vec<Key>,
    /// What of that operators are yet to be told, and which measure was too much.
    untold: Vec<(Key, Option<Measure>)>,
    /// When it is tried again after the store did not take it.
    not_before: u64,
}

impl Canaries for HostCanaries {
    fn decides(&self, canary: &BoundCanary, input: &str) -> bool {
        if self.state.lock().held.contains_key(&key(canary)) {
            return false;
        }
        let Ok(input) = serde_json::from_str::<Value>(input) else {
            return false;
        };
        self.chooses(canary, &Facets::of(&input))
    }

    fn decided(&self, canary: &BoundCanary) {
        let mut state = self.state.lock();
        state.counts.entry(key(canary)).or_default().decided += 1;
    }

    fn failed(&self, canary: &BoundCanary, reason: &str) {
        let mut state = self.state.lock();
        let counts = state.counts.entry(key(canary)).or_default();
        counts.failed += 1;
        let failed = counts.failed;
        if failed >= u64::from(canary.terms.failures) {
            let measure = Measure {
                name: "failures",
                value: failed,
                limit: u64::from(canary.terms.failures),
            };
            let why = format!("it failed {failed} times, at last so: {reason}");
            self.hold_back(&mut state, canary, (measure, why));
        }
    }
}

impl HostCanaries {
    /// The canaries of a store. None decides before [`Self::recall`].
    #[must_use]
    pub fn new(store: Arc<dyn HostStore>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            store,
            clock,
            secret: OnceLock::new(),
            state: Mutex::default(),
        })
    }

    /// Read what was held back, and the secret, which is made if the store has none. The store must have been recovered.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub fn recall(&self, entropy: &dyn Entropy) -> anyhow::Result<()> {
        let held = self.store.held_back();
        let held = held.context("reading which canaries were held back")?;
        let digest = |text: &str| text.parse::<Digest>().context("reading a canary's digest");
        let recalled = self.clock.now().0.saturating_sub(RECALLED_MS);
        for one in held {
            let key = (digest(&one.component)?, digest(&one.settings)?);
            let mut state = self.state.lock();
            if one.at.0 >= recalled {
                state.untold.push((key, None));
            }
            state.held.insert(key, (one.at.0, one.why));
        }
        let mut made = [0; 32];
        entropy.fill(&mut made);
        let secret = self.store.canary_secret(made);
        let secret = secret.context("reading the secret of canaries")?;
        // The first one stays; a second call reads the same.
        let _ = self.secret.set(MacKey::new(&secret));
        Ok(())
    }

    /// Whether a canary decides about what has these facets.
    fn chooses(&self, canary: &BoundCanary, facets: &Facets) -> bool {
        let terms = &canary.terms;
        let is_of_one = terms.names.is_empty() || terms.names.iter().any(|one| facets.names(one));
        let is_in_one = terms.units.is_empty() || terms.units.iter().any(|one| facets.is_in(one));
        // Without an id nothing could choose, and the rule in force decides.
        let Some(id) = &facets.transaction else {
            return false;
        };
        is_of_one && is_in_one && self.is_in_share(canary.digest, id, terms.share)
    }

    /// Whether an id is in a candidate's share, in millionths: the same at every step.
    fn is_in_share(&self, candidate: Digest, id: &str, share: u32) -> bool {
        let Some(secret) = self.secret.get() else {
            return false;
        };
        let code = secret.code(&[&candidate.bytes(), id.as_bytes()]);
        shares::is_in(&code, share)
    }

    /// Have the rule in force decide again, from the next turn on.
    fn hold_back(&self, state: &mut State, canary: &BoundCanary, beyond: (Measure, String)) {
        let (measure, why) = beyond;
        let key = key(canary);
        if state.held.contains_key(&key) {
            return;
        }
        tracing::error!(
            canary = %canary.bound.identity.name,
            component = %key.0,
            why,
            "a canary is held back: the rule in force decides about all requests again"
        );
        state.held.insert(key, (self.clock.now().0, why));
        state.unwritten.push(key);
        state.untold.push((key, Some(measure)));
    }

    /// Have the rule in force judge what a canary has decided about, and compare.
    pub fn compare(&self, release: &Release, filed: &Receipt) {
        let found = all(release).find(|(step, _, canary)| {
            *step == &*filed.step
                && canary.digest == filed.digest
                && canary.bound.settings_digest == filed.settings_digest
        });
        // A canary of an earlier release, or one that has failed: that was counted.
        let Some((_, bound, canary)) = found else {
            return;
        };
        if matches!(filed.verdict, Outcome::Failed { .. }) {
            return;
        }
        let member = &release.members[bound.member];
        let Ok(judged) = member.judge_stored(bound, &filed.subject, filed.input.get()) else {
            return;
        };
        let Ok(outcome) = bound.outcome(judged.outcome) else {
            return;
        };
        // What would have been decided then is another release's verdict.
        if bound.last_good_after(&outcome).is_some() {
            return;
        }
        // By one name: which of both refuses makes no difference.
        let decision = |outcome: &Outcome| Decision::of(std::iter::once(("", outcome)));
        let differs = !decision(&outcome).tells_the_same(&decision(&filed.verdict));
        let mut state = self.state.lock();
        let counts = state.counts.entry(key(canary)).or_default();
        counts.compared += 1;
        counts.different += u64::from(differs);
        for (of, fuel) in [filed.fuel, judged.fuel].into_iter().enumerate() {
            counts.fuel[of].saturating_record(fuel);
        }
        if let Some(beyond) = counts.beyond(&canary.terms) {
            self.hold_back(&mut state, canary, beyond);
        }
    }

    /// Write down which canaries were held back, in the store and in the audit log. What the store does not take is tried
    /// again some seconds later.
    pub fn write_down(&self, audit: &Audit) {
        let now = self.clock.now().0;
        let unwritten = {
            let mut state = self.state.lock();
            if state.unwritten.is_empty() || now < state.not_before {
                return;
            }
            std::mem::take(&mut state.unwritten)
        };
        for key in unwritten {
            let held = self.state.lock().held.get(&key).cloned();
            let Some((at, why)) = held else {
                continue;
            };
            let (component, settings) = (key.0.to_string(), key.1.to_string());
            let kept = self.store.hold_back(&HeldBack {
                component: component.clone(),
                settings,
                at: Timestamp(at),
                why: why.clone(),
            });
            if let Err(error) = kept {
                tracing::error!(%error, component, "a canary was held back, and the store did not keep it: it would decide again after a restart; it is tried again");
                let mut state = self.state.lock();
                state.unwritten.push(key);
                state.not_before = now.saturating_add(AGAIN);
                continue;
            }
            let about = format!("canary {component}");
            let audited = AuditedAction::new("canary-hold-back", &about);
            audit.of_host(vec![(audited, AuditOutcome::Done(why))]);
        }
    }

    /// Tell operators which canaries were held back, as far as that is written down.
    pub fn tell(&self, current: Option<&Release>, states: &RuleStates) {
        let mut state = self.state.lock();
        let untold = std::mem::take(&mut state.untold);
        for (key, measure) in untold {
            if state.unwritten.contains(&key) {
                state.untold.push((key, measure));
                continue;
            }
            let Some((at, why)) = state.held.get(&key) else {
                continue;
            };
            states.tell(told(current, key, (measure, why.as_str()), *at));
        }
    }

    /// What of a scheme was held back, each in words.
    #[must_use]
    pub fn problems(&self, scheme: &Scheme, document: &SchemeDocument) -> Vec<String> {
        let state = self.state.lock();
        let mut problems = Vec::new();
        for (step, bindings) in &scheme.steps {
            let intervals = bindings.iter().flat_map(Binding::intervals);
            for binding in intervals.map(|interval| interval.binding) {
                let own = Some((&binding.rule, binding.settings_json()));
                let canary = binding.canary.as_ref();
                let canary = canary
                    .map(|one| &one.rule)
                    .zip(binding.canary_settings_json());
                for (rule, settings) in own.into_iter().chain(canary) {
                    let digest = document.digests().get(ComponentKind::Rule, rule.as_str());
                    let Some(digest) = digest.map(spec::digest) else {
                        continue;
                    };
                    let held = state.held.get(&(digest, Digest::of(settings.as_bytes())));
                    if let Some((at, why)) = held {
                        problems.push(format!(
                            "steps.{step}: rule {rule} was held back as a canary at {} with these settings ({why}): change it",
                            words::instant(*at)
                        ));
                    }
                }
            }
        }
        problems
    }

    /// What the canaries of a release have done.
    #[must_use]
    pub fn reports(&self, release: &Release) -> Vec<CanaryReport> {
        let state = self.state.lock();
        let reports = all(release).map(|(step, bound, canary)| {
            let (counts, held) = (state.counts.get(&key(canary)), state.held.get(&key(canary)));
            CanaryReport::of((step, bound, canary), counts, held)
        });
        reports.collect()
    }
}

/// That a canary was held back, with its names in a release.
fn told(
    release: Option<&Release>,
    held: Key,
    (measure, why): (Option<Measure>, &str),
    at: u64,
) -> RuleState {
    let of_release = release.into_iter().flat_map(all);
    let found: Vec<_> = of_release.filter(|(_, _, one)| key(one) == held).collect();
    let first = found.first();
    let name = first.map(|(_, _, canary)| canary.bound.identity.name.to_string());
    let mut steps: Vec<String> = found.iter().map(|(step, ..)| (*step).to_owned()).collect();
    steps.sort_unstable();
    RuleState {
        id: format!("canary/{}/{}/HELD_BACK", held.0.hex(), held.1.hex()),
        kind: "canary",
        state: "HELD_BACK",
        rule: name.unwrap_or_else(|| held.0.to_string()),
        in_place_of: first.map(|(_, bound, _)| bound.identity.name.to_string()),
        steps,
        measure,
        reason: why.to_owned(),
        at,
    }
}

/// The canaries of a release: the step, the rule in force, and the canary.
pub fn all(release: &Release) -> impl Iterator<Item = (&str, &BoundRule, &BoundCanary)> {
    let rules = release.steps.iter();
    let rules = rules.flat_map(|(step, rules)| rules.iter().map(move |bound| (&**step, bound)));
    rules.filter_map(|(step, bound)| Some((step, bound, bound.canary.as_deref()?)))
}
