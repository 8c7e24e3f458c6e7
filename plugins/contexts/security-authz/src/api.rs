//! The operations over HTTP. The host has validated each request by `openapi.yaml`.
//!
//! | Who | May |
//! |---|---|
//! | `reader` | see privileges, roles, who has them, public keys, changes |
//! | `maker`, `checker` | ask for changes and withdraw one's own, and decide them; either revokes a key |
//! | `context` | ask whether somebody may do something |

use rialto_sdk::documents::{Collection, Range};
use rialto_sdk::operators::idempotency::{Sent, once};
use rialto_sdk::operators::paging::Items;
use rialto_sdk::operators::{Answer, Caller, Kind, Paging, Problem, Role as Needed, parameter};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::changes::{self, Asked, CHANGES, Decision};
use crate::names::{BUILT_IN, Privilege};
use crate::public_keys::{self, PUBLIC_KEYS};
use crate::published::PUBLISHED;
use crate::roles::{ASSIGNMENTS, ROLES, Role, have};
use crate::world::World;
use crate::{assertions, authorize, fido};

/// The most components that are read for a role.
const COMPONENTS_MAX: u32 = 1_000;

/// Answer a request.
pub fn answer<W: World>(world: &mut W, caller: &Caller, request: &Request) -> Answer {
    let answered = match request.operation_id.as_str() {
        "askAuthorizationChange"
        | "decideAuthorizationChange"
        | "withdrawAuthorizationChange"
        | "revokePublicKey" => changed(world, caller, request),
        "authorizeToken" | "authenticateByKey" | "authorizeTransaction" => {
            asked(world, caller, request)
        }
        _ => look(world, caller, request),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

fn look(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Needed::Reader)?;
    match request.operation_id.as_str() {
        "listPrivileges" => list(world, request, &PUBLISHED, |these| these),
        "listRoles" => roles(world),
        "getRole" => {
            let name = parameter(&request.path_parameters, "role").unwrap_or_default();
            Ok(Answer::json(200, &role(world, name)?))
        }
        "listRoleAssignments" => list(world, request, &ASSIGNMENTS, |these| these),
        "listPublicKeys" => list(world, request, &PUBLIC_KEYS, |key| key),
        "listAuthorizationChanges" => {
            let now = world.now();
            list(world, request, &CHANGES, |change| change.told(now))
        }
        _ => Err(unknown()),
    }
}

fn list<T: DeserializeOwned + Serialize>(
    world: &mut impl World,
    request: &Request,
    collection: &Collection<T>,
    told: impl Fn(T) -> T,
) -> Result<Answer, Problem> {
    let paging = Paging::of(&request.query_parameters)?;
    let page = paging.fill(world, collection, "", |_, _, document| Some(told(document)))?;
    Ok(Answer::json(200, &page))
}

/// A role with all privileges that it has now.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RoleView {
    name: String,
    is_built_in: bool,
    privileges: Vec<Privilege>,
    /// What was changed of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Role>,
}

/// The names of the roles. There are at most a hundred beside those of the host.
fn roles(world: &mut impl World) -> Result<Answer, Problem> {
    let changed = ROLES.within(world).scan(&Range::All, None, COMPONENTS_MAX);
    let changed = changed.documents.into_iter().map(|(name, _)| name);
    let mut names: Vec<String> = BUILT_IN.iter().map(|name| (*name).to_owned()).collect();
    names.extend(changed);
    names.sort();
    names.dedup();
    Ok(Answer::json(
        200,
        &Items {
            items: names,
            next_cursor: None,
        },
    ))
}

