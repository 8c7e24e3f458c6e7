//! Canaries as text for people.

use std::fmt::Write as _;

use indicatif::HumanCount;

use super::{instant, plain};
use crate::canaries::CanaryReport;

/// What one canary has done.
pub fn canary(report: &CanaryReport) -> String {
    let mut text = format!(
        "{} in the place of {} at {}\n",
        plain(&report.canary),
        plain(&report.rule),
        plain(&report.step)
    );
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<10} {value}");
    };
    let share = format!("{} %", f64::from(report.share) / 10_000.0);
    let limited = |what: &str, to: &[String]| {
        if to.is_empty() {
            String::new()
        } else {
            format!(", {what} {}", plain(&to.join(", ")))
        }
    };
    row(
        "of",
        format!(
            "{share} of requests{}{}",
            limited("with", &report.names),
            limited("in", &report.units)
        ),
    );
    let count = |number| HumanCount(number).to_string();
    row(
        "decided",
        format!(
            "{}; failed with {}, which the rule decided",
            count(report.decided),
            count(report.failed)
        ),
    );
    row(
        "compared",
        format!(
            "{}: {} differ from the rule's",
            count(report.compared),
            count(report.different)
        ),
    );
    if report.compared > 0 {
        row(
            "fuel p99",
            format!(
                "{}, of the rule {}",
                count(report.fuel_p99),
                count(report.fuel_p99_of_rule)
            ),
        );
    }
    if let Some(held) = &report.held_back {
        row(
            "held back",
            format!("{}: {}", instant(held.at), plain(&held.why)),
        );
    }
    text
}
