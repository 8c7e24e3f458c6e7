//! Settings at the boundaries of their schema: a rule must either refuse them with a reason, or judge with them.
//!
//! The settings of the golden cases are changed at one place each: a member is left out, has another type, or has a value
//! at a bound that the schema names, just beyond it, or where such values usually end. What the rule accepts then judges
//! the cases' inputs, because a host would have it judge payments.

use std::collections::BTreeSet;

use rialto_components::rules::Outcome;
use serde_json::{Map, Number, Value, json};

use super::case::Case;
use super::file::{RuleFile, Unjudged};
use super::fuzz::Seeded;

/// The most settings that are tried.
const TRIED_MAX: usize = 600;
/// Bytes of a long text.
const LONG: usize = 10_000;
/// The values of counters that cases do not have are always the same.
const SEED: u64 = 1;
/// How deep members are changed.
const DEPTH_MAX: usize = 6;

/// What was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// How many settings.
    pub settings: usize,
    /// How many of them the rule refused with a reason.
    pub refused: usize,
    /// The most fuel of a verdict with the others.
    pub fuel_max: u64,
    /// The first settings with which it went wrong, and how.
    pub failure: Option<(Value, String)>,
}

/// Try the boundaries of a rule's settings, from those of its cases on.
///
/// # Errors
/// When the host cannot run the rule.
pub fn boundaries(rule: &RuleFile, cases: &[Case]) -> Result<Tried, Unjudged> {
    let schema: Value = serde_json::from_str(&rule.description.settings_schema).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut tried = Tried::default();
    for case in cases {
        for settings in variants(&schema, &case.settings()) {
            if seen.len() >= TRIED_MAX || !seen.insert((case.step.clone(), settings.to_string())) {
                continue;
            }
            tried.settings += 1;
            if let Some(how) = attempt(rule, cases, &case.step, &settings, &mut tried)? {
                tried.failure = Some((settings, how));
                return Ok(tried);
            }
        }
    }
    Ok(tried)
}

/// Try settings at a step. How it went wrong, if it did.
fn attempt(
    rule: &RuleFile,
    cases: &[Case],
    step: &str,
    settings: &Value,
    tried: &mut Tried,
) -> Result<Option<String>, Unjudged> {
    match rule.bind_once(step, &settings.to_string()) {
        Ok(bound) => {
            for case in cases.iter().filter(|case| case.step == step) {
                // With other settings, the rule may need counters that the case does not have.
                let mut choices = Seeded::new(SEED, &[]);
                let input = bound.with_counters(step, &case.input, &mut choices);
                let judged = rule.judge_with(&bound, step, case.subject(), &input)?;
                tried.fuel_max = tried.fuel_max.max(judged.fuel);
                if let Outcome::Failed { reason, .. } = judged.outcome {
                    return Ok(Some(format!(
                        "it takes these settings at {step}, and fails: {reason}"
                    )));
                }
            }
            Ok(None)
        }
        Err(Unjudged::Unbound(problems)) => {
            // Not a refusal: it could not judge its settings.
            let fails = problems.iter().find(|one| one.code == "fails-to-judge");
            tried.refused += 1;
            Ok(fails.map(|one| one.what.clone()))
        }
        Err(other) => Err(other),
    }
}

/// The settings with one change each.
fn variants(schema: &Value, settings: &Value) -> Vec<Value> {
    let mut found = vec![json!({})];
    change(schema, schema, settings, DEPTH_MAX, &mut |changed| {
        found.push(changed)
    });
    found
}

