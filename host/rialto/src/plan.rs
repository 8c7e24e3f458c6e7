//! The plan: the differences between two releases, in words for people.
//!
//! A line begins with `+` for something new, `-` for something removed, and `~` for a change. The plan covers
//! the whole of both documents. A change without words of its own is shown by its path, so no change is left out
//! (`tests.rs` checks this).
//!
//! Entries are matched by their identity: a participant by its id, an account by its currency, a currency and an
//! error by its code, a rule at a step by its name and its count there. Items of a list in a component's settings
//! have no identity that the host knows; they are matched by their index.

mod components;
mod money;
mod participants;
mod steps;
#[cfg(test)]
mod tests;
mod values;

use rialto_manifest::scheme::SchemeDocument;
use serde_json::{Map, Value};

pub use money::brought_in;
use values::{Compared, Words, compared};

/// The line for documents that differ and mean the same.
pub const ONLY_LAYOUT: &str = "only comments or layout of scheme.toml";

/// The changes from one document to the next. Without `before`, everything is new.
pub fn changes(before: Option<&SchemeDocument>, after: &SchemeDocument) -> Vec<String> {
    let Some(before) = before else {
        let count = after.digests().iter().count();
        return vec![format!("first release, with {count} components")];
    };
    let mut words = Words::default();
    match (facts(before), facts(after)) {
        (Some(old), Some(new)) => {
            components::tell(&mut words, (before, &old), (after, &new));
            rest(&mut words, &old, &new);
        }
        // A newer host may refuse a document that an older one accepted. The refusal is reported elsewhere.
        _ => {
            let none = Map::new();
            components::tell(&mut words, (before, &none), (after, &none));
            if before.text() != after.text() {
                words.changed(
                    "scheme.toml",
                    "is another, and one of both cannot be read by this host: what differs in it is not known",
                );
            }
        }
    }
    let mut words = words.lines();
    if words.is_empty() && before.text() != after.text() {
        words.push(ONLY_LAYOUT.into());
    }
    words
}

/// The values of a scheme's document.
fn facts(document: &SchemeDocument) -> Option<Map<String, Value>> {
    let scheme = document.scheme().ok()?;
    match serde_json::to_value(&**scheme).ok()? {
        Value::Object(facts) => Some(facts),
        _ => None,
    }
}

/// All sections except the components.
fn rest(words: &mut Words, old: &Map<String, Value>, new: &Map<String, Value>) {
    let empty = Value::Null;
    let sections = old
        .keys()
        .chain(new.keys().filter(|k| !old.contains_key(*k)));
    let mut sections: Vec<&String> = sections.collect();
    // The order in which a person asks: rules first, then participants, the tables last.
    sections.sort_by_key(|name| match name.as_str() {
        "steps" => 0,
        "participants" => 2,
        "currencies" => 3,
        "errors" => 4,
        _ => 1,
    });
    for name in sections {
        let (old, new) = (
            old.get(name).unwrap_or(&empty),
            new.get(name).unwrap_or(&empty),
        );
        match name.as_str() {
            "contexts" | "rules" => {}
            "steps" => steps::tell(words, old, new),
            "participants" => participants::tell(words, old, new),
            "currencies" => table(words, "currency", "currencies", old, new),
            "errors" => table(words, "error code", "error codes", old, new),
            name => words.differences("scheme", name, old, new),
        }
    }
}

/// A list whose entries have a code.
fn table(words: &mut Words, one: &str, many: &str, old: &Value, new: &Value) {
    let Some(entries) = compared(old, new, |entry| text(entry, "code")) else {
        return words.differences(many, "", old, new);
    };
    for entry in &entries.both {
        match entry {
            (code, Compared::Came(value)) => {
                words.came(format!("{one} {code}: {}", without(value, "code")));
            }
            (code, Compared::Went) => words.went(format!("{one} {code}")),
            (code, Compared::Stayed(old, new)) => {
                words.differences(&format!("{one} {code}"), "", old, new);
            }
        }
    }
    if let Some(order) = entries.reordered {
        words.changed(many, &format!("in another order: {order}"));
    }
}

/// A text member of an entry.
fn text(entry: &Value, member: &str) -> Option<String> {
    Some(entry.get(member)?.as_str()?.to_owned())
}

/// An entry's members except that one, as `name value, name value`.
fn without(entry: &Value, member: &str) -> String {
    let members = entry.as_object().into_iter().flatten();
    let said = members.filter(|(name, _)| *name != member);
    let said: Vec<String> = said
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    said.join(", ")
}
