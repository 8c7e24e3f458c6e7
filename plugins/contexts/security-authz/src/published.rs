//! The privileges of the components (choreography X-03). The host publishes them with each release, from the components'
//! OpenAPI documents.

use rialto_sdk::documents::{Collection, Range, Store};
use serde::{Deserialize, Serialize};

use crate::bindings::exports::rialto::host::authorization_handler::ComponentPrivileges;
use crate::names::Privilege;

/// The privileges of each component, by its name.
pub const PUBLISHED: Collection<Published> = Collection::new("privileges");
/// The most components of a release that are read.
const COMPONENTS_MAX: u32 = 1_000;

/// All privileges of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Published {
    /// The component's name in the scheme.
    pub component: String,
    /// The release that published them.
    pub release: u64,
    /// By name.
    pub privileges: Vec<PublishedPrivilege>,
}

/// A privilege, as its component says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PublishedPrivilege {
    /// The operation.
    pub name: String,
    /// For people.
    pub description: String,
    /// Roles that have it unless somebody changed that.
    pub roles: Vec<String>,
}

/// Keep the privileges of a release. Those of components that it does not have are removed. What roles have been granted
/// stays, for a release that has these components again.
pub fn publish(store: &mut impl Store, release: u64, all: Vec<ComponentPrivileges>) {
    let before = PUBLISHED
        .within(store)
        .scan(&Range::All, None, COMPONENTS_MAX);
    for (name, _) in before.documents {
        if !all.iter().any(|these| these.component == name) {
            PUBLISHED.within(store).delete(&name);
        }
    }
    for these in all {
        let mut privileges: Vec<_> = these
            .privileges
            .into_iter()
            .map(|privilege| PublishedPrivilege {
                name: privilege.name,
                description: privilege.description,
                roles: privilege.roles,
            })
            .collect();
        privileges.sort_by(|a, b| a.name.cmp(&b.name));
        let published = Published {
            component: these.component,
            release,
            privileges,
        };
        PUBLISHED
            .within(store)
            .put(&published.component, &published);
    }
}

/// What a component says of a privilege.
pub fn known(store: &mut impl Store, privilege: &Privilege) -> Option<PublishedPrivilege> {
    let (component, operation) = privilege.parts();
    if component.is_empty() || component.len() > 64 || component.chars().any(char::is_control) {
        return None;
    }
    let published = PUBLISHED.within(store).get(component)?;
    let mut privileges = published.privileges.into_iter();
    privileges.find(|known| known.name == operation)
}
