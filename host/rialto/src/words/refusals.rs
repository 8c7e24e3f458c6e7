//! The refusals that a scheme's rules can give, for people.

use std::fmt::Write as _;

use crate::refusals::PossibleRefusal;

/// The refusals, by step, each with its code; and by which messages those of a step are told.
#[must_use]
pub fn refusals(all: &[PossibleRefusal]) -> String {
    let mut text = String::new();
    let mut step = "";
    for one in all {
        if one.step != step {
            step = &one.step;
            let _ = writeln!(text, "refusals at {step}");
            for message in &one.told {
                let _ = writeln!(text, "    told by    {message}");
            }
        }
        let failure = if one.is_failure { ", if it fails" } else { "" };
        let _ = writeln!(
            text,
            "    {:<10} {} of {}{failure}",
            one.code, one.description, one.rule
        );
    }
    text
}
