//! Runs the golden cases of a bundle.

use std::time::Instant;

use rialto_components::problem::Problem;

use super::{Report, told};
use crate::bundles::contents::CaseFile;
use crate::kit::case::Case;
use crate::kit::file::RuleFile;
use crate::words;

/// Has a rule judge its cases, until an instant if there is one.
pub(super) fn run(
    (name, rule): (&str, &RuleFile),
    all: &[CaseFile],
    until: Option<Instant>,
    report: &mut Report,
) {
    let (mut count, mut failed) = (0_usize, 0_usize);
    for file in all.iter().filter(|file| file.rule == name) {
        if until.is_some_and(|until| Instant::now() > until) {
            report.findings.push(format!(
                "the cases of {name} take too long here: after {count} of them the time was over; `rialto bundle verify` runs all"
            ));
            return;
        }
        count += 1;
        if let Some(why) = objection(rule, file) {
            failed += 1;
            let case = told(name, &file.name);
            report.findings.push(format!("{case}: {why}"));
        }
    }
    match count {
        0 => report
            .notes
            .push(format!("the rule {name} has no golden case")),
        _ if failed == 0 => report
            .holds
            .push(format!("{count} cases of {name} as expected")),
        _ => {}
    }
}

/// Why a case fails; none if it passes.
fn objection(rule: &RuleFile, file: &CaseFile) -> Option<String> {
    let case: Case = match serde_json::from_slice(&file.bytes) {
        Ok(case) => case,
        Err(error) => return Some(format!("it is no case: {error}")),
    };
    let judged = rule.judge(&case.step, &case.settings(), case.subject(), &case.input);
    match judged {
        Err(unjudged) => Some(unjudged.to_string()),
        Ok(judged) => {
            let why = case.objection(rule, &judged)?;
            Some(format!("{}; {why}", words::verdict(&judged.outcome)))
        }
    }
}

/// Problems as findings.
pub(super) fn told_problems(problems: &[Problem]) -> impl Iterator<Item = String> {
    problems.iter().map(ToString::to_string)
}
