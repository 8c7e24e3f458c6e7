//! Unknown members of a document stay in it when a release writes the document.
//!
//! After a rollback, a release reads documents of a newer one, with members that it does not know. When it
//! writes such a document, it keeps these members:
//!
//! - An unknown member stays in its object, at every level.
//! - An unchanged element of a list keeps its unknown members, wherever it moves to. Of equal elements, the
//!   first keeps those of the first.
//! - A changed element keeps them if the collection has names for its elements
//!   ([`super::Collection::with_elements_named_by`]), and these have not changed.
//! - A removed value takes its unknown members along: an object that is left out, an element that is removed or
//!   replaced, a variant of an enumeration that becomes another one.
//!
//! An older release cannot read a value of an unknown kind: it traps. So a release writes such values only if
//! the one before it can read them.

use serde_json::{Map, Value};

/// Adds to `written` the members of `stored` that `known` lacks. `known` is the stored document as this release
/// writes it. `names` are the members that name elements of lists.
pub fn keep(stored: &Value, known: &Value, written: &mut Value, names: &[&str]) {
    match (stored, written) {
        (Value::Object(stored), Value::Object(written)) => {
            let none = Map::new();
            let known = known.as_object().unwrap_or(&none);
            for (name, value) in stored {
                match (known.get(name), written.get_mut(name)) {
                    (Some(known), Some(written)) => keep(value, known, written, names),
                    // It was left out because it equals its default.
                    (None, Some(written)) => keep(value, &Value::Null, written, names),
                    (None, None) => {
                        written.insert(name.clone(), value.clone());
                    }
                    (Some(_), None) => {}
                }
            }
        }
        (Value::Array(stored), Value::Array(written)) => {
            let known = known.as_array().filter(|known| known.len() == stored.len());
            if let Some(known) = known {
                keep_in_elements(stored, known, written, names);
            }
        }
        _ => {}
    }
}

fn keep_in_elements(stored: &[Value], known: &[Value], written: &mut [Value], names: &[&str]) {
    let mut free: Vec<usize> = (0..written.len()).collect();
    let mut changed = Vec::new();
    for (stored, known) in stored.iter().zip(known) {
        match take(&mut free, |index| written[index] == *known) {
            Some(index) => keep(stored, known, &mut written[index], names),
            None => changed.push((stored, known)),
        }
    }
    for (stored, known) in changed {
        let Some(name) = name_of(known, names) else {
            continue;
        };
        let is_the_same = |index: usize| name_of(&written[index], names).as_ref() == Some(&name);
        if let Some(index) = take(&mut free, is_the_same) {
            keep(stored, known, &mut written[index], names);
        }
    }
}

/// Takes the first matching index of the remaining ones.
fn take(free: &mut Vec<usize>, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let at = free.iter().position(|index| fits(*index))?;
    Some(free.remove(at))
}

/// The name of an element: its members of these names, if it has any.
fn name_of<'v>(element: &'v Value, names: &[&str]) -> Option<Vec<Option<&'v Value>>> {
    let members: Vec<_> = names.iter().map(|name| element.get(name)).collect();
    members.iter().any(Option::is_some).then_some(members)
}
