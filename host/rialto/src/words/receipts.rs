//! Receipts as text for people. An input is shown once.

use std::collections::HashSet;
use std::fmt::Write as _;

use rialto_components::judges::JudgedBy;
use rialto_components::rules::InForce;
use serde_json::value::RawValue;

use super::{Paint, instant};
use crate::ops::FiledReceipt;

/// The most lines of an input that are shown.
const LINES_MAX: usize = 80;

/// Receipts, each in a few lines.
pub fn receipts(filed: &[FiledReceipt], colours: bool) -> String {
    let paint = Paint(colours);
    let mut text = String::new();
    // The rules of a step judge the same input. It is shown with the first of them.
    let mut shown = HashSet::new();
    for FiledReceipt {
        id,
        at,
        receipt,
        again,
    } in filed
    {
        let Some(receipt) = receipt else {
            let when = paint.dim(&format!("{id} {}", instant(*at)));
            let _ = writeln!(
                text,
                "{when} names a person whose key is destroyed or missing"
            );
            continue;
        };
        let said = verdict(&receipt.verdict);
        let said = if said == "allow" {
            paint.green(&said)
        } else {
            paint.red(&said)
        };
        let _ = writeln!(
            text,
            "{} {} at {}: {said}",
            paint.dim(&format!("{id} {}", instant(*at))),
            paint.bold(&receipt.rule),
            receipt.step
        );
        let mut row = |name: &str, value: String| {
            let line = format!("    {name:<10} {value}");
            let _ = writeln!(text, "{}", line.trim_end());
        };
        if receipt.what_if {
            row("WHAT-IF", "it is about a draft and decided nothing".into());
        }
        row("about", receipt.subject.clone());
        row(
            "component",
            format!("{} (version {})", receipt.digest, receipt.rule_version),
        );
        row("settings", receipt.settings_digest.to_string());
        if shown.insert(receipt.input_digest) {
            row("input", receipt.input_digest.to_string());
            row("", pretty(&receipt.input));
        } else {
            row("input", format!("{}, as above", receipt.input_digest));
        }
        row(
            "cost",
            format!(
                "{} of {} fuel, {} µs",
                receipt.fuel, receipt.fuel_limit, receipt.took_us
            ),
        );
        row("release", receipt.release.to_string());
        if let Some(agreed) = &receipt.agreed {
            let why = match agreed.judged {
                JudgedBy::Agreed => "whose rules have judged",
                JudgedBy::AlwaysNewest => "and this rule is always the newest",
                JudgedBy::RolledBack => "which was rolled back",
                JudgedBy::NotKept => "which is not ready any more",
                JudgedBy::Suspended => "whose rule is suspended",
                JudgedBy::Quarantined => "whose rule is in quarantine",
            };
            let at = instant(agreed.at);
            row(
                "agreed",
                format!("under release {} at {at}, {why}", agreed.release),
            );
        }
        if let Some(in_force) = &receipt.shadow {
            let InForce {
                rule,
                verdict: decided,
                receipt,
                ..
            } = in_force;
            let decided = verdict(decided);
            row(
                "shadow",
                format!("it decided nothing; {rule} did (receipt {receipt}): {decided}"),
            );
        }
        if let Some(canary) = &receipt.canary {
            let rule = &canary.rule;
            let said = if canary.is_void {
                format!("it failed in the place of {rule}, which was asked after it")
            } else {
                format!("it decided in the place of {rule}")
            };
            row("canary", said);
        }
        if let Some(asked) = receipt.last_good_for {
            let said = format!("it decided because the rule of release {asked} had failed");
            row("last good", said);
        }
        if receipt.quarantined {
            row("quarantine", "the rule was not asked".into());
        }
        if receipt.flagged {
            row("flagged", "the rule failed and the request went on".into());
        }
        if let Some(again) = again {
            let same = if again.same { "the same" } else { "DIFFERENT" };
            row(
                "again",
                format!("{same}: {}, {} fuel", again.verdict, again.fuel),
            );
        }
    }
    text
}

/// A verdict, with all its violations.
pub fn verdict(outcome: &rialto_components::rules::Outcome) -> String {
    use rialto_components::rules::Outcome;
    match outcome {
        Outcome::Allow => "allow".into(),
        Outcome::Refuse { violations } => {
            let all: Vec<String> = violations
                .iter()
                .map(|v| format!("{} {}", v.code, v.message))
                .collect();
            format!("refuse: {}", all.join("; "))
        }
        Outcome::Failed { reason, .. } => format!("{}: {reason}", outcome.short()),
    }
}

/// An input as indented JSON lines.
fn pretty(input: &RawValue) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(input.get());
    let written = value.and_then(|value| serde_json::to_string_pretty(&value));
    let text = written.unwrap_or_else(|_| input.get().to_owned());
    let count = text.lines().count();
    let mut lines: Vec<&str> = text.lines().take(LINES_MAX).collect();
    let cut = format!(
        "… and {} lines more: see --json",
        count.saturating_sub(LINES_MAX)
    );
    if count > LINES_MAX {
        lines.push(&cut);
    }
    lines.join(&format!("\n{:15}", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(input: &str) -> String {
        pretty(&RawValue::from_string(input.to_owned()).unwrap())
    }

    #[test]
    fn an_input_has_a_line_for_each_member() {
        insta::assert_snapshot!(of(
            r#"{"subject":"quote:1","input":{"amount":{"units":"1"}}}"#
        ));
        let long: Vec<u32> = (0..1_000).collect();
        let long = of(&serde_json::to_string(&long).unwrap());
        assert_eq!(long.lines().count(), LINES_MAX + 1);
        assert!(long.ends_with("lines more: see --json"), "{long}");
    }
}
