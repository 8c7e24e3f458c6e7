//! Reports, alerts and notices over HTTP, for operators.

use crate::Component;
use crate::alerts;
use crate::bindings::exports::rialto::host::http_handler::{
    self, Guest, Request, RequestHead, Response, Violation,
};
use crate::notices::{CHECKERS, NOTICES, OPERATORS};
use crate::reports;
use rialto_sdk::documents::HostStore;
use rialto_sdk::operators::{Answer, Caller, Paging, Problem, Role, parameter, with_problems};
use serde_json::json;

rialto_sdk::serves_operators!(http_handler);

impl Guest for Component {
    fn openapi() -> String {
        with_problems(include_str!("../openapi.yaml"))
    }

    fn handle(request: Request) -> Response {
        let caller = caller_of(request.caller.as_ref());
        told(answer(&caller, &request).unwrap_or_else(|problem| problem.answer()))
    }

    fn refuse(_head: RequestHead, violation: Violation) -> Response {
        worded(violation)
    }
}

fn answer(caller: &Caller, request: &Request) -> Result<Answer, Problem> {
    caller.needs(Role::Reader)?;
    let query = &request.query_parameters;
    let paging = Paging::of(query)?;
    let cursor = paging.cursor.as_deref();
    Ok(match request.operation_id.as_str() {
        "listAlerts" => {
            let (alerts, next) = alerts::page(cursor, paging.limit);
            page("alerts", json!(alerts), next)
        }
        "listNotices" => {
            let audience = audience(parameter(query, "audience").unwrap_or(OPERATORS));
            let page = paging.fill(
                &mut HostStore,
                &NOTICES,
                &format!("{audience}/"),
                |_, _, notice| Some(notice),
            )?;
            Answer::json(200, &page)
        }
        _ => {
            // The OpenAPI document requires it.
            let destination = parameter(query, "destination").unwrap_or_default();
            let (reports, next) = reports::page(destination, cursor, paging.limit);
            page("reports", json!(reports), next)
        }
    })
}

/// The id prefix of an audience's notices.
fn audience(named: &str) -> String {
    match named {
        CHECKERS | OPERATORS => named.to_owned(),
        operator => format!("operator/{operator}"),
    }
}

fn page(name: &str, items: serde_json::Value, next_cursor: Option<String>) -> Answer {
    let mut page = json!({ name: items });
    if let Some(cursor) = next_cursor {
        page["nextCursor"] = json!(cursor);
    }
    Answer::json(200, &page)
}
