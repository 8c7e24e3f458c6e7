//! Which refusals a scheme's rules can give: each code at each step, and by which messages it is told.

use rialto_components::Release;
use rialto_manifest::scheme::Scheme;
use serde::Serialize;

use crate::kit::told::told;

/// A refusal that can come.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PossibleRefusal {
    /// The step.
    pub step: String,
    /// The rule, by its name in the scheme.
    pub rule: String,
    /// The code.
    pub code: String,
    /// The scheme's words for the code.
    pub description: String,
    /// Whether it stands for a failure of the rule.
    pub is_failure: bool,
    /// The messages by which it is told, each with whom it goes to.
    pub told: Vec<&'static str>,
}

/// All refusals that the rules of a release can give, by step, in the order in which the rules are asked.
#[must_use]
pub fn possible(release: &Release, scheme: &Scheme) -> Vec<PossibleRefusal> {
    let mut steps: Vec<_> = release.steps.iter().collect();
    steps.sort_by_key(|(step, _)| (*step).clone());
    let mut all = Vec::new();
    for (step, rules) in steps {
        for bound in rules {
            let member = &release.members[bound.member];
            let codes = member.description.as_ref().map(|said| &said.codes);
            let codes = codes.into_iter().flatten().map(|code| (&**code, false));
            for (code, is_failure) in codes.chain([(&*bound.failure_code, true)]) {
                let mut errors = scheme.errors.iter();
                let known = errors.find(|error| error.code.as_str() == code);
                let refusal = PossibleRefusal {
                    step: step.to_string(),
                    rule: bound.identity.name.to_string(),
                    code: code.to_owned(),
                    description: known.map(|e| e.description.to_string()).unwrap_or_default(),
                    is_failure,
                    told: told(step),
                };
                // A rule that is there with several dates has its codes once.
                if !all.contains(&refusal) {
                    all.push(refusal);
                }
            }
        }
    }
    all
}
