//! What a release does not know of a document stays in it when it writes the document.
//!
//! A release that was rolled back to meets documents that the newer one has written, with members that
//! it does not know. It reads them without these, and when it writes such a document it puts them back:
//!
//! - A member of an object that is written again stays in that object, at every level.
//! - An element of a list that this release has not changed keeps its members wherever it moves to. Of
//!   elements that are alike, the first keeps those of the first.
//! - An element that this release has changed keeps them if the collection says by which members its
//!   elements are named ([`super::Collection::with_elements_named_by`]), and these are as they were.
//! - What goes takes along what is in it: an object that is left out, an element that is removed or that
//!   becomes another one, a form of a value (an enumeration's) that becomes another form.
//!
//! What is not promised: a value of a kind that the older release does not know cannot be read by it at
//! all, and traps. A release writes such values only when the one before it can read them.

use serde_json::{Map, Value};

/// Put into `written` what `stored` has and `known`, the same document as this release would write it,
/// has not. `names` are the members that elements of lists are named by.
pub fn keep(stored: &Value, known: &Value, written: &mut Value, names: &[&str]) {
    match (stored, written) {
        (Value::Object(stored), Value::Object(written)) => {
            let none = Map::new();
            let known = known.as_object().unwrap_or(&none);
            for (name, value) in stored {
                match (known.get(name), written.get_mut(name)) {
                    (Some(known), Some(written)) => keep(value, known, written, names),
                    // It was left out because it says what its absence says.
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

/// Take the first index that fits out of those that are left.
fn take(free: &mut Vec<usize>, fits: impl Fn(usize) -> bool) -> Option<usize> {
    let at = free.iter().position(|index| fits(*index))?;
    Some(free.remove(at))
}

/// What an element is called: its members of these names, if it has any of them.
fn name_of<'v>(element: &'v Value, names: &[&str]) -> Option<Vec<Option<&'v Value>>> {
    let members: Vec<_> = names.iter().map(|name| element.get(name)).collect();
    members.iter().any(Option::is_some).then_some(members)
}
