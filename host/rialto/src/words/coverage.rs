//! The coverage of rules as text for people.

use std::fmt::Write as _;

use indicatif::HumanCount;

use super::{instant, plain};
use crate::coverage::{Coverage, RuleCoverage, Times};

/// A report: each rule with its verdicts, and what it never did.
pub fn coverage(report: &Coverage) -> String {
    let mut text = format!(
        "{} verdicts from {} to {}\n",
        HumanCount(report.receipts),
        instant(report.since),
        instant(report.until)
    );
    if report.unread > 0 {
        let unread = HumanCount(report.unread);
        let _ = writeln!(
            text,
            "{unread} receipts could not be read, and are not counted"
        );
    }
    for archive in &report.archives {
        let _ = writeln!(text, "not counted: the archive {}", plain(archive));
    }
    for rule in &report.rules {
        of_rule(&mut text, rule);
    }
    text
}

fn of_rule(text: &mut String, rule: &RuleCoverage) {
    let gone = if rule.is_bound {
        ""
    } else {
        " (not bound now)"
    };
    let (name, version, step) = (plain(&rule.rule), plain(&rule.version), plain(&rule.step));
    let _ = writeln!(text, "\n{name} {version} at {step}{gone}");
    if !rule.summary.is_empty() {
        let _ = writeln!(text, "  {}", plain(&rule.summary));
    }
    let mut row = |what: &str, times: Times| {
        let last = times
            .last
            .map_or_else(|| "never".to_owned(), |at| format!("last {}", instant(at)));
        let count = HumanCount(times.count).to_string();
        let _ = writeln!(text, "  {what:<28} {count:>12}  {last}");
    };
    row("asked", rule.asked);
    row("allowed", rule.allowed);
    for (code, times) in &rule.refused {
        row(&format!("refused {}", plain(code)), *times);
    }
    if rule.failed.count > 0 {
        row("failed", rule.failed);
    }
    for (label, times) in &rule.branches {
        row(&format!("branch {}", plain(label)), *times);
    }
}
