//! Binds rules to the steps of a release, with their candidates.

use std::sync::Arc;

use foldhash::HashMap;
use rialto_engine::Name;

use crate::counting;
use crate::digest::Digest;
use crate::guest::Identity;
use crate::last_good::LastGoodSlot;
use crate::names::CHECK_FUNCTION;
use crate::problem::{Location, Part, Problem};
use crate::release::{BoundCanary, BoundRule, BoundShadow, Member, RuleDescription};
use crate::spec::ReleaseSpec;
use crate::steps;

/// Bind a rule to its step, with the candidate in its shadow.
pub(super) fn bind(
    spec: &ReleaseSpec,
    nth: usize,
    members: &[Member],
    by_name: &HashMap<Name, usize>,
) -> Result<BoundRule, Vec<Problem>> {
    let step = &spec.steps[nth];
    let all = (members, by_name);
    let rule = Binding::at(spec, nth, Part::Rule, (&step.rule, &step.settings));
    let bound = rule.bind(all);
    if let Some(canary) = &step.canary {
        let candidate = Binding::at(spec, nth, Part::Canary, (&canary.rule, &canary.settings));
        let candidate = candidate.bind(all);
        if let (Ok(bound), Ok(candidate)) = (&bound, &candidate)
            && members[bound.member].digest == members[candidate.member].digest
            && bound.settings_digest == candidate.settings_digest
        {
            let what = "is the rule itself: the same component with the same settings";
            let location = Location::Bound(spec.bound(nth), Part::Canary);
            let help = "give it another component or other settings";
            return Err(vec![Problem::new(
                "canary-is-its-rule",
                location,
                what,
                help,
            )]);
        }
        return both(bound, candidate, |candidate, bound| BoundRule {
            canary: Some(Arc::new(BoundCanary {
                digest: members[candidate.member].digest,
                bound: candidate,
                terms: canary.terms.clone(),
            })),
            ..bound
        });
    }
    let Some(shadow) = &step.shadow else {
        return bound;
    };
    let candidate = Binding::at(spec, nth, Part::Shadow, (&shadow.rule, &shadow.settings));
    both(bound, candidate.bind(all), |candidate, bound| BoundRule {
        shadow: Some(Arc::new(BoundShadow {
            bound: candidate,
            share: shadow.share,
            cpu: shadow.cpu,
        })),
        ..bound
    })
}

/// A rule with its candidate, or the problems of both.
fn both(
    bound: Result<BoundRule, Vec<Problem>>,
    candidate: Result<BoundRule, Vec<Problem>>,
    with: impl FnOnce(BoundRule, BoundRule) -> BoundRule,
) -> Result<BoundRule, Vec<Problem>> {
    match (bound, candidate) {
        (Ok(bound), Ok(candidate)) => Ok(with(candidate, bound)),
        (bound, candidate) => {
            let problems = bound.err().into_iter().chain(candidate.err());
            Err(problems.flatten().collect())
        }
    }
}

/// A rule that is to be bound to a step: in force, or in the shadow of another one.
struct Binding<'a> {
    spec: &'a ReleaseSpec,
    nth: usize,
    /// [`Part::Rule`], [`Part::Shadow`] or [`Part::Canary`].
    part: Part,
    rule: &'a Name,
    settings: &'a Arc<str>,
}

impl<'a> Binding<'a> {
    fn at(
        spec: &'a ReleaseSpec,
        nth: usize,
        part: Part,
        (rule, settings): (&'a Name, &'a Arc<str>),
    ) -> Self {
        Self {
            spec,
            nth,
            part,
            rule,
            settings,
        }
    }

