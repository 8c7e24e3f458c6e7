//! Which values differ.

use serde_json::Value;

use crate::join;
use crate::numbers::same;

/// JSON pointers to the values that differ, at most `most`, in the order of names: members that are only in one, and members
/// with other values. Objects are compared member by member, everything else as a whole.
#[must_use]
pub fn differences(before: &Value, after: &Value, most: usize) -> Vec<String> {
    let mut found = Vec::new();
    differ(before, after, "", most, &mut found);
    found
}

fn differ(before: &Value, after: &Value, at: &str, most: usize, found: &mut Vec<String>) {
    if found.len() >= most {
        return;
    }
    let (Some(a), Some(b)) = (before.as_object(), after.as_object()) else {
        if !same(before, after) {
            found.push(at.to_owned());
        }
        return;
    };
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let pointer = join(at, name);
        match (a.get(name), b.get(name)) {
            (Some(a), Some(b)) => differ(a, b, &pointer, most, found),
            _ if found.len() < most => found.push(pointer),
            _ => {}
        }
    }
}
