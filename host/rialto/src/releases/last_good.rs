//! Finds the last good release of each rule that has the word `last-good`, and prepares it before the rule's release is
//! current.
//!
//! That is the newest earlier release that was current, was not taken back by a rollback since, and binds the rule of this
//! name to the same step with other bytes or other settings. What of it is prepared is this rule alone. The current scheme
//! must declare its codes.

use std::collections::BTreeSet;

use anyhow::Context as _;
use rialto_components::release::BoundRule;
use rialto_components::{Digest, Effective, Failing, Release, ReleaseSpec};
use rialto_manifest::ComponentKind;
use rialto_manifest::scheme::{Binding, Scheme, SchemeDocument};
use rialto_store_sqlite::StoredActivation;

use super::{Refused, Releases, unfit};
use crate::spec;

/// The earlier releases that are looked at, the newest first.
const LOOKED_AT_MAX: usize = 100;

impl Releases {
    /// Have the last good releases of a release's rules ready. A rule without one refuses when it fails, and the log says so.
    pub(super) fn bring_last_good(
        &self,
        release: &Release,
        document: &SchemeDocument,
    ) -> Result<(), Refused> {
        let wants = |bound: &BoundRule| bound.failing.has_last_good();
        if !release.steps.values().flatten().any(wants) {
            return Ok(());
        }
        let scheme = document.scheme().map_err(|problems| unfit(&problems))?;
        let activations = self.store.activations();
        let taken_back = taken_back(&activations.context("reading the activations")?);
        let were_current = self.store.releases_once_current();
        let were_current = were_current.context("reading the releases")?;
        let earlier: BTreeSet<u64> = were_current
            .into_iter()
            .filter(|number| *number < release.number && !taken_back.contains(number))
            .collect();
        let bound = release.steps.iter().flat_map(|(step, rules)| {
            let rules = rules.iter().enumerate();
            rules.map(move |(nth, bound)| (&**step, nth, bound))
        });
        let mut without: Vec<(&str, usize, &BoundRule)> = bound
            .filter(|(_, _, bound)| wants(bound) && bound.last_good().is_none())
            .collect();
        // Each document is read once, whatever rules still look for theirs.
        for number in earlier.into_iter().rev().take(LOOKED_AT_MAX) {
            if without.is_empty() {
                break;
            }
            let Ok(document) = self.document(number) else {
                continue;
            };
            without.retain(|(step, nth, bound)| {
                let found = self.earlier((number, &document), release, (step, bound), &scheme);
                let Some(found) = found else {
                    return true;
                };
                set_last_good(release, (step, *nth, bound), found);
                false
            });
        }
        for (step, _, bound) in without {
            let rule = &bound.identity.name;
            tracing::warn!(%step, %rule, "a rule has no last good release: where its failure means `last-good`, it refuses");
        }
        Ok(())
    }

    /// A rule at a step of an earlier release alone, if it is there, differs, and can be prepared.
    fn earlier(
        &self,
        (number, document): (u64, &SchemeDocument),
        release: &Release,
        (step, bound): (&str, &BoundRule),
        scheme: &Scheme,
    ) -> Option<Release> {
        let rule = &*bound.identity.name;
        let now = (release.members[bound.member].digest, bound.settings_digest);
        let settings = differing(document, step, rule, now)?;
        let spec = self.spec_of_rule(number, document, (step, bound), &settings, scheme);
        let prepared = spec.and_then(|spec| {
            let prepared = self.runtime.prepare(&spec);
            prepared.map_err(|problems| anyhow::anyhow!("{problems:?}"))
        });
        prepared
            .inspect_err(|error| {
                tracing::warn!(
                    step,
                    rule,
                    number,
                    "an earlier release of a rule cannot be prepared: {error:#}"
                );
            })
            .ok()
    }

