//! What a change is, and whether it can be done.

use std::collections::BTreeSet;

use rialto_sdk::documents::Range;
use rialto_sdk::operators::{Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::security_authz::privileges_changed;
use crate::names::{BUILT_IN, CLIENT, Privilege, Subject, SubjectKind, check_role};
use crate::public_keys::{self, Algorithm};
use crate::published;
use crate::roles::{ROLES, assigned};
use crate::world::World;

/// The most privileges in one change, and the most that a role is granted.
const PRIVILEGES_MAX: usize = 500;
/// The most roles that were changed or made.
const ROLES_MAX: usize = 100;
/// The most roles that a subject is given.
const ROLES_OF_ONE_MAX: usize = 20;
/// Operations that somebody must always be able to use.
const NEEDED: [&str; 2] = ["askAuthorizationChange", "decideAuthorizationChange"];

/// What is to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Asked {
    /// The privileges of a role. A new name makes a role.
    RolePrivileges {
        /// Its name.
        role: String,
        /// Privileges that it is to have.
        #[serde(default)]
        grant: BTreeSet<Privilege>,
        /// Privileges that it is not to have.
        #[serde(default)]
        withdraw: BTreeSet<Privilege>,
    },
    /// The roles of somebody, beyond those of the operator's document.
    RoleAssignment {
        /// Who.
        subject: Subject,
        /// Roles to give.
        #[serde(default)]
        add: BTreeSet<String>,
        /// Roles to take away again.
        #[serde(default)]
        remove: BTreeSet<String>,
    },
    /// A new public key of a program.
    PublicKey {
        /// Whose: an application or a context.
        subject: Subject,
        /// Its algorithm.
        algorithm: Algorithm,
        /// SubjectPublicKeyInfo as PEM.
        public_key: String,
        /// UTC, milliseconds since 1970.
        not_after: u64,
    },
}

impl Asked {
    /// What it is about. Only one change about the same waits at a time.
    #[must_use]
    pub fn about(&self) -> String {
        match self {
            Self::RolePrivileges { role, .. } => format!("role/{role}"),
            Self::RoleAssignment { subject, .. } => subject.text().to_owned(),
            Self::PublicKey { subject, .. } => public_keys::about(subject),
        }
    }

    /// Its kind, for others.
    #[must_use]
    pub const fn kind(&self) -> privileges_changed::Kind {
        match self {
            Self::RolePrivileges { .. } => privileges_changed::Kind::RolePrivileges,
            Self::RoleAssignment { .. } => privileges_changed::Kind::RoleAssignment,
            Self::PublicKey { .. } => privileges_changed::Kind::PublicKey,
        }
    }

    /// What it does, in one line.
    #[must_use]
    pub fn summary(&self) -> String {
        match self {
            Self::RolePrivileges {
                role,
                grant,
                withdraw,
            } => format!(
                "the role {role} {}",
                both(("gets", &texts(grant)), ("loses", &texts(withdraw)))
            ),
            Self::RoleAssignment {
                subject,
                add,
                remove,
            } => format!(
                "{} {}",
                subject.text(),
                both(
                    ("gets the roles", &listed(add)),
                    ("loses the roles", &listed(remove))
                )
            ),
            Self::PublicKey { subject, .. } => format!("{} gets a public key", subject.text()),
        }
    }

    /// Whether it is about this person's own roles or keys.
    #[must_use]
    pub fn is_about(&self, person: &str) -> bool {
        match self {
            Self::RolePrivileges { .. } => false,
            Self::RoleAssignment { subject, .. } | Self::PublicKey { subject, .. } => {
                *subject == Subject::operator(person) || *subject == Subject::context(person)
            }
        }
    }

    /// Check that it can be done now, and changes something.
    ///
    /// # Errors
    /// When it cannot, or changes nothing.
    pub fn check(&self, world: &mut impl World) -> Result<(), Problem> {
        match self {
            Self::RolePrivileges {
                role,
                grant,
                withdraw,
            } => privileges(world, role, grant, withdraw),
            Self::RoleAssignment {
                subject,
                add,
                remove,
            } => assignment(world, subject, add, remove),
            Self::PublicKey {
                subject,
                algorithm,
                public_key,
                not_after,
            } => {
                Subject::read(subject.text())?;
                if matches!(subject.parts(), Some((SubjectKind::Operator, _)) | None) {
                    let detail = "a public key is of an application or a context";
                    return Err(Problem::new(Kind::Malformed, detail));
                }
                if *not_after <= world.now() {
                    let detail = "`notAfter` is in the past";
                    return Err(Problem::new(Kind::KeyExpired, detail));
                }
                public_keys::check(world, public_key, *algorithm)
            }
        }
    }
}

