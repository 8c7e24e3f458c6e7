//! A document of a release, which does not know the members of a newer one.

use rialto_sdk::documents::Collection;
use serde::{Deserialize, Serialize};

/// Documents that `write` writes with any body, as a newer release would, and `count` as they are here.
pub const COUNTED: Collection<Counted> = Collection::new("marks").with_elements_named_by(&["name"]);

/// A count, and counts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// The total.
    pub count: u64,
    /// The counts by name.
    #[serde(default)]
    pub each: Vec<Named>,
}

/// A count with its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// How many.
    pub count: u64,
}

impl Counted {
    /// Add one to each count.
    pub fn add_one(&mut self) {
        self.count = self.count.saturating_add(1);
        for each in &mut self.each {
            each.count = each.count.saturating_add(1);
        }
    }
}
