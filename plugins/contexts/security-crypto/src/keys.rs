//! Keys: their documents, their states, and who may use them.
//!
//! | State | What the key does | Next |
//! |---|---|---|
//! | `PENDING` | nothing yet: it was loaded, so somebody may know it | `ACTIVE` or `DESTROYING`, by another operator than the one who loaded it |
//! | `ACTIVE` | all that it is for, until `notAfter` | `SUSPENDED` |
//! | `SUSPENDED` | nothing | `ACTIVE`, `DESTRUCTION_ASKED` |
//! | `DESTRUCTION_ASKED` | nothing | `SUSPENDED`; `DESTROYING`, by another operator than the one who asked for `DESTROYED` |
//! | `DESTROYING` | nothing, for ever | `DESTROYED`, when its provider has destroyed it ([`crate::destroying`]) |
//! | `DESTROYED` | nothing, for ever: its reference is removed | none |
//!
//! A backup from before still has the reference of a destroyed key.

use rialto_sdk::documents::Collection;
use rialto_sdk::operators::{Caller, Kind, Problem, Role};
use serde::{Deserialize, Serialize};

use crate::definitions::Definition;
use crate::destroying;
use crate::words::{Algorithm, Usage};
use crate::world::World;

/// Keys, by id.
pub const KEYS: Collection<Key> = Collection::new("keys");

/// The state of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// It was loaded, and waits for another operator.
    Pending,
    /// It is in use.
    Active,
    /// It is not used for now.
    Suspended,
    /// It is to be destroyed, and waits for another operator.
    DestructionAsked,
    /// Its provider is to destroy it. It is told and never stored or asked for: see [`destroying`].
    #[serde(skip_deserializing)]
    Destroying,
    /// It is gone.
    Destroyed,
}

/// Where a key comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Origin {
    /// Its provider drew it, and nobody knows it.
    Generated,
    /// Somebody wrapped it, and may know it.
    Loaded,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Key {
    /// A UUID.
    pub id: String,
    /// The definition by which it was made.
    pub definition: String,
    /// For people.
    pub label: String,
    /// What it is for.
    pub usage: Usage,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// The operator that alone uses it.
    pub owner: String,
    /// After this instant it makes nothing new: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_after: Option<u64>,
    /// The provider that made it.
    pub provider: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Its state.
    pub state: State,
    /// The public key of a key pair, as PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// The host's reference. It is never told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Who made it.
    pub created_by: String,
    /// When: UTC, milliseconds since 1970.
    pub created_at: u64,
    /// Who changed its state last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<String>,
    /// When: UTC, milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<u64>,
    /// When its provider had destroyed it: UTC, milliseconds since 1970. An earlier release forgot the reference
    /// without asking the provider, and noted nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destroyed_at: Option<u64>,
}

impl Key {
    /// A new key of a definition.
    #[must_use]
    pub fn new(
        definition: &Definition,
        provider: &str,
        origin: Origin,
        made: crate::bindings::rialto::host::keys::Key,
        (id, by, at): (String, &Caller, u64),
    ) -> Self {
        Self {
            id,
            definition: definition.id.clone(),
            label: definition.label.clone(),
            usage: definition.usage,
            algorithm: definition.algorithm,
            owner: definition.owner.clone(),
            not_after: definition.not_after,
            provider: provider.to_owned(),
            origin,
            state: match origin {
                Origin::Generated => State::Active,
                Origin::Loaded => State::Pending,
            },
            public_key: made.public_key,
            reference: Some(made.reference),
            created_by: by.name.clone(),
            created_at: at,
            changed_by: None,
            changed_at: None,
            destroyed_at: None,
        }
    }
}

/// A known key.
///
/// # Errors
/// When there is none of this id.
pub fn known(world: &mut impl World, id: &str) -> Result<Key, Problem> {
    KEYS.within(world).get(id).ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Problem {
    Problem::new(Kind::KeyUnknown, format!("there is no key {id}"))
}

/// The reference of a key that this caller may use now.
///
/// # Errors
/// When there is no such key, it is another's, or it is not in use.
pub fn usable(world: &mut impl World, caller: &Caller, id: &str) -> Result<(Key, String), Problem> {
    caller.needs(Role::Context)?;
    let key = known(world, id)?;
    if key.owner != caller.name {
        let detail = format!("the key {id} is of `{}` and used by nobody else", key.owner);
        return Err(Problem::new(Kind::KeyForeign, detail));
    }
    match (key.state, key.reference.clone()) {
        (State::Active, Some(reference)) => Ok((key, reference)),
        _ => Err(not_in(id, destroying::state(world, &key))),
    }
}

fn not_in(id: &str, state: State) -> Problem {
    let detail = format!("the key {id} is {}", name(state));
    Problem::new(Kind::KeyState, detail).with("state", name(state))
}

const fn name(state: State) -> &'static str {
    match state {
        State::Pending => "PENDING",
        State::Active => "ACTIVE",
        State::Suspended => "SUSPENDED",
        State::DestructionAsked => "DESTRUCTION_ASKED",
        State::Destroying => "DESTROYING",
        State::Destroyed => "DESTROYED",
    }
}

/// Change a key's state. A key that is to be `DESTROYED` is `DESTROYING` until its provider has destroyed it. To ask for
/// that again has the provider asked at once.
///
/// # Errors
/// When there is no such key, the state does not follow, or one operator alone would bring in or destroy a key.
pub fn change(
    world: &mut impl World,
    caller: &Caller,
    id: &str,
    to: State,
) -> Result<Key, Problem> {
    let now = world.now();
    let mut key = KEYS
        .within(world)
        .get_for_update(id)
        .ok_or_else(|| unknown(id))?;
    let before = match (destroying::state(world, &key), to) {
        (State::Active, State::Suspended)
        | (State::Suspended, State::Active | State::DestructionAsked)
        | (State::DestructionAsked, State::Suspended) => None,
        (State::Pending, State::Active | State::Destroyed) => Some(&key.created_by),
        (State::DestructionAsked, State::Destroyed) => key.changed_by.as_ref(),
        (State::Destroying, State::Destroyed) => {
            destroying::hurry(world, id);
            return Ok(key);
        }
        (state, _) => return Err(not_in(id, state)),
    };
    if before == Some(&caller.name) {
        let detail = "this is up to another operator than the one who asked for it";
        return Err(Problem::new(Kind::MakerIsChecker, detail));
    }
    if to == State::Destroyed
        && let Some(reference) = key.reference.take()
    {
        destroying::begin(world, id, reference);
    }
    key.state = to;
    key.changed_by = Some(caller.name.clone());
    key.changed_at = Some(now);
    KEYS.within(world).put(id, &key);
    Ok(key)
}
