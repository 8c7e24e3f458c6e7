//! Digests of the parts of a store. Two stores of different kinds have the same digest of a part only if they have the same
//! items in it.

use std::fmt::Debug;

use rialto_engine::store::StoreError;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

/// A part of a store: how much it has, and its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Its name, for people.
    pub name: String,
    /// How many items.
    pub items: u64,
    /// The SHA-256 over all items in order, in hexadecimal digits.
    pub sha256: String,
}

/// What differs between two stores, in words.
pub(crate) fn differences(source: &[Part], target: &[Part]) -> Vec<String> {
    let missing = |part: &Part| Part {
        name: part.name.clone(),
        items: 0,
        sha256: "none".to_owned(),
    };
    let mut differing = Vec::new();
    for here in source {
        let there = target.iter().find(|there| there.name == here.name);
        let there = there.cloned().unwrap_or_else(|| missing(here));
        if there != *here {
            differing.push(difference(here, &there));
        }
    }
    for there in target {
        if source.iter().all(|here| here.name != there.name) {
            differing.push(difference(&missing(there), there));
        }
    }
    differing
}

fn difference(here: &Part, there: &Part) -> String {
    format!(
        "{}: the source has {} with the digest {}, the copy has {} with the digest {}",
        here.name, here.items, here.sha256, there.items, there.sha256
    )
}

/// The digest of a part while its items come.
pub(crate) struct Digest {
    name: String,
    items: u64,
    hash: Sha256,
}

impl Digest {
    pub fn of(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            items: 0,
            hash: Sha256::new(),
        }
    }

    /// How many items have come.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Add an item of these fields. Each is hashed behind its length, so that no two items have the same bytes.
    pub fn item(&mut self, fields: &[&[u8]]) {
        for field in fields {
            self.hash.update((field.len() as u64).to_le_bytes());
            self.hash.update(field);
        }
        self.items += 1;
    }

    /// Add an item of plain fields: its debug text has all of them.
    pub fn plain(&mut self, item: &impl Debug) {
        self.item(&[format!("{item:?}").as_bytes()]);
    }

    /// Add an item in its JSON form.
    ///
    /// # Errors
    /// When it has none.
    pub fn json(&mut self, item: &impl Serialize) -> Result<(), StoreError> {
        let text = serde_json::to_vec(item);
        let text = text.map_err(|e| StoreError::Failed(format!("it cannot be hashed: {e}")))?;
        self.item(&[&text]);
        Ok(())
    }

    /// The whole part.
    pub fn end(self) -> Part {
        let digest = self.hash.finalize();
        Part {
            name: self.name,
            items: self.items,
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// The digest of a short list.
pub(crate) fn plain<T: Debug>(name: &str, items: impl IntoIterator<Item = T>) -> Part {
    let mut digest = Digest::of(name);
    for item in items {
        digest.plain(&item);
    }
    digest.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_order_fields_or_names_are_other_parts() {
        let part = |items: &[[&str; 2]]| {
            let mut digest = Digest::of("part");
            for [a, b] in items {
                digest.item(&[a.as_bytes(), b.as_bytes()]);
            }
            digest.end()
        };
        let some = part(&[["a", "b"], ["c", "d"]]);
        assert_eq!(some.items, 2);
        for other in [
            part(&[["c", "d"], ["a", "b"]]),
            part(&[["ab", ""], ["c", "d"]]),
            part(&[["a", "b"]]),
        ] {
            let found = differences(std::slice::from_ref(&some), &[other]);
            assert_eq!(found.len(), 1, "{found:?}");
        }
        assert!(differences(std::slice::from_ref(&some), std::slice::from_ref(&some)).is_empty());
        let named = Part {
            name: "another".to_owned(),
            ..some.clone()
        };
        let found = differences(std::slice::from_ref(&some), &[named]);
        assert_eq!(found.len(), 2, "one is missing, and one is too many");
    }
}