fn role(world: &mut impl World, name: &str) -> Result<RoleView, Problem> {
    let changed = ROLES.within(world).get(name);
    let is_built_in = BUILT_IN.contains(&name);
    if changed.is_none() && !is_built_in {
        let detail = format!("there is no role `{name}`");
        return Err(Problem::new(Kind::RoleUnknown, detail));
    }
    let name = name.to_owned();
    let published = PUBLISHED
        .within(world)
        .scan(&Range::All, None, COMPONENTS_MAX);
    let mut privileges = Vec::new();
    for (component, these) in published.documents {
        for known in these.privileges {
            let privilege = Privilege::of(&component, &known.name);
            if have(world, [&name], &privilege, &known.roles) {
                privileges.push(privilege);
            }
        }
    }
    Ok(RoleView {
        name,
        is_built_in,
        privileges,
        changed,
    })
}

#[derive(Deserialize)]
struct Wanted {
    change: Asked,
    reason: String,
}

#[derive(Deserialize)]
struct Decided {
    decision: Decision,
}

fn changed<W: World>(world: &mut W, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    let id = parameter(&request.path_parameters, "id").unwrap_or_default();
    let operation = request.operation_id.as_str();
    match operation {
        "askAuthorizationChange" | "withdrawAuthorizationChange" => caller.needs(Needed::Maker)?,
        "decideAuthorizationChange" => caller.needs(Needed::Checker)?,
        // To stop somebody must be quick: either role will do.
        _ => caller.needs_one_of(&[Needed::Maker, Needed::Checker])?,
    }
    let sent = Sent {
        caller,
        method: &request.method,
        path: &request.path,
        headers: &request.headers,
        body: request.body.as_deref(),
        now: world.now(),
    };
    once(world, &sent, |world| match operation {
        "askAuthorizationChange" => {
            let Wanted { change, reason } = body(request)?;
            let change = changes::ask(world, caller, change, reason)?;
            let path = format!("/authorization-changes/{}", change.id);
            Ok(Answer::json(202, &change).with("location", path))
        }
        "decideAuthorizationChange" => {
            let Decided { decision } = body(request)?;
            let change = changes::decide(world, caller, id, decision)?;
            Ok(Answer::json(200, &change))
        }
        "withdrawAuthorizationChange" => {
            let change = changes::withdraw(world, caller, id)?;
            Ok(Answer::json(200, &change))
        }
        "revokePublicKey" => {
            let key = public_keys::revoke(world, id, &caller.name)?;
            Ok(Answer::json(200, &key))
        }
        _ => Err(unknown()),
    })
}

#[derive(Deserialize)]
struct WantedPrivilege {
    component: String,
    name: String,
}

impl WantedPrivilege {
    fn privilege(&self) -> Privilege {
        Privilege::of(&self.component, &self.name)
    }
}

#[derive(Deserialize)]
struct Token {
    token: String,
    privilege: WantedPrivilege,
}

#[derive(Deserialize)]
struct Assertion {
    assertion: String,
    privilege: Option<WantedPrivilege>,
}

/// Answer a program that asks about another one.
fn asked(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Needed::Context)?;
    if request.operation_id == "authorizeTransaction" {
        return fido::authorize(world, body(request)?);
    }
    let decision = if request.operation_id == "authorizeToken" {
        let Token { token, privilege } = body(request)?;
        authorize::token(world, &token, &privilege.privilege())
    } else {
        let Assertion {
            assertion,
            privilege,
        } = body(request)?;
        let wanted = privilege.map(|wanted| wanted.privilege());
        assertions::decide(world, &assertion, wanted.as_ref())
    };
    Ok(Answer::json(200, &decision).with("cache-control", "no-store"))
}

/// The reader's message names members and never shows their values.
fn body<T: DeserializeOwned>(request: &Request) -> Result<T, Problem> {
    let body = request.body.as_deref().unwrap_or_default();
    serde_json::from_str(body).map_err(|error| {
        let detail = format!(
            "the body is not of the form of this operation, at column {}",
            error.column()
        );
        Problem::new(Kind::Malformed, detail)
    })
}

fn unknown() -> Problem {
    Problem::new(Kind::NotFound, "there is no such operation")
}
