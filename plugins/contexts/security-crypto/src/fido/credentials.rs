//! Credentials as operators see them, and revoking one.
//!
//! A stolen authenticator must be stopped at once, so one operator is enough. A revoked credential is none of its user's
//! any more. That a credential was revoked, by whom and when, stays with its id, which is never registered again.

use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Caller, Kind, Paging, Problem, parameter};
use serde::Serialize;

use super::documents::{
    CREDENTIALS, Credential, Known, Revoked, State, USERS, User, credential_key, user_key,
};
use super::inputs::{owner_text, user_id};
use super::{Owner, OwnerKind, users};
use crate::world::World;

/// Whether a credential works, for operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
enum Standing {
    Active,
    Suspect,
    Revoked,
}

/// A credential. It has no public key, and nothing of the person.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    #[serde(skip_serializing_if = "Option::is_none")]
    participant: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    user: String,
    credential: String,
    state: Standing,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    kept: Option<Kept>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<u64>,
}

/// What is kept of a credential while it is its user's.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    transports: Vec<String>,
    is_backup_eligible: bool,
    registered_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    used_at: Option<u64>,
}

/// The credentials of users: of all, of one owner, or of one user. A page has those of at most `limit` users.
///
/// # Errors
/// When the query names two owners, or a user without an owner.
pub fn list(world: &mut impl World, query: &[(String, String)]) -> Result<Items<View>, Problem> {
    let prefix = prefix(query)?;
    let page = match parameter(query, "user") {
        Some(user) => {
            let key = format!("{prefix}{}", user_id(user)?);
            let found = USERS.within(world).get(&key);
            Items {
                items: found.into_iter().collect(),
                next_cursor: None,
            }
        }
        None => Paging::of(query)?.fill(world, &USERS, &prefix, |_, _, user| Some(user))?,
    };
    Ok(Items {
        items: page.items.into_iter().flat_map(of_user).collect(),
        next_cursor: page.next_cursor,
    })
}

/// The beginning of the keys of an owner's users; empty for all.
fn prefix(query: &[(String, String)]) -> Result<String, Problem> {
    let named = (parameter(query, "participant"), parameter(query, "program"));
    let (kind, name) = match named {
        (Some(name), None) => (OwnerKind::Participant, name),
        (None, Some(name)) => (OwnerKind::Program, name),
        (None, None) if parameter(query, "user").is_none() => return Ok(String::new()),
        (None, None) => {
            let detail =
                "`user` is an id of one owner: name its `participant` or its `program` too";
            return Err(Problem::new(Kind::Malformed, detail));
        }
        (Some(_), Some(_)) => {
            let detail = "a user is of a `participant` or of a `program`: name one of them";
            return Err(Problem::new(Kind::Malformed, detail));
        }
    };
    let name = name.to_owned();
    Ok(user_key(&owner_text(&Owner { kind, name })?, ""))
}

fn of_user(user: User) -> Vec<View> {
    let key = user_key(&user.owner, &user.id);
    let each = user.credentials.into_iter();
    each.map(|credential| view(&key, credential.id.clone(), Some(credential), None))
        .collect()
}

/// A credential, whether it works or not.
///
/// # Errors
/// When nobody has registered it.
pub fn get(world: &mut impl World, id: &str) -> Result<View, Problem> {
    let known = CREDENTIALS.within(world).get(&credential_key(id));
    let Known { user: key, revoked } = known.ok_or_else(|| unknown(id))?;
    let user = USERS.within(world).get(&key);
    let kept = user.and_then(|user| user.credentials.into_iter().find(|kept| kept.id == id));
    Ok(view(&key, id.to_owned(), kept, revoked))
}

/// Revoke a credential at once. There is no way back.
///
/// # Errors
/// When nobody has registered it, or it was revoked.
pub fn revoke(world: &mut impl World, caller: &Caller, id: &str) -> Result<View, Problem> {
    let at = world.now();
    let key = credential_key(id);
    let known = CREDENTIALS.within(world).get_for_update(&key);
    let mut known = known.ok_or_else(|| unknown(id))?;
    if let Some(before) = known.revoked {
        let detail = format!("the credential {id} was revoked before");
        return Err(Problem::new(Kind::NothingChanges, detail)
            .with("revokedBy", before.by)
            .with("revokedAt", before.at));
    }
    known.revoked = Some(Revoked {
        by: caller.name.clone(),
        at,
    });
    CREDENTIALS.within(world).put(&key, &known);
    let mut kept = None;
    if let Some(mut user) = USERS.within(world).get_for_update(&known.user) {
        let place = user.credentials.iter().position(|kept| kept.id == id);
        kept = place.map(|place| user.credentials.remove(place));
        users::write(world, &known.user, &user);
    }
    Ok(view(&known.user, id.to_owned(), kept, known.revoked))
}

fn unknown(id: &str) -> Problem {
    let detail = format!("nobody has registered the credential {id}: see GET /fido-credentials");
    Problem::new(Kind::CredentialUnknown, detail)
}

fn view(key: &str, credential: String, kept: Option<Credential>, revoked: Option<Revoked>) -> View {
    let (owner, user) = key.rsplit_once('/').unwrap_or_default();
    let name = |kind: &str| owner.strip_prefix(kind).map(str::to_owned);
    let state = match (&revoked, kept.as_ref().map(|kept| kept.state)) {
        (Some(_), _) => Standing::Revoked,
        (None, Some(State::Active)) => Standing::Active,
        // A suspect credential is left out when its user registers another one.
        (None, Some(State::Suspect) | None) => Standing::Suspect,
    };
    let (revoked_by, revoked_at) = revoked.map(|revoked| (revoked.by, revoked.at)).unzip();
    View {
        participant: name("participant/"),
        program: name("program/"),
        user: user.to_owned(),
        credential,
        state,
        kept: kept.map(|kept| Kept {
            transports: kept.transports,
            is_backup_eligible: kept.is_backup_eligible,
            registered_at: kept.registered_at,
            used_at: kept.used_at,
        }),
        revoked_by,
        revoked_at,
    }
}