    /// Bind it. The scheme must declare its codes, and the rule must accept its settings.
    fn bind(
        &self,
        (members, by_name): (&[Member], &HashMap<Name, usize>),
    ) -> Result<BoundRule, Vec<Problem>> {
        let step = &self.spec.steps[self.nth];
        let location = |part: Part| Location::Bound(self.spec.bound(self.nth), part);
        let problem = |code: &'static str, part: Part, what: &str| {
            vec![Problem::new(code, location(part), what, "")]
        };
        let at = by_name.get(self.rule).copied();
        let Some((at, member)) = at.map(|at| (at, &members[at])) else {
            return Err(problem(
                "rule-unknown",
                self.part.clone(),
                "there is no such rule",
            ));
        };
        let shapes = members.iter().map(|member| &member.shape);
        let question = steps::newest_question(shapes, &step.step);
        let served = steps::served(&member.shape, &step.step, question);
        let served = served.and_then(|interface| {
            let export = member.export(&interface.name.to_string(), CHECK_FUNCTION)?;
            Some((export, interface.function(CHECK_FUNCTION)?))
        });
        let Some((export, check)) = served else {
            let what = "the rule does not serve this step";
            return Err(problem("rule-elsewhere", self.part.clone(), what));
        };
        let taken = steps::members(check).into_iter();
        let taken: Arc<[Name]> = taken.map(|(name, _)| name.as_str().into()).collect();
        let identity = Arc::new(Identity {
            settings: self.settings.clone(),
            is_quiet: self.part == Part::Shadow,
            ..(*member.identity).clone()
        });
        let mut problems = undeclared_codes(self.spec, self.nth, &self.part, member);
        let needed = member.description.as_ref().and_then(RuleDescription::fuel);
        let may_have = member.limits.fuel.unwrap_or(u64::MAX);
        if let Some(needed) = needed.filter(|needed| *needed > may_have) {
            let what = format!("needs up to {needed} fuel for a verdict and may have {may_have}");
            let help = "raise `limits.fuel` of the rule";
            problems.push(Problem::new(
                "fuel-below-need",
                location(self.part.clone()),
                what,
                help,
            ));
        }
        match judge_settings(member, &identity) {
            Ok(errors) => problems.extend(errors.into_iter().map(|(pointer, message)| {
                let what = format!("settings{pointer}: {message}");
                let part = self.settings_at(pointer);
                Problem::new("bad-settings", location(part), what, "")
            })),
            Err(error) => {
                let why = member.explain(&error).reason;
                let what = format!("fails when it judges its settings: {why}");
                let part = self.settings_at(String::new());
                problems.extend(problem("fails-to-judge", part, &what));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let counters = match counting::counters(member, &identity, &taken) {
            Ok(counters) => counters,
            Err(what) => {
                let part = self.settings_at(String::new());
                return Err(problem("bad-counters", part, &what));
            }
        };
        Ok(BoundRule {
            member: at,
            export,
            identity,
            members: taken,
            counters,
            settings_digest: Digest::of(self.settings.as_bytes()),
            failing: step.failing,
            failure_code: step.failure_code.clone(),
            last_good: LastGoodSlot::default(),
            quarantine: None,
            always_newest: step.always_newest,
            confidential: step.confidential,
            effective: step.effective,
            shadow: None,
            canary: None,
        })
    }

    fn settings_at(&self, pointer: String) -> Part {
        match self.part {
            Part::Shadow => Part::ShadowSettings(pointer),
            Part::Canary => Part::CanarySettings(pointer),
            _ => Part::Settings(pointer),
        }
    }
}

fn undeclared_codes(spec: &ReleaseSpec, at: usize, part: &Part, member: &Member) -> Vec<Problem> {
    let step = &spec.steps[at];
    let said = member.description.iter().flat_map(|d| &d.codes);
    let codes = said.map(|code| (code.as_str(), part.clone(), "may return"));
    let failure = (
        &*step.failure_code,
        Part::FailureCode,
        "has the failure code",
    );
    // A candidate's failure refuses nothing.
    let failure = (*part == Part::Rule).then_some(failure);
    codes
        .chain(failure)
        .filter(|(code, _, _)| !spec.codes.iter().any(|known| known == code))
        .map(|(code, part, does)| {
            Problem::new(
                "undeclared-code",
                Location::Bound(spec.bound(at), part),
                format!("{does} {code}, which the scheme does not declare"),
                format!("add [[errors]] with code = \"{code}\" to scheme.toml"),
            )
        })
        .collect()
}

fn judge_settings(
    member: &Member,
    identity: &Arc<Identity>,
) -> wasmtime::Result<Vec<(String, String)>> {
    let indices = member
        .handlers
        .rule
        .as_ref()
        .ok_or_else(|| wasmtime::format_err!("is no rule"))?;
    let judged = member.instantiate(identity)?.call(|instance| {
        let rule = indices.load(&mut instance.store, &instance.instance)?;
        rule.call_validate_settings(&mut instance.store, &identity.settings)
    })?;
    let errors = judged.err().unwrap_or_default();
    Ok(errors.into_iter().map(|e| (e.pointer, e.message)).collect())
}
