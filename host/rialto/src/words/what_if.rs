//! What rules would say about a draft, as text for people.

use std::fmt::Write as _;

use super::{plain, verdict};
use crate::ops::WhatIf;

/// The answer: each rule, and what comes of all.
pub fn what_if(answer: &WhatIf) -> String {
    let mut text = String::new();
    for one in &answer.verdicts {
        let said = plain(&verdict(&one.verdict));
        let _ = writeln!(text, "{} {}: {said}", plain(&one.rule), plain(&one.version));
        let _ = writeln!(text, "  {}", plain(&one.summary));
        let _ = writeln!(text, "  settings {}", one.settings);
        if one.release != answer.release {
            let _ = writeln!(
                text,
                "  of release {}, under which it was agreed or which is its last good one",
                one.release
            );
        }
        let _ = writeln!(
            text,
            "  receipt WHAT-IF {}: it decides nothing",
            plain(&one.receipt)
        );
        if !one.branches.is_empty() {
            let _ = writeln!(text, "  branches {}", plain(&one.branches.join(", ")));
        }
    }
    if !answer.suspended.is_empty() {
        let _ = writeln!(
            text,
            "suspended, and not asked: {}",
            plain(&answer.suspended.join(", "))
        );
    }
    if answer.left_out > 0 {
        let _ = writeln!(text, "confidential, and not asked: {}", answer.left_out);
    }
    let would = if answer.allows { "allow" } else { "refuse" };
    let _ = writeln!(
        text,
        "release {} would {would} it at {}; this is no decision",
        answer.release,
        plain(&answer.step)
    );
    text
}
