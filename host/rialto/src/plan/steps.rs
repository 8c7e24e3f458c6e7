//! The plan's part about the rules of each step: their order and settings.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::values::{Compared, Words, compared};

pub(super) fn tell(words: &mut Words, old: &Value, new: &Value) {
    let none = Map::new();
    let (old, new) = (
        old.as_object().unwrap_or(&none),
        new.as_object().unwrap_or(&none),
    );
    let steps: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for step in steps {
        let (was, is) = (old.get(step), new.get(step));
        let whose = format!("step {step}");
        match (was, is) {
            (Some(was), None) if is_empty(was) => words.went(format!("{whose}, without a rule")),
            (None, Some(is)) if is_empty(is) => words.came(format!("{whose}, without a rule")),
            (was, is) => one(words, step, &numbered(was), &numbered(is)),
        }
    }
}

fn is_empty(step: &Value) -> bool {
    step.as_array().is_some_and(Vec::is_empty)
}

fn one(words: &mut Words, step: &str, old: &Value, new: &Value) {
    let name = |entry: &Value| Some(entry.get(NAME)?.as_str()?.to_owned());
    let Some(entries) = compared(old, new, name) else {
        return words.differences(&format!("step {step}"), "", old, new);
    };
    let count = new.as_array().map_or(0, Vec::len);
    for (rule, compared) in &entries.both {
        let whose = format!("rule {rule} at {step}");
        match compared {
            Compared::Went => words.went(whose),
            Compared::Stayed(old, new) => {
                words.differences(&whose, "", &said(old), &said(new));
            }
            Compared::Came(binding) => {
                let before = new.as_array().into_iter().flatten();
                let number = before.take_while(|entry| entry != binding).count() + 1;
                words.came(format!("{whose}, asked as number {number} of {count}"));
                for (name, value) in said(binding).as_object().into_iter().flatten() {
                    if value.as_object().is_none_or(|value| !value.is_empty()) {
                        words.came(format!("{whose}: {name} = {value}"));
                    }
                }
            }
        }
    }
    if let Some(order) = entries.reordered {
        words.changed(
            &format!("step {step}"),
            &format!("asks in another order: {order}"),
        );
    }
}

/// The member for a binding's unique name. No key of a scheme's document has a space.
const NAME: &str = "its name";

/// Bindings, each with a unique name, because a rule may be bound to a step more than once.
fn numbered(step: Option<&Value>) -> Value {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let bindings = step.and_then(Value::as_array).into_iter().flatten();
    let named = bindings.map(|binding| {
        let mut binding = binding.clone();
        let rule = binding["rule"].as_str().unwrap_or_default().to_owned();
        let times = seen.entry(rule.clone()).or_default();
        *times += 1;
        let name = match *times {
            1 => rule,
            n => format!("{rule} (number {n})"),
        };
        binding[NAME] = Value::from(name);
        binding
    });
    named.collect()
}

/// The members of a binding except its rule.
fn said(binding: &Value) -> Value {
    let members = binding.as_object().into_iter().flatten();
    let said = members.filter(|(name, _)| *name != NAME && *name != "rule");
    Value::Object(said.map(|(k, v)| (k.clone(), v.clone())).collect())
}
