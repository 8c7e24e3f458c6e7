//! For plugins' own tests: random choices that a seed repeats, and documents of a newer release.

use crate::documents::{Collection, Memory, Store as _};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// What a newer release adds to each object of a document.
pub const ADDED: &str = "addedLater";

/// The document as a newer release would have it: each object in it, at every level, has one more member,
/// [`ADDED`], no two with the same value. Objects that are no records, maps and forms of an enumeration, get
/// none themselves: `beside` are the members that hold such.
#[must_use]
pub fn of_a_newer_release(document: &Value, beside: &[&str]) -> Value {
    fn add(value: &mut Value, is_record: bool, beside: &[&str], count: &mut u32) {
        match value {
            Value::Object(members) => {
                for (name, member) in members.iter_mut() {
                    let is_record = !beside.contains(&name.as_str());
                    add(member, is_record, beside, count);
                }
                if is_record {
                    *count += 1;
                    let added = json!({ "n": *count, "of": [{ "it": [*count] }] });
                    members.insert(ADDED.to_owned(), added);
                }
            }
            Value::Array(items) => {
                for item in items {
                    add(item, is_record, beside, count);
                }
            }
            _ => {}
        }
    }
    let mut newer = document.clone();
    add(&mut newer, true, beside, &mut 0);
    newer
}

/// How many members [`of_a_newer_release`] has added that are still there.
#[must_use]
pub fn added_in(document: &Value) -> usize {
    match document {
        Value::Object(members) => {
            let deeper = members.iter().filter(|(name, _)| *name != ADDED);
            usize::from(members.contains_key(ADDED))
                + deeper.map(|(_, member)| added_in(member)).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(added_in).sum(),
        _ => 0,
    }
}

/// Insist that a release reads a document of its collection to which a newer one has added a member at every
/// level, and that all of them are there when it has written the document again, whether it read it in this
/// turn or not.
///
/// # Panics
/// When that is not so.
pub fn survives_a_rollback<T: Serialize + DeserializeOwned>(
    collection: &Collection<T>,
    document: &T,
    beside: &[&str],
) {
    let mut store = Memory::default();
    collection.within(&mut store).put("it", document);
    let of_this: Value = read(&mut store, collection);
    let newer = of_a_newer_release(&of_this, beside);
    assert!(added_in(&newer) > 0, "{of_this} has no object");
    store.put(collection.name(), "it", &newer.to_string());
    let again = collection.within(&mut store).get_for_update("it");
    let again = again.unwrap_or_else(|| panic!("{newer} is not there"));
    let known = serde_json::to_value(&again).unwrap_or_default();
    assert_eq!(without_added(&known), of_this, "it is read as it was");
    collection.within(&mut store).put("it", &again);
    assert_eq!(read(&mut store, collection), newer, "nothing is lost");
    if known == of_this {
        collection.within(&mut store).put("it", document);
        assert_eq!(read(&mut store, collection), newer, "nor by a blind write");
    }
}

/// The document without what was added: what is kept as any JSON has it still.
fn without_added(document: &Value) -> Value {
    match document {
        Value::Object(members) => {
            let members = members.iter().filter(|(name, _)| *name != ADDED);
            members
                .map(|(name, member)| (name.clone(), without_added(member)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_added).collect(),
        plain => plain.clone(),
    }
}

fn read<T>(store: &mut Memory, collection: &Collection<T>) -> Value {
    let body = store.get(collection.name(), "it").unwrap_or_default();
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{body:?}: {error}"))
}

/// A small generator of pseudo-random numbers (SplitMix64): the same seed, the same choices, on
/// every machine. Not for secrets.
#[derive(Debug, Clone)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// Dice that fall the same way for the same seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Any number of 64 bits.
    pub fn any(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.any().checked_rem(end).unwrap_or(0)
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of the choices.
    ///
    /// # Panics
    /// When there is none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        let index = self.below(choices.len() as u64);
        // Below a length of memory, so it fits.
        &choices[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_its_choices_and_reaches_every_number() {
        let (mut one, mut two) = (Dice::new(7), Dice::new(7));
        let mut seen = [false; 6];
        for _ in 0..200 {
            let fallen = one.below(6);
            assert_eq!(fallen, two.below(6));
            seen[usize::try_from(fallen).unwrap()] = true;
        }
        assert_eq!(seen, [true; 6]);
        assert_eq!(one.below(0), 0);
    }
}