/// Tell the values that a part of settings may be replaced by, each within the whole (`told` has the rest around it).
fn change(root: &Value, schema: &Value, value: &Value, depth: usize, told: &mut dyn FnMut(Value)) {
    let schema = resolved(root, schema);
    match value {
        Value::Object(members) if depth > 0 => {
            for (name, member) in members {
                let with = |value: Option<Value>| {
                    let mut members: Map<String, Value> = members.clone();
                    match value {
                        Some(value) => members.insert(name.clone(), value),
                        None => members.remove(name),
                    };
                    Value::Object(members)
                };
                told(with(None));
                let own = &schema["properties"][name];
                change(root, own, member, depth - 1, &mut |value| {
                    told(with(Some(value)))
                });
            }
            let mut more = members.clone();
            more.insert("unknownMember".to_owned(), json!(1));
            told(Value::Object(more));
        }
        Value::Array(items) if depth > 0 => {
            told(json!([]));
            let doubled: Vec<Value> = items.iter().chain(items).cloned().collect();
            told(Value::Array(doubled));
            for (at, item) in items.iter().enumerate() {
                change(root, &schema["items"], item, depth - 1, &mut |value| {
                    let mut items = items.clone();
                    items[at] = value;
                    told(Value::Array(items));
                });
            }
        }
        _ => {}
    }
    leaf(schema, value).into_iter().for_each(told);
}

/// The values that one value may be replaced by.
fn leaf(schema: &Value, value: &Value) -> Vec<Value> {
    let mut values = vec![Value::Null, json!({ "a": 1 })];
    if let Some(named) = schema["enum"].as_array() {
        values.extend(named.iter().cloned());
    }
    for alternative in ["oneOf", "anyOf"] {
        let all = schema[alternative].as_array();
        values.extend(
            all.into_iter()
                .flatten()
                .filter_map(|one| one.get("const").cloned()),
        );
    }
    match value {
        Value::Number(_) => {
            for bound in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
                if let Some(bound) = schema[bound].as_i64() {
                    values.extend(
                        [bound.saturating_sub(1), bound, bound.saturating_add(1)].map(Value::from),
                    );
                }
            }
            values.extend([
                json!(0),
                json!(1),
                json!(-1),
                json!(u64::MAX),
                json!(i64::MIN),
                json!("1"),
            ]);
            values.extend(Number::from_f64(0.5).map(Value::Number));
        }
        Value::String(text) => {
            for bound in ["minLength", "maxLength"] {
                if let Some(length) = schema[bound].as_u64().and_then(|n| usize::try_from(n).ok()) {
                    values.push("9".repeat(length.min(LONG)).into());
                    values.push("9".repeat(length.saturating_add(1).min(LONG)).into());
                }
            }
            values.extend(
                [
                    "",
                    " ",
                    "0",
                    "-1",
                    "1e9",
                    "00",
                    "999999999999999999999999999999999999999",
                    "\u{202e}",
                ]
                .map(Value::from),
            );
            values.push("9".repeat(LONG).into());
            values.push(text.to_lowercase().into());
            values.push(1.into());
        }
        Value::Bool(value) => values.extend([json!(!value), json!("true")]),
        _ => {}
    }
    values.retain(|other| other != value);
    values
}

/// What a schema refers to within its own document, by one step.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let place = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
    place
        .and_then(|place| root.pointer(place))
        .unwrap_or(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_is_changed_at_its_own_bounds() {
        let schema = json!({
            "properties": {
                "maximum": { "minimum": 1 },
                "limits": { "items": { "$ref": "#/$defs/Limit" } },
            },
            "$defs": { "Limit": { "properties": { "kind": { "enum": ["a", "b"] } } } },
        });
        let settings = json!({ "maximum": 5, "limits": [{ "kind": "a" }] });
        let all = variants(&schema, &settings);
        for expected in [
            json!({}),
            json!({ "limits": [{ "kind": "a" }] }),
            json!({ "maximum": 0, "limits": [{ "kind": "a" }] }),
            json!({ "maximum": 2, "limits": [{ "kind": "a" }] }),
            json!({ "maximum": u64::MAX, "limits": [{ "kind": "a" }] }),
            json!({ "maximum": 5, "limits": [] }),
            json!({ "maximum": 5, "limits": [{ "kind": "b" }] }),
            json!({ "maximum": 5, "limits": [{ "kind": "a" }, { "kind": "a" }] }),
            json!({ "maximum": 5, "limits": [{}] }),
            json!({ "maximum": 5, "limits": null }),
        ] {
            assert!(all.contains(&expected), "{expected}");
        }
        assert!(!all.contains(&settings));
    }
}