    fn spec_of_rule(
        &self,
        number: u64,
        document: &SchemeDocument,
        (step, bound): (&str, &BoundRule),
        settings: &str,
        scheme: &Scheme,
    ) -> anyhow::Result<ReleaseSpec> {
        let rule = &*bound.identity.name;
        let bytes = |digest: Digest| {
            let bytes = self.store.component(&digest.to_string()).ok().flatten();
            bytes.map(Into::into)
        };
        let mut spec = spec::release(number, document, bytes)?.rules_alone();
        spec.components.retain(|one| *one.name == *rule);
        spec.steps
            .retain(|one| *one.step == *step && *one.rule == *rule && *one.settings == *settings);
        spec.steps.truncate(1);
        for one in &mut spec.steps {
            one.failing = Failing::Refuse.into();
            one.failure_code = bound.failure_code.clone();
            one.quarantine = None;
            one.effective = Effective::default();
            one.shadow = None;
            one.canary = None;
        }
        let codes = scheme.errors.iter();
        spec.codes = codes.map(|one| one.code.as_str().to_owned()).collect();
        Ok(spec)
    }
}

/// Let a rule have this last good release, and say in the log whether it can be asked.
fn set_last_good(
    release: &Release,
    (step, nth, bound): (&str, usize, &BoundRule),
    last_good: Release,
) {
    let (rule, number) = (&bound.identity.name, last_good.number);
    match release.set_last_good(step, nth, last_good) {
        Ok(()) => {
            tracing::info!(%step, %rule, number, "the last good release of a rule is ready");
        }
        Err(error) => {
            tracing::warn!(%step, %rule, number, %error, "the last good release of a rule cannot be asked: where its failure means `last-good`, it refuses");
        }
    }
}

/// The releases that a rollback has taken back, and that have not become current since.
pub(super) fn taken_back(activations: &[StoredActivation]) -> BTreeSet<u64> {
    let mut taken_back = BTreeSet::new();
    for one in activations.iter().filter(|one| one.done) {
        if one.release < one.before {
            taken_back.extend(one.release + 1..=one.before);
        }
        taken_back.remove(&one.release);
    }
    taken_back
}

/// The settings of a rule at a step of a release, if its bytes or settings differ from those now.
fn differing(
    document: &SchemeDocument,
    step: &str,
    rule: &str,
    now: (Digest, Digest),
) -> Option<String> {
    let scheme = document.scheme().ok()?;
    let digest = document.digests().get(ComponentKind::Rule, rule);
    let digest = digest.map(spec::digest)?;
    let mut steps = scheme.steps.iter();
    let (_, bindings) = steps.find(|(name, _)| name.as_str() == step)?;
    let of_rule = bindings.iter().filter(|one| one.rule.as_str() == rule);
    let intervals = of_rule.flat_map(Binding::intervals);
    let mut settings = intervals.map(|one| one.binding.settings_json());
    settings.find(|settings| (digest, Digest::of(settings.as_bytes())) != now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_engine::Timestamp;

    fn activated(release: u64, before: u64, done: bool) -> StoredActivation {
        StoredActivation {
            release,
            before,
            at: Timestamp(0),
            person: String::new(),
            operator: String::new(),
            note: String::new(),
            done,
        }
    }

    #[test]
    fn what_a_rollback_took_back_is_not_good_until_it_is_current_again() {
        let mut all = vec![
            activated(1, 0, true),
            activated(2, 1, true),
            activated(3, 2, true),
        ];
        let of = |all: &[StoredActivation]| taken_back(all).into_iter().collect::<Vec<_>>();
        assert_eq!(of(&all), [0; 0]);
        all.push(activated(1, 3, false));
        assert_eq!(of(&all), [0; 0], "it was refused");
        all.push(activated(1, 3, true));
        assert_eq!(of(&all), [2, 3]);
        all.push(activated(4, 1, true));
        assert_eq!(of(&all), [2, 3]);
        all.push(activated(3, 4, true));
        assert_eq!(of(&all), [2, 4]);
    }
}
