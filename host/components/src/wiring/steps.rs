//! Whether the rules of a release fit to the steps at which they are asked.

use std::collections::BTreeMap;

use rialto_engine::Name;

use super::Wirer;
use super::imports::differing;
use crate::introspect::{Function, Interface};
use crate::names::CHECK_FUNCTION;
use crate::problem::{Location, Part};
use crate::spec::{ComponentSpec, Role};
use crate::steps::{
    COUNTS, Fit, asks_counters, is_of_the_future, members, newest_known, says_counters, served,
};

/// The component that asks a step, and how.
#[derive(Clone, Copy)]
struct Asker<'a> {
    component: &'a ComponentSpec,
    question: &'a Interface,
    check: &'a Function,
    /// How it asks for the step's counters, if it does.
    counters: Option<&'a Function>,
}

impl<'a> Wirer<'a> {
    /// Check that each bound rule exports its step, and that a component asks each step.
    pub(super) fn steps(&mut self) {
        let mut asked: BTreeMap<String, Asker<'a>> = BTreeMap::new();
        for (component, shape) in self.spec.components.iter().zip(self.shapes) {
            for import in shape.imports.iter().filter(|i| i.name.is_rules()) {
                if let Some(check) = import.function(CHECK_FUNCTION) {
                    let counters = asks_counters(shape, &import.name.interface);
                    let asker = Asker {
                        component,
                        question: import,
                        check,
                        counters,
                    };
                    // The newest question decides which rules fit.
                    let known = asked.get(&import.name.interface);
                    if known.is_none_or(|known| known.question.is_older_than(import)) {
                        asked.insert(import.name.interface.clone(), asker);
                    }
                }
            }
        }
        for (at, bound) in self.spec.steps.iter().enumerate() {
            let binding = || self.spec.bound(at);
            let asked_by = asked.get(&*bound.step);
            if asked_by.is_none() && !self.spec.has_rules_alone {
                let known: Vec<&str> = asked.keys().map(String::as_str).collect();
                let help = format!("the contexts of this scheme ask {}", known.join(", "));
                self.problem(
                    "step-unasked",
                    Location::Bound(binding(), Part::Step),
                    "is asked by no context".into(),
                    help,
                );
                continue;
            }
            let shadow = bound.shadow.as_ref();
            let candidate = shadow.map(|shadow| (&shadow.rule, Part::Shadow));
            let canary = bound.canary.as_ref();
            let candidate = candidate.or_else(|| canary.map(|canary| (&canary.rule, Part::Canary)));
            for (rule, part) in [Some((&bound.rule, Part::Rule)), candidate]
                .into_iter()
                .flatten()
            {
                self.rule_at_step(at, (rule, part), asked_by.copied());
            }
        }
    }

    /// Check that a rule that is bound to a step exports it, with the types with which it is asked.
    fn rule_at_step(
        &mut self,
        at: usize,
        (rule, part): (&Name, Part),
        asked_by: Option<Asker<'_>>,
    ) {
        let bound = &self.spec.steps[at];
        let location = || Location::Bound(self.spec.bound(at), part.clone());
        let mut rules = self.spec.components.iter().zip(self.shapes);
        let found = rules.find(|(c, _)| c.role == Role::Rule && c.name == *rule);
        let Some((_, shape)) = found else {
            let what = "there is no such rule".to_owned();
            let help = "add it under [rules]".into();
            return self.problem("rule-unknown", location(), what, help);
        };
        let question = asked_by.map(|asker| asker.question);
        let export = served(shape, &bound.step, question);
        let answer = export.and_then(|e| Some((&e.name.version, e.function(CHECK_FUNCTION)?)));
        let Some((version, answer)) = answer else {
            return self.problem(
                "rule-elsewhere",
                location(),
                "does not serve this step".to_owned(),
                format!("a rule for it exports rialto:rules/{}", bound.step),
            );
        };
        if is_of_the_future(version, question) {
            let known = newest_known(question);
            let what = format!(
                "`{rule}` is built for {version} of the contracts, and {known} is the newest that is known"
            );
            let help = "build it against the contracts of this host: `rialto wit` writes them";
            return self.problem("of-the-future", location(), what, help.into());
        }
        let Some(asker) = asked_by else {
            return;
        };
        let (name, check) = (&asker.component.name, asker.check);
        match Fit::of(answer, check) {
            Fit::Serves => {}
            Fit::Needs(needed) => {
                let what = format!(
                    "`{rule}` needs {} in the input, which `{name}` does not give",
                    needed.join(", ")
                );
                let help = format!("use a newer `{name}`, or an older version of the rule");
                return self.problem("needs-more", location(), what, help);
            }
            Fit::Differs => {
                let what = format!(
                    "`{name}` asks otherwise than `{rule}` answers: {}",
                    differing(check, answer)
                );
                let help = "build both against the same wit/".into();
                return self.problem("types-differ", location(), what, help);
            }
        }
        let takes_counts = members(answer).iter().any(|(name, _)| name == COUNTS);
        let Some((_, says)) = says_counters(shape).filter(|_| takes_counts) else {
            return;
        };
        let fits = asker.counters.map(|asks| asks.results == says.results);
        if fits != Some(true) {
            let what = match fits {
                None => format!("`{rule}` needs counters, and `{name}` does not ask for them"),
                _ => format!("`{rule}` has other counters than `{name}` keeps"),
            };
            let help = "build both against the same wit/".into();
            self.problem("no-counters", location(), what, help);
        }
    }
}
