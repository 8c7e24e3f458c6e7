//! The operations over HTTP. The host has validated each request by `openapi.yaml`.
//!
//! | Who | May |
//! |---|---|
//! | `context` | create, read and delete its own reminders |
//! | `reader` | read all reminders |

use rialto_sdk::operators::{Answer, Caller, Kind, Paging, Problem, Role, parameter};
use serde::Serialize;

use crate::bindings::exports::rialto::host::http_handler::Request;
use crate::names::{Client, name};
use crate::reminders::{
    self, Deleted, Otherwise, REMINDERS, Recovery, Refused, Reminder, Run, State, Transport, Wanted,
};
use crate::world::World;

/// Answers a request.
pub fn answer<W: World>(world: &mut W, caller: &Caller, request: &Request) -> Answer {
    let answered = match request.operation_id.as_str() {
        "createReminder" => create(world, caller, request),
        "listReminders" => list(world, caller, request),
        "getReminder" => get(world, caller, request),
        "deleteReminder" => delete(world, caller, request),
        _ => Err(Problem::new(Kind::NotFound, "there is no such operation")),
    };
    answered.unwrap_or_else(|problem| problem.answer())
}

/// A reminder, as clients and operators see it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    client: String,
    id: String,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<u64>,
    transport: Transport,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    payload: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<Recovery>,
    alert: bool,
    created_at: u64,
    runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_run: Option<Run>,
}

impl From<Reminder> for Shown {
    fn from(reminder: Reminder) -> Self {
        let recurs = reminder.cron.is_some();
        let recovery = (reminder.transport == Transport::HttpPost).then(|| {
            let given = reminder.recovery.unwrap_or_default();
            let by_default = if recurs {
                Otherwise::Reschedule
            } else {
                Otherwise::Abort
            };
            Recovery {
                otherwise: Some(given.otherwise.unwrap_or(by_default)),
                ..given
            }
        });
        Self {
            at: (!recurs).then_some(reminder.due),
            next_at: (reminder.state == State::Waiting).then_some(reminder.due),
            client: reminder.client,
            id: reminder.id,
            state: reminder.state,
            cron: reminder.cron,
            transport: reminder.transport,
            url: reminder.url,
            payload: reminder.payload,
            recovery,
            alert: reminder.alert,
            created_at: reminder.created_at,
            runs: reminder.runs,
            last_run: reminder.last_run,
        }
    }
}

fn create(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Role::Context)?;
    let body = request.body.as_deref().unwrap_or_default();
    let wanted: Wanted = serde_json::from_str(body).map_err(|error| {
        let detail = format!("the body is not of the form of this operation: {error}");
        Problem::new(Kind::Malformed, detail)
    })?;
    let created = reminders::create(world, &program(caller), wanted);
    let reminder = created.map_err(|refused| match refused {
        Refused::Malformed(why) => Problem::new(Kind::Malformed, why),
        Refused::Exists(state) => {
            let detail = "there is a reminder of this id, or was one lately: use another id, or delete it first if it still waits";
            Problem::new(Kind::ReminderExists, detail).with("state", said(state))
        }
        Refused::TooMany(most) => {
            let detail = "the caller has as many reminders as a client may have: delete some, or wait until those that have ended are forgotten";
            Problem::new(Kind::TooMany, detail).with("most", most)
        }
    })?;
    let path = format!("/reminders/{}", reminder.id);
    Ok(Answer::json(201, &Shown::from(reminder)).with("location", path))
}

fn list(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    let client = asked_client(caller, request)?;
    let prefix = client.map_or_else(String::new, |client| name(&client, ""));
    let paging = Paging::of(&request.query_parameters)?;
    let page = paging.fill(world, &REMINDERS, &prefix, |_, _, reminder| {
        Some(Shown::from(reminder))
    })?;
    Ok(Answer::json(200, &page))
}

fn get(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    let client = asked_client(caller, request)?;
    let client = client.unwrap_or_else(|| program(caller).name());
    let id = id(request);
    let found = REMINDERS.within(world).get(&name(&client, id));
    let reminder = found.ok_or_else(|| unknown(&client, id))?;
    Ok(Answer::json(200, &Shown::from(reminder)))
}

fn delete(world: &mut impl World, caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Role::Context)?;
    let (client, id) = (program(caller), id(request));
    match reminders::delete(world, &client, id) {
        Deleted::Done => Ok(Answer {
            status: 204,
            headers: Vec::new(),
            body: None,
        }),
        Deleted::Elapsed(state) => {
            let detail = format!(
                "the reminder `{id}` has come due for the last time: there is nothing to delete"
            );
            Err(Problem::new(Kind::ReminderElapsed, detail).with("state", said(state)))
        }
        Deleted::Unknown => Err(unknown(&client.name(), id)),
    }
}

/// The client whose reminders are asked for; none for all. Who is no `reader` sees its own alone.
fn asked_client(caller: &Caller, request: &Request) -> Result<Option<String>, Problem> {
    caller.needs_one_of(&[Role::Reader, Role::Context])?;
    let asked = parameter(&request.query_parameters, "client").map(str::to_owned);
    if caller.needs(Role::Reader).is_ok() {
        return Ok(asked);
    }
    let own = program(caller).name();
    match asked {
        Some(other) if other != own => {
            let detail = format!(
                "there is no client {other:?} for `{}`, who is no `reader` and sees its own reminders alone",
                caller.name
            );
            Err(Problem::new(Kind::ReminderUnknown, detail))
        }
        _ => Ok(Some(own)),
    }
}

fn program(caller: &Caller) -> Client {
    Client::Program(caller.name.clone())
}

fn id(request: &Request) -> &str {
    parameter(&request.path_parameters, "id").unwrap_or_default()
}

fn unknown(client: &str, id: &str) -> Problem {
    let detail = format!("`{client}` has no reminder of the id {id:?}");
    Problem::new(Kind::ReminderUnknown, detail)
}

fn said(state: State) -> serde_json::Value {
    serde_json::to_value(state).unwrap_or_default()
}
