//! The operations over HTTP. The host has validated each request by `openapi.yaml`.
//!
//! | Who | May |
//! |---|---|
//! | `reader` | search the log, see the quarantine |
//! | `context` | write entries that it has signed |
//! | `admin` | dismiss an entry of the quarantine |

use rialto_sdk::operators::{Answer, Caller, Kind, Paging, Problem, Role, parameter};
use serde::{Deserialize, Serialize};

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::quarantine::{self, QUARANTINE};
use crate::reading::{self, Query};
use crate::world::World;
use crate::{entries, signed};

/// The longest entry, in bytes. With what is said about it, it fits the details of an entry of the audit log.
const SIGNED_BYTES_MAX: usize = 4_096;

/// Answer a request.
pub fn answer<W: World>(world: &mut W, caller: &Caller, request: &Request) -> Answer {
    let answered = match request.operation_id.as_str() {
        "writeAuditEntry" => write(world, caller, request),
        "writeAuditEntries" => write_all(world, caller, request),
        "readAuditLog" | "searchAuditLog" => read(world, caller, request),
        "listAuditQuarantine" => list(world, caller, request),
        "dismissAuditEntry" => dismiss(world, caller, request),
        _ => Err(Problem::new(Kind::NotFound, "there is no such operation")),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

#[derive(Deserialize)]
struct One {
    entry: String,
}

#[derive(Deserialize)]
struct Many {
    entries: Vec<String>,
}

/// What became of an entry.
#[derive(Serialize)]
#[serde(tag = "result", rename_all = "SCREAMING_SNAKE_CASE")]
enum Written {
    Written,
    Quarantined { quarantine: String, reason: String },
}

fn write(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Role::Context)?;
    let One { entry } = body(request)?;
    match taken(world, caller, &entry)? {
        Written::Written => Ok(Answer::json(201, &Written::Written)),
        Written::Quarantined { quarantine, reason } => {
            Err(Problem::new(Kind::AuditEntry, reason).with("quarantine", quarantine))
        }
    }
}

#[derive(Serialize)]
struct Results {
    items: Vec<Written>,
}

fn write_all(
    world: &mut impl World,
    caller: &Caller,
    request: &Request,
) -> Result<Answer, Problem> {
    caller.needs(Role::Context)?;
    let Many { entries } = body(request)?;
    let results = entries.iter().map(|entry| taken(world, caller, entry));
    let items = results.collect::<Result<_, _>>()?;
    Ok(Answer::json(200, &Results { items }))
}

/// Write an entry, or put it into quarantine.
fn taken(world: &mut impl World, caller: &Caller, text: &str) -> Result<Written, Problem> {
    let is_compact = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if text.len() > SIGNED_BYTES_MAX || !text.bytes().all(is_compact) {
        let detail = "an entry is a JSON Web Signature in compact form: at most 4,096 letters, digits, hyphens, underscores and dots";
        return Err(Problem::new(Kind::Malformed, detail));
    }
    match signed::verified(world, text, &caller.name) {
        Ok(proven) => {
            entries::of_program(world, &proven, text);
            Ok(Written::Written)
        }
        Err(reason) => {
            let quarantine = quarantine::keep(world, &caller.name, text, &reason)?;
            Ok(Written::Quarantined { quarantine, reason })
        }
    }
}

fn read(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    if let Err(problem) = caller.needs(Role::Reader) {
        reading::refused(world);
        return Err(problem);
    }
    let query = match request.operation_id.as_str() {
        "readAuditLog" => of_parameters(&request.query_parameters)?,
        _ => body(request)?,
    };
    reading::search(world, &query)
}

/// A query of parameters, whose form the host has checked.
fn of_parameters(parameters: &[(String, String)]) -> Result<Query, Problem> {
    let text = |name: &str| parameter(parameters, name).map(str::to_owned);
    let number = |name: &str| {
        let value = parameter(parameters, name).map(str::parse::<u64>);
        value
            .transpose()
            .map_err(|_| Problem::new(Kind::Malformed, format!("query {name}: it is too large")))
    };
    let limit = number("limit")?.map(u32::try_from).transpose();
    Ok(Query {
        since: number("since")?,
        until: number("until")?,
        about: text("about"),
        action: text("action"),
        actor: text("actor"),
        writer: text("writer"),
        outcome: text("outcome"),
        trace: text("trace"),
        cursor: number("cursor")?,
        limit: limit.map_err(|_| Problem::new(Kind::Malformed, "query limit: it is too large"))?,
    })
}

fn list(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Role::Reader)?;
    let paging = Paging::of(&request.query_parameters)?;
    let page = paging.fill(world, &QUARANTINE, "", |_, _, document| Some(document))?;
    Ok(Answer::json(200, &page))
}

fn dismiss(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Role::Admin)?;
    let id = parameter(&request.path_parameters, "id").unwrap_or_default();
    let dismissed = quarantine::dismiss(world, id)?;
    Ok(Answer::json(200, &dismissed))
}

fn body<'b, T: Deserialize<'b>>(request: &'b Request) -> Result<T, Problem> {
    let body = request.body.as_deref().unwrap_or_default();
    serde_json::from_str(body).map_err(|error| {
        let detail = format!("the body is not of the form of this operation: {error}");
        Problem::new(Kind::Malformed, detail)
    })
}
