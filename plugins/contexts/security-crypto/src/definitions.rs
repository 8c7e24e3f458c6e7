//! Definitions of keys (`/kms-key-definition`): what keys are for, whose they are, and how long they last. A key is made
//! by a definition, which is never changed.

use rialto_sdk::documents::Collection;
use rialto_sdk::operators::{Caller, Kind, Problem};
use serde::{Deserialize, Serialize};

use crate::bindings::rialto::host::keys::Attributes;
use crate::words::{Algorithm, Usage};
use crate::world::World;

/// Definitions, by id.
pub const DEFINITIONS: Collection<Definition> = Collection::new("definitions");

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    /// A UUID.
    pub id: String,
    /// For people.
    pub label: String,
    /// What its keys are for.
    pub usage: Usage,
    /// Their algorithm.
    pub algorithm: Algorithm,
    /// The operator (mostly a program) that alone uses its keys.
    pub owner: String,
    /// After this instant its keys make nothing new: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<u64>,
    /// Who defined it.
    pub created_by: String,
    /// When: UTC, milliseconds since 1970.
    pub created_at: u64,
}

/// What an operator asks for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    label: String,
    usage: Usage,
    algorithm: Algorithm,
    owner: String,
    not_after: Option<u64>,
}

impl Definition {
    /// What the host puts under the seal of a key.
    #[must_use]
    pub fn attributes(&self) -> Attributes {
        Attributes {
            label: self.label.clone(),
            purpose: self.usage.into(),
            algorithm: self.algorithm.into(),
            not_after: self.not_after,
        }
    }
}

/// Keep a new definition.
///
/// # Errors
/// When usage and algorithm do not fit, or the end is past.
pub fn define(
    world: &mut impl World,
    caller: &Caller,
    wanted: Wanted,
) -> Result<Definition, Problem> {
    if wanted.algorithm.usage() != wanted.usage {
        let detail = "`algorithm` is not for this `usage`: see the table of algorithms";
        return Err(Problem::new(Kind::KeyUnsupported, detail));
    }
    let now = world.now();
    if wanted.not_after.is_some_and(|end| end <= now) {
        let detail = "`notAfter` is past: a key of this definition could make nothing";
        return Err(Problem::new(Kind::KeyExpired, detail));
    }
    let definition = Definition {
        id: world.uuid(),
        label: wanted.label,
        usage: wanted.usage,
        algorithm: wanted.algorithm,
        owner: wanted.owner,
        not_after: wanted.not_after,
        created_by: caller.name.clone(),
        created_at: now,
    };
    DEFINITIONS.within(world).put(&definition.id, &definition);
    Ok(definition)
}

/// A known definition.
///
/// # Errors
/// When there is none of this id.
pub fn known(world: &mut impl World, id: &str) -> Result<Definition, Problem> {
    DEFINITIONS.within(world).get(id).ok_or_else(|| {
        let detail = format!("there is no definition {id}");
        Problem::new(Kind::DefinitionUnknown, detail)
    })
}