fn privileges(
    world: &mut impl World,
    role: &str,
    grant: &BTreeSet<Privilege>,
    withdraw: &BTreeSet<Privilege>,
) -> Result<(), Problem> {
    check_role(role)?;
    no_overlap(grant, withdraw, "grant", "withdraw")?;
    bounded(grant.len() + withdraw.len(), PRIVILEGES_MAX, "privileges")?;
    let before = ROLES.within(world).get(role);
    if before.is_none() {
        let roles = ROLES.within(world).scan(
            &Range::All,
            None,
            u32::try_from(ROLES_MAX).unwrap_or(u32::MAX),
        );
        bounded(roles.documents.len() + 1, ROLES_MAX, "roles")?;
    }
    let before = before.unwrap_or_default();
    some(!grant.is_empty() || !withdraw.is_empty())?;
    for privilege in grant.iter().chain(withdraw) {
        let is_granted = grant.contains(privilege);
        let known = published::known(world, privilege);
        // What no component has any more can be withdrawn, not granted.
        if is_granted && known.is_none() {
            let detail =
                format!("no component has the privilege `{privilege}`: see GET /privileges");
            return Err(Problem::new(Kind::PrivilegeUnknown, detail));
        }
        let by_default = known.is_some_and(|known| known.roles.iter().any(|of| of == role));
        let (_, operation) = privilege.parts();
        if !is_granted && NEEDED.contains(&operation) && BUILT_IN.contains(&role) {
            let detail =
                format!("`{privilege}` stays with `{role}`, so that somebody can undo changes");
            return Err(Problem::new(Kind::PrivilegeNeeded, detail));
        }
        let has = before.granted.contains(privilege)
            || (by_default && !before.withdrawn.contains(privilege));
        if has == is_granted {
            let is = if has { "has" } else { "does not have" };
            let detail = format!("the role `{role}` {is} `{privilege}`: leave it out");
            return Err(Problem::new(Kind::NothingChanges, detail));
        }
    }
    let granted = before.granted.len() + grant.len();
    bounded(granted, PRIVILEGES_MAX, "privileges")?;
    let withdrawn = before.withdrawn.len() + withdraw.len();
    bounded(withdrawn, PRIVILEGES_MAX, "withdrawn privileges")
}

fn assignment(
    world: &mut impl World,
    subject: &Subject,
    add: &BTreeSet<String>,
    remove: &BTreeSet<String>,
) -> Result<(), Problem> {
    Subject::read(subject.text())?;
    no_overlap(add, remove, "add", "remove")?;
    let is_operator = matches!(subject.parts(), Some((SubjectKind::Operator, _)));
    for role in add {
        check_role(role)?;
        if is_operator && role == CLIENT {
            let detail = "`client` is the role of participants’ applications, never of an operator";
            return Err(Problem::new(Kind::Malformed, detail));
        }
        if !BUILT_IN.contains(&role.as_str()) && ROLES.within(world).get(role).is_none() {
            let detail =
                format!("there is no role `{role}`: make it by a change of `rolePrivileges`");
            return Err(Problem::new(Kind::RoleUnknown, detail));
        }
    }
    let before = assigned(world, subject);
    let after = before.difference(remove).count() + add.difference(&before).count();
    bounded(after, ROLES_OF_ONE_MAX, "roles of one subject")?;
    some(!add.is_subset(&before) || !remove.is_disjoint(&before))
}

fn no_overlap<T: Ord>(
    one: &BTreeSet<T>,
    other: &BTreeSet<T>,
    name: &str,
    other_name: &str,
) -> Result<(), Problem> {
    if one.is_disjoint(other) {
        return Ok(());
    }
    let detail = format!("`{name}` and `{other_name}` have something in common");
    Err(Problem::new(Kind::Malformed, detail))
}

fn bounded(count: usize, most: usize, of: &str) -> Result<(), Problem> {
    if count <= most {
        return Ok(());
    }
    let detail = format!("there would be {count} {of}, and there may be {most}");
    Err(Problem::new(Kind::TooMany, detail).with("most", most.to_string()))
}

fn some(changes: bool) -> Result<(), Problem> {
    if changes {
        return Ok(());
    }
    let detail = "all is as it is asked to become";
    Err(Problem::new(Kind::NothingChanges, detail))
}

fn texts(privileges: &BTreeSet<Privilege>) -> String {
    let texts: BTreeSet<String> = privileges.iter().map(Privilege::to_string).collect();
    listed(&texts)
}

fn listed(texts: &BTreeSet<String>) -> String {
    const SHOWN: usize = 5;
    let mut shown: Vec<&str> = texts.iter().take(SHOWN).map(String::as_str).collect();
    let more = format!("{} more", texts.len().saturating_sub(SHOWN));
    if texts.len() > SHOWN {
        shown.push(&more);
    }
    shown.join(", ")
}

fn both(one: (&str, &str), other: (&str, &str)) -> String {
    let parts = [one, other]
        .into_iter()
        .filter(|(_, what)| !what.is_empty());
    let parts: Vec<String> = parts.map(|(verb, what)| format!("{verb} {what}")).collect();
    parts.join(" and ")
}
