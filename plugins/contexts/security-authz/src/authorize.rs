//! Whether somebody may do something: the host's question about operators, and `/app-authorize` about applications.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::bindings::exports::rialto::host::authorization_handler::Caller;
use crate::names::{CLIENT, Privilege, Subject};
use crate::published;
use crate::roles::{assigned, have};
use crate::world::World;

/// The roles by which a component is to see an operator.
///
/// # Errors
/// When the operator may not: a sentence that says why.
pub fn operator(
    world: &mut impl World,
    caller: &Caller,
    privilege: &Privilege,
    default_roles: &[String],
) -> Result<Vec<String>, String> {
    let mut roles: BTreeSet<String> = caller.roles.iter().cloned().collect();
    roles.extend(assigned(world, &Subject::operator(&caller.name)));
    if !have(world, &roles, privilege, default_roles) {
        return Err(format!(
            "the operator `{}` has no role with the privilege `{privilege}`; by its component these have it: {}",
            caller.name,
            default_roles.join(", ")
        ));
    }
    if !default_roles.iter().any(|role| roles.contains(role)) {
        roles.extend(default_roles.first().cloned());
    }
    Ok(roles.into_iter().collect())
}

/// What is known of a program that has proven who it is, and whether it may.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Whether the credential is valid.
    pub authenticated: bool,
    /// Whether it may.
    pub authorized: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// In whose name an application acts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub participant: Option<String>,
    /// Its roles.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub roles: BTreeSet<String>,
    /// When the credential ends: UTC, milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

impl Decision {
    /// The credential is not valid.
    #[must_use]
    pub fn unproven(reason: impl Into<String>) -> Self {
        Self {
            authenticated: false,
            authorized: false,
            reason: Some(reason.into()),
            subject: None,
            participant: None,
            roles: BTreeSet::new(),
            expires_at: None,
        }
    }
}

/// Decide about somebody who has proven who it is.
pub fn proven(
    world: &mut impl World,
    subject: Subject,
    participant: Option<String>,
    expires_at: u64,
    wanted: Option<&Privilege>,
) -> Decision {
    let mut roles = assigned(world, &subject);
    if participant.is_some() {
        roles.insert(CLIENT.to_owned());
    }
    let reason = match wanted {
        None => None,
        Some(privilege) => match published::known(world, privilege) {
            None => Some(format!("no component has the privilege `{privilege}`")),
            Some(known) if have(world, &roles, privilege, &known.roles) => None,
            Some(_) => Some(format!("none of its roles has the privilege `{privilege}`")),
        },
    };
    Decision {
        authenticated: true,
        authorized: reason.is_none(),
        reason,
        subject: Some(subject),
        participant,
        roles,
        expires_at: Some(expires_at),
    }
}

/// Decide about the application of an access token.
pub fn token(world: &mut impl World, token: &str, wanted: &Privilege) -> Decision {
    let Some(verified) = world.verify_token(token) else {
        return Decision::unproven("the token is not valid now");
    };
    let subject = Subject::application(&verified.application);
    let ends = verified.expires_at.saturating_mul(1_000);
    proven(world, subject, Some(verified.name), ends, Some(wanted))
}
