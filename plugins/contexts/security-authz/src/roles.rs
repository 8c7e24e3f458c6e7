//! Roles: which privileges each has, and who has which roles. A change takes effect when a second operator approves it
//! ([`crate::changes`]).

use std::collections::BTreeSet;

use rialto_sdk::documents::{Collection, Store};
use serde::{Deserialize, Serialize};

use crate::names::{Privilege, Subject};

/// Roles whose privileges were changed, by name.
pub const ROLES: Collection<Role> = Collection::new("roles");
/// Roles that somebody was given, by subject.
pub const ASSIGNMENTS: Collection<Assignment> = Collection::new("assignments");

/// What was changed of a role. Other privileges it has as the components' documents say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Privileges that it has beyond the documents.
    pub granted: BTreeSet<Privilege>,
    /// Privileges of the documents that it does not have.
    pub withdrawn: BTreeSet<Privilege>,
    /// The request that changed it last.
    pub request: String,
    /// When: UTC, milliseconds since 1970.
    pub changed_at: u64,
}

/// The roles that a subject was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Assignment {
    /// Who.
    pub subject: Subject,
    /// Names of roles.
    pub roles: BTreeSet<String>,
    /// The request that changed them last.
    pub request: String,
    /// When: UTC, milliseconds since 1970.
    pub changed_at: u64,
}

/// The roles that a subject was given.
pub fn assigned(store: &mut impl Store, subject: &Subject) -> BTreeSet<String> {
    let found = ASSIGNMENTS.within(store).get(subject.text());
    found.map(|assignment| assignment.roles).unwrap_or_default()
}

/// Whether one of these roles has a privilege. `default_roles` have it unless it was withdrawn from them.
pub fn have<'r>(
    store: &mut impl Store,
    roles: impl IntoIterator<Item = &'r String>,
    privilege: &Privilege,
    default_roles: &[String],
) -> bool {
    roles.into_iter().any(|name| {
        let changed = ROLES.within(store).get(name).unwrap_or_default();
        let has_by_default = default_roles.contains(name) && !changed.withdrawn.contains(privilege);
        has_by_default || changed.granted.contains(privilege)
    })
}
