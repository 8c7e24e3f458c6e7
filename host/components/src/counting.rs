//! The counters that rules need: asked when a release is prepared, and bounded.

use std::sync::Arc;

use foldhash::HashMap;
use rialto_engine::Name;
use wasmtime::component::Val;

use crate::guest::Identity;
use crate::introspect::{Shape, version};
use crate::names::CHECK_FUNCTION;
use crate::release::{BoundRule, Member, Release};
use crate::spec::{ReleaseSpec, StepSpec};
use crate::steps::{self, Asked, COUNTERS_OF_RULE_MAX, COUNTERS_OF_STEP_MAX, COUNTS};
use crate::values::Json;
use crate::wiring::{Location, Part, Problem};

/// How the contexts ask each step.
pub(crate) fn asked(shapes: &[Shape]) -> HashMap<Name, Asked> {
    let imports = shapes.iter().flat_map(|shape| &shape.imports);
    let mut questions: Vec<_> = imports.filter(|import| import.name.is_rules()).collect();
    // The newest question of a step counts.
    questions.sort_by_key(|import| version(&import.name.version));
    let asked = questions.into_iter().filter_map(|import| {
        let asked = Asked {
            interface: import.name.to_string().as_str().into(),
            check: import.function(CHECK_FUNCTION)?.clone(),
        };
        Some((import.name.interface.as_str().into(), asked))
    });
    asked.collect()
}

/// The counters that a rule needs with its settings.
///
/// # Errors
/// What is wrong with them, in words.
pub(crate) fn counters(
    member: &Member,
    identity: &Arc<Identity>,
    taken: &[Name],
) -> Result<Arc<[Val]>, String> {
    let says = steps::says_counters(&member.shape);
    let takes_counts = taken.iter().any(|name| &**name == COUNTS);
    let Some((interface, function)) = says.filter(|_| takes_counts) else {
        return Ok(Arc::default());
    };
    let asked = member
        .export(&interface.name.to_string(), &function.name)
        .ok_or_else(|| wasmtime::format_err!("the rule does not say its counters"))
        .and_then(|export| {
            let settings = [Val::String(identity.settings.to_string())];
            let mut results = [Val::Bool(false)];
            member
                .instantiate(identity)?
                .call(|instance| member.invoke(instance, export, &settings, &mut results))?;
            let [said] = results;
            Ok(said)
        });
    let said = asked.map_err(|error| {
        let why = member.explain(&error).reason;
        format!("fails when it says its counters: {why}")
    })?;
    let Val::List(said) = said else {
        return Err("says its counters otherwise than as a list".to_owned());
    };
    let mut counters = Vec::new();
    steps::unite(&mut counters, &said);
    if counters.len() > COUNTERS_OF_RULE_MAX {
        let count = counters.len();
        return Err(format!(
            "needs {count} counters, where {COUNTERS_OF_RULE_MAX} are allowed"
        ));
    }
    Ok(counters.into())
}

/// The steps whose rules need too many counters in all, with the rule that goes beyond.
pub(crate) fn too_many(spec: &ReleaseSpec, steps: &HashMap<Name, Vec<BoundRule>>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (step, rules) in steps {
        let mut all = Vec::new();
        for bound in rules {
            let before = all.len();
            steps::unite(&mut all, bound.all_counters());
            if before > COUNTERS_OF_STEP_MAX || all.len() <= COUNTERS_OF_STEP_MAX {
                continue;
            }
            let same = |one: &StepSpec| one.step == *step && one.rule == bound.identity.name;
            let Some(nth) = spec.steps.iter().position(same) else {
                continue;
            };
            problems.push(Problem::new(
                "bad-counters",
                Location::Bound(spec.bound(nth), Part::Settings(String::new())),
                format!(
                    "the rules of the step need {} counters up to this one, where {COUNTERS_OF_STEP_MAX} are allowed",
                    all.len()
                ),
                "let rules share counters: the same dimensions and the same window are one counter",
            ));
        }
    }
    problems
}

/// A counter that a rule needs, and that nobody has kept yet.
#[derive(Clone, Debug, PartialEq)]
pub struct FreshCounter {
    /// The step.
    pub step: Name,
    /// The first rule that needs it, by its name in the scheme.
    pub rule: Name,
    /// The counter as JSON.
    pub counter: serde_json::Value,
}

impl Release {
    /// The counters that the rules of this release need, and those of another one at the same step do not: they count from
    /// this release on. In the order of steps and rules.
    #[must_use]
    pub fn fresh_counters(&self, before: &Self) -> Vec<FreshCounter> {
        let mut steps: Vec<_> = self.steps.iter().collect();
        steps.sort_unstable_by_key(|(step, _)| (*step).clone());
        let mut fresh = Vec::new();
        for (step, rules) in steps {
            let mut known: Vec<Val> = Vec::new();
            for bound in before.steps.get(step).into_iter().flatten() {
                steps::unite(&mut known, bound.all_counters());
            }
            for bound in rules {
                for counter in bound.all_counters() {
                    let count = known.len();
                    steps::unite(&mut known, std::iter::once(counter));
                    if known.len() > count {
                        fresh.push(FreshCounter {
                            step: step.clone(),
                            rule: bound.identity.name.clone(),
                            // Only plain values cross between components, and all of these can be encoded.
                            counter: serde_json::to_value(Json(counter)).unwrap_or_default(),
                        });
                    }
                }
            }
        }
        fresh
    }
}
