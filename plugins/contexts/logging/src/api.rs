//! The operations over HTTP. The host has validated each request by `openapi.yaml`.
//!
//! | Who | May |
//! |---|---|
//! | `reader` | search the log |
//! | `context` | write entries |

use rialto_sdk::operators::{Answer, Caller, Kind, Problem, Role, parameter};
use serde::{Deserialize, Serialize};

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::bindings::rialto::host::keys::KeyError;
use crate::entries::{self, Attributed, Level, NotWritten, Said, Source};
use crate::reading::{self, Order, Query};
use crate::world::World;

/// Answer a request.
pub fn answer<W: World>(world: &mut W, caller: &Caller, request: &Request) -> Answer {
    let answered = match request.operation_id.as_str() {
        "writeLogEntry" => body(request).and_then(|said: Said| write(world, caller, vec![said])),
        "writeLogEntries" => {
            body(request).and_then(|many: Many| write(world, caller, many.entries))
        }
        "readLog" | "searchLog" => read(world, caller, request),
        _ => Err(Problem::new(Kind::NotFound, "there is no such operation")),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

#[derive(Deserialize)]
struct Many {
    entries: Vec<Said>,
}

#[derive(Serialize)]
struct Written {
    ids: Vec<String>,
}

/// Write all entries, or none if one is wrong.
fn write(world: &mut impl World, caller: &Caller, all: Vec<Said>) -> Result<Answer, Problem> {
    caller.needs(Role::Context)?;
    for (n, said) in all.iter().enumerate() {
        if let Some(why) = entries::wrong(said) {
            let detail = format!("entry {n}: {why}");
            return Err(Problem::new(Kind::Malformed, detail));
        }
    }
    let all = all.into_iter().map(|said| Attributed {
        writer: caller.name.clone(),
        target: String::new(),
        said,
    });
    let ids = entries::write(world, Source::Program, all.collect());
    let ids = ids.map_err(|why| match why {
        NotWritten::TooMany => {
            let detail = "as many entries have arrived in this hour as are kept in all: try again in the next one";
            let most = world.settings().entries_max;
            Problem::new(Kind::TooMany, detail).with("most", most)
        }
        NotWritten::Key(error) => no_key(error),
    })?;
    Ok(Answer::json(201, &Written { ids }))
}

fn no_key(error: KeyError) -> Problem {
    let (kind, detail) = match error {
        KeyError::NoProvider => (
            Kind::ProviderUnknown,
            "entries are to be signed or encrypted, and the host has no provider of keys that can: add one to `[keys.providers]` of rialto.toml".to_owned(),
        ),
        KeyError::ProviderAway(why) => (
            Kind::ProviderAway,
            format!("the provider of the log's keys does not answer now: {why}"),
        ),
        other => (
            Kind::KeyUnavailable,
            format!("the host cannot use the log's keys: {other:?}"),
        ),
    };
    Problem::new(kind, detail)
}

fn read(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Role::Reader)?;
    let query = match request.operation_id.as_str() {
        "readLog" => of_parameters(&request.query_parameters)?,
        _ => body(request)?,
    };
    reading::search(world, &query)
}

/// A query of parameters, whose form the host has checked.
fn of_parameters(parameters: &[(String, String)]) -> Result<Query, Problem> {
    let text = |name: &str| parameter(parameters, name).map(str::to_owned);
    let bad =
        |name: &str| Problem::new(Kind::Malformed, format!("query {name}: it cannot be used"));
    let number = |name: &str| {
        let value = parameter(parameters, name).map(str::parse::<u64>);
        value.transpose().map_err(|_| bad(name))
    };
    let level = text("level").map(|level| serde_json::from_value::<Level>(level.into()));
    let order = text("order").map(|order| serde_json::from_value::<Order>(order.into()));
    let limit = number("limit")?.map(usize::try_from).transpose();
    Ok(Query {
        since: number("since")?,
        until: number("until")?,
        level: level.transpose().map_err(|_| bad("level"))?,
        writer: text("writer"),
        about: text("about"),
        trace: text("trace"),
        text: text("text"),
        order: order.transpose().map_err(|_| bad("order"))?,
        cursor: text("cursor"),
        limit: limit.map_err(|_| bad("limit"))?,
    })
}

fn body<'b, T: Deserialize<'b>>(request: &'b Request) -> Result<T, Problem> {
    let body = request.body.as_deref().unwrap_or_default();
    serde_json::from_str(body).map_err(|error| {
        let detail = format!("the body is not of the form of this operation: {error}");
        Problem::new(Kind::Malformed, detail)
    })
}
