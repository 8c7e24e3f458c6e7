//! Drills, and rules in quarantine, as text for people.

use std::fmt::Write as _;

use rialto_components::Failing;
use rialto_manifest::values::Duration;

use super::{instant, plain};
use crate::ops::{Drill, DrilledRule, ShownFailure};
use crate::quarantines::ShownQuarantine;

/// The answer: each rule, with a line for each of its failures.
pub fn drill(answer: &Drill) -> String {
    let mut text = String::new();
    for rule in &answer.rules {
        let _ = writeln!(text, "{} {}", plain(&rule.rule), plain(&rule.version));
        for failure in &rule.failures {
            let came_to = came_to(failure, answer);
            let _ = writeln!(text, "  {:<8} {came_to}", failure.failure.name());
            let _ = writeln!(text, "  {:<8} {}", "", plain(&failure.reason));
        }
        quarantine_terms(&mut text, rule);
        if let Some(canary) = &rule.canary {
            let canary = plain(canary);
            let _ = writeln!(text, "  if its canary {canary} fails, the rule is asked");
        }
    }
    if !answer.suspended.is_empty() {
        let suspended = plain(&answer.suspended.join(", "));
        let _ = writeln!(text, "suspended, and not asked: {suspended}");
    }
    if answer.left_out > 0 {
        let left_out = answer.left_out;
        let _ = writeln!(text, "confidential, and not asked about it: {left_out}");
    }
    if !answer.asks_others {
        text.push_str("the rules beside the one that fails are taken to allow: give an input\n");
    }
    let _ = writeln!(
        text,
        "drilled on a copy of release {} at {}; this is no decision",
        answer.release,
        plain(&answer.step)
    );
    text
}

fn came_to(failure: &ShownFailure, answer: &Drill) -> String {
    let by = failure
        .decided_by
        .as_ref()
        .map_or_else(String::new, |rule| format!(" (by {})", plain(rule)));
    let last_good = failure
        .last_good
        .map_or_else(String::new, |number| format!(" (release {number})"));
    let by = format!("{by}{last_good}");
    match failure.answer.as_str() {
        "last-good" => format!("its last good release decides{last_good}"),
        "refuse" => {
            let told = failure.violations.iter();
            let told: Vec<String> = told
                .map(|one| format!("{} {}", plain(&one.code), plain(&one.message)))
                .collect();
            format!("refused: {}{by}", told.join("; "))
        }
        "turn-fails" => format!(
            "no verdict: a request is answered with an error; a delivery is tried again, at most {} times within {}, and is then a dead letter",
            answer.attempts,
            Duration::from_millis(answer.retry_for_ms)
        ),
        "allow-and-flag" => "allowed, and flagged for the operator".to_owned(),
        _ => format!("allowed{by}"),
    }
}

fn quarantine_terms(text: &mut String, rule: &DrilledRule) {
    let Some(terms) = &rule.quarantine else {
        text.push_str("  no quarantine: it is asked again and again\n");
        return;
    };
    let word = |failing| match failing {
        Failing::Refuse => "refuse",
        Failing::Allow => "allow",
        Failing::AllowAndFlag => "allow and flag",
        Failing::LastGood => "the last good release decides",
    };
    let decides = rule.failures.iter().filter_map(|failure| {
        let word = word(failure.in_quarantine?);
        Some(format!("{}: {word}", failure.failure.name()))
    });
    let decides: Vec<String> = decides.collect();
    let _ = writeln!(
        text,
        "  quarantine after {} failures in a row, for {} and at most {}; meanwhile {}",
        terms.failures,
        Duration::from_millis(terms.pause_ms),
        Duration::from_millis(terms.longest_ms),
        decides.join(", ")
    );
}

/// `limits at a-check is asked again: …`
pub fn quarantine_end(one: &ShownQuarantine) -> String {
    format!(
        "{} at {} is asked again: it was in quarantine since {}, and {} requests were decided without it\n",
        plain(&one.rule),
        plain(&one.step),
        instant(one.since),
        one.decided,
    )
}

/// `limits at a-check: not asked until 2026-…, since 2026-…, after 5 failures in a row (trap): …`
pub fn quarantine(one: &ShownQuarantine) -> String {
    format!(
        "{} at {}: not asked until {}, since {}, after {} failures in a row ({}): {}; {} requests were decided without it\n",
        plain(&one.rule),
        plain(&one.step),
        instant(one.until),
        instant(one.since),
        one.failures,
        plain(&one.failure),
        plain(&one.reason),
        one.decided,
    )
}
