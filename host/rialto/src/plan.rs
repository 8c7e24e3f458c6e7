//! What differs between two releases, in words a person understands.
//!
//! The words are made from the whole of both documents: whatever is not told in a way of its own is
//! told by its path, so that nothing that changes is ever left out (`tests.rs` proves it). A line
//! begins with `+` for what comes, `-` for what goes, and `~` for what is another.
//!
//! What bears an identity is found by it: a participant by its id, an account by its currency, a
//! currency and an error by its code, a rule at a step by its name and how often it stood there
//! before. The items of a list in a component's settings have none that the host could know, so they
//! are found by their index.

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

/// What is said when the documents differ and what they mean does not.
pub const ONLY_LAYOUT: &str = "only comments or layout of scheme.toml";

/// What changes from one document to the next; everything is new without a "before".
pub fn changes(before: Option<&SchemeDocument>, after: &SchemeDocument) -> Vec<String> {
    let Some(before) = before else {
        let count = after.digests.iter().count();
        return vec![format!("first release, with {count} components")];
    };
    let mut words = Words::default();
    match (facts(before), facts(after)) {
        (Some(old), Some(new)) => {
            components::tell(&mut words, (before, &old), (after, &new));
            rest(&mut words, &old, &new);
        }
        // A newer host may refuse what an older one took; and what is refused is said elsewhere.
        _ => {
            let none = Map::new();
            components::tell(&mut words, (before, &none), (after, &none));
            if before.text != after.text {
                words.changed(
                    "scheme.toml",
                    "is another, and one of both cannot be read by this host: what differs in it is not known",
                );
            }
        }
    }
    let mut words = words.lines();
    if words.is_empty() && before.text != after.text {
        words.push(ONLY_LAYOUT.into());
    }
    words
}

/// A scheme's document as it was understood.
fn facts(document: &SchemeDocument) -> Option<Map<String, Value>> {
    let scheme = document.scheme().ok()?;
    match serde_json::to_value(&*scheme).ok()? {
        Value::Object(facts) => Some(facts),
        _ => None,
    }
}

/// Everything but the components.
fn rest(words: &mut Words, old: &Map<String, Value>, new: &Map<String, Value>) {
    let empty = Value::Null;
    let sections = old
        .keys()
        .chain(new.keys().filter(|k| !old.contains_key(*k)));
    let mut sections: Vec<&String> = sections.collect();
    // The order in which a person asks: what is judged, by whom, for whom, and the tables last.
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

/// An entry's members but that one, as `name value, name value`.
fn without(entry: &Value, member: &str) -> String {
    let members = entry.as_object().into_iter().flatten();
    let said = members.filter(|(name, _)| *name != member);
    let said: Vec<String> = said
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    said.join(", ")
}
