//! Tries a rule with inputs at random: none may make it fail.
//!
//! Half of the inputs are drawn from the step's type, the other half are golden inputs with some members drawn anew. A seed
//! repeats them.

use std::time::{Duration, Instant};

use rialto_components::arbitrary::Choices;
use rialto_components::rules::Outcome;
use serde_json::Value;

use super::case::Case;
use super::file::{RuleFile, Unjudged};

/// An input is taken from a golden one so often that each member is drawn anew once in so many.
const DRAWN_ANEW: u64 = 6;

/// A generator of numbers that a seed repeats (SplitMix64).
pub struct Seeded<'a> {
    state: u64,
    words: &'a [String],
}

impl<'a> Seeded<'a> {
    /// With this seed, and texts that mean something.
    #[must_use]
    pub const fn new(seed: u64, words: &'a [String]) -> Self {
        Self { state: seed, words }
    }
}

impl Choices for Seeded<'_> {
    fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn word(&mut self) -> Option<String> {
        let count = u64::try_from(self.words.len()).ok()?;
        if count == 0 {
            return None;
        }
        let at = usize::try_from(self.below(count)).ok()?;
        self.words.get(at).cloned()
    }
}

/// What was tried.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// How many inputs.
    pub inputs: u64,
    /// The most fuel that one used.
    pub fuel_max: u64,
    /// The first input that made the rule fail, as a case, and how.
    pub failure: Option<(Case, String)>,
}

/// Try a rule for so long, at all steps and with all settings of these cases, or until an input makes it fail.
///
/// # Errors
/// When it cannot be bound with a case's settings.
pub fn fuzz(
    rule: &RuleFile,
    cases: &[Case],
    (seed, time): (u64, Duration),
) -> Result<Tried, Unjudged> {
    let mut words = Vec::new();
    for case in cases {
        texts(&case.input, &mut words);
    }
    let mut choices = Seeded::new(seed, &words);
    let mut tried = Tried::default();
    let begun = Instant::now();
    while begun.elapsed() < time {
        for case in cases {
            let release = rule.bind(&case.step, &case.settings().to_string())?;
            let Some(drawn) = release.arbitrary_input(&case.step, &mut choices) else {
                continue;
            };
            let mut one = case.clone();
            if choices.below(2) == 0 {
                one.input = drawn;
            } else {
                cross(&mut one.input, drawn, &mut choices);
            }
            let judged = rule.judge(&one.step, &one.settings(), one.subject(), &one.input);
            let how = match judged {
                Ok(judged) => {
                    tried.inputs += 1;
                    tried.fuel_max = tried.fuel_max.max(judged.fuel);
                    match judged.outcome {
                        Outcome::Failed { reason, .. } => Some(reason),
                        _ => None,
                    }
                }
                Err(unjudged @ Unjudged::NoVerdict(_)) => Some(unjudged.to_string()),
                // A golden input that does not fit is told by its own case.
                Err(Unjudged::Misfit { .. }) => None,
                Err(unbound) => return Err(unbound),
            };
            if let Some(how) = how {
                one.about = Some(format!("found at random: {how}"));
                one.expect = None;
                tried.failure = Some((one, how));
                return Ok(tried);
            }
        }
    }
    Ok(tried)
}

/// Replaces some members of an input by those of another one of the same type.
fn cross(input: &mut Value, other: Value, choices: &mut dyn Choices) {
    match (input, other) {
        (Value::Object(members), Value::Object(mut others)) if members.len() == others.len() => {
            for (name, member) in members {
                if let Some(other) = others.remove(name) {
                    cross(member, other, choices);
                }
            }
        }
        (input, other) => {
            if choices.below(DRAWN_ANEW) == 0 {
                *input = other;
            }
        }
    }
}

/// All texts of a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.values().for_each(|member| texts(member, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn seed_repeats_choices() {
        let words = ["USD".to_owned()];
        let draw = |seed| {
            let mut choices = Seeded::new(seed, &words);
            (0..5).map(|_| choices.number()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert_eq!(Seeded::new(7, &words).word().as_deref(), Some("USD"));
        assert_eq!(Seeded::new(7, &[]).word(), None);
    }

    #[test]
    fn crossed_inputs_have_members_of_both() {
        let mut choices = Seeded::new(1, &[]);
        let (mut kept, mut drawn) = (0, 0);
        for _ in 0..100 {
            let mut input = json!({ "a": { "b": 1, "c": [1] }, "d": null });
            let other = json!({ "a": { "b": 2, "c": [2] }, "d": { "e": 2 } });
            cross(&mut input, other, &mut choices);
            assert_eq!(input.as_object().unwrap().len(), 2);
            if input["a"]["b"] == 1 {
                kept += 1
            } else {
                drawn += 1
            }
        }
        assert!(kept > 50 && drawn > 5, "{kept} {drawn}");
    }
}
