//! Compares JSON values in general, and lists whose entries have a name.

use std::collections::BTreeMap;

use serde_json::Value;

/// The lines of a plan.
#[derive(Debug, Default)]
pub(super) struct Words(Vec<String>);

impl Words {
    pub fn lines(self) -> Vec<String> {
        self.0
    }

    pub fn came(&mut self, what: impl std::fmt::Display) {
        self.0.push(format!("+ {what}"));
    }

    pub fn went(&mut self, what: impl std::fmt::Display) {
        self.0.push(format!("- {what}"));
    }

    pub fn changed(&mut self, what: &str, how: &str) {
        self.0.push(format!("~ {what}: {how}"));
    }

    /// Add all differences between two values of `whose`, each with its path.
    pub fn differences(&mut self, whose: &str, path: &str, old: &Value, new: &Value) {
        match (old, new) {
            (old, new) if old == new => {}
            (Value::Object(was), Value::Object(is)) => {
                for (name, old) in was {
                    match is.get(name) {
                        Some(new) => self.differences(whose, &member(path, name), old, new),
                        None => self.gone(whose, &member(path, name), old),
                    }
                }
                for (name, new) in is.iter().filter(|(name, _)| !was.contains_key(*name)) {
                    self.came_with(whose, &member(path, name), new);
                }
            }
            (Value::Array(was), Value::Array(is)) => self.items(whose, path, was, is),
            // One of them is missing.
            (Value::Null, new) if path.is_empty() => self.came_with(whose, path, new),
            (old, new) => self.changed(whose, &format!("{}{old} → {new}", named(path))),
        }
    }

    /// Compare items by their index. Equal items at the beginning and at the end are skipped first, so that one new item
    /// does not show as a change of all items after it.
    fn items(&mut self, whose: &str, path: &str, was: &[Value], is: &[Value]) {
        let shorter = was.len().min(is.len());
        let head = was.iter().zip(is).take_while(|(a, b)| a == b).count();
        let behind = was.iter().rev().zip(is.iter().rev());
        let tail = behind.take_while(|(a, b)| a == b).count();
        let tail = tail.min(shorter - head);
        let (was, is) = (&was[head..was.len() - tail], &is[head..is.len() - tail]);
        for n in 0..was.len().max(is.len()) {
            let item = format!("{path}[{}]", head + n);
            match (was.get(n), is.get(n)) {
                // In lists of different length it is not known which item is which.
                (Some(old), Some(new)) if was.len() == is.len() => {
                    self.differences(whose, &item, old, new);
                }
                (old, new) => {
                    if let Some(old) = old {
                        self.gone(whose, &item, old);
                    }
                    if let Some(new) = new {
                        self.came_with(whose, &item, new);
                    }
                }
            }
        }
    }

    fn came_with(&mut self, whose: &str, path: &str, value: &Value) {
        self.came(format!("{whose}: {}{value}", named(path)));
    }

    fn gone(&mut self, whose: &str, path: &str, value: &Value) {
        self.went(format!("{whose}: {}{value}", named(path)));
    }
}

/// `path = `, or nothing for the value as a whole.
fn named(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path} = ")
    }
}

fn member(path: &str, name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let name = if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    };
    if path.is_empty() {
        name
    } else {
        format!("{path}.{name}")
    }
}

/// An entry of a list before and after.
pub(super) enum Compared<'a> {
    Came(&'a Value),
    Went,
    Stayed(&'a Value, &'a Value),
}

/// Two lists, by the names of their entries.
pub(super) struct Entries<'a> {
    /// Each entry with its name: old ones in their order, then new ones.
    pub both: Vec<(String, Compared<'a>)>,
    /// The new order of the entries that stayed, if it has changed.
    pub reordered: Option<String>,
}

/// Compare two lists by the names of their entries. None if one is not a list, or the names are missing or not
/// unique.
pub(super) fn compared<'a>(
    old: &'a Value,
    new: &'a Value,
    name: impl Fn(&Value) -> Option<String>,
) -> Option<Entries<'a>> {
    let (old, new) = (by_name(old, &name)?, by_name(new, &name)?);
    let find = |entries: &[(String, &'a Value)]| -> BTreeMap<String, &'a Value> {
        entries.iter().cloned().collect()
    };
    let (was, is) = (find(&old), find(&new));
    if was.len() < old.len() || is.len() < new.len() {
        return None;
    }
    let stayed = |entries: &[(String, &'a Value)]| -> Vec<String> {
        let names = entries.iter().map(|(name, _)| name);
        let stayed = names.filter(|name| was.contains_key(*name) && is.contains_key(*name));
        stayed.cloned().collect()
    };
    let (before, after) = (stayed(&old), stayed(&new));
    let mut both = Vec::new();
    for (name, value) in old {
        let compared = match is.get(&name) {
            Some(new) => Compared::Stayed(value, new),
            None => Compared::Went,
        };
        both.push((name, compared));
    }
    for (name, value) in new {
        if !was.contains_key(&name) {
            both.push((name, Compared::Came(value)));
        }
    }
    Some(Entries {
        both,
        reordered: (before != after).then(|| after.join(", ")),
    })
}

fn by_name<'a>(
    list: &'a Value,
    name: &impl Fn(&Value) -> Option<String>,
) -> Option<Vec<(String, &'a Value)>> {
    let entries = match list {
        Value::Null => return Some(Vec::new()),
        Value::Array(entries) => entries,
        _ => return None,
    };
    let named = entries.iter().map(|entry| Some((name(entry)?, entry)));
    named.collect()
}
