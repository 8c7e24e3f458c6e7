//! The reports over HTTP, for operators.

use crate::Component;
use crate::alerts::{self, AlertDocument};
use crate::bindings::exports::rialto::host::http_handler::{
    Guest, Request, RequestHead, Response, Violation, ViolationKind,
};
use crate::reports::{self, ReportDocument};
use serde::Serialize;

/// Reports of a page, unless said.
const LIMIT: u32 = 100;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    reports: Vec<ReportDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AlertPage {
    alerts: Vec<AlertDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// RFC 9457.
#[derive(Serialize)]
struct Problem<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

/// Which page a query asks for.
#[derive(Debug, PartialEq, Eq)]
struct Paging {
    cursor: Option<String>,
    limit: u32,
}

impl Guest for Component {
    fn openapi() -> String {
        include_str!("../openapi.yaml").to_owned()
    }

    fn handle(request: Request) -> Response {
        let answered = match request.operation_id.as_str() {
            "listAlerts" => alerts_asked(&request.query_parameters),
            _ => reports_asked(&request.query_parameters),
        };
        answered.unwrap_or_else(|detail| problem(400, "malformed", detail))
    }

    fn refuse(_head: RequestHead, violation: Violation) -> Response {
        let (status, kind) = match violation.kind {
            ViolationKind::UnknownPath => (404, "not-found"),
            ViolationKind::MethodNotAllowed => (405, "method-not-allowed"),
            ViolationKind::BodyTooLarge => (413, "too-large"),
            ViolationKind::HeadersTooLarge => (431, "too-large"),
            ViolationKind::Overloaded => (503, "overloaded"),
            ViolationKind::Internal => (500, "internal"),
            _ => (400, "malformed"),
        };
        let detail = format!("{}: {}", violation.location, violation.detail);
        let mut response = problem(status, kind, &detail);
        match violation.kind {
            ViolationKind::MethodNotAllowed => response
                .headers
                .push(("allow".to_owned(), violation.allowed.join(", "))),
            ViolationKind::Overloaded => response
                .headers
                .push(("retry-after".to_owned(), "1".to_owned())),
            _ => {}
        }
        response
    }
}

fn alerts_asked(query: &[(String, String)]) -> Result<Response, &'static str> {
    let paging = Paging::of(query)?;
    let (alerts, next_cursor) = alerts::page(paging.cursor.as_deref(), paging.limit);
    let page = AlertPage {
        alerts,
        next_cursor,
    };
    Ok(json(200, "application/json", &page))
}

fn reports_asked(query: &[(String, String)]) -> Result<Response, &'static str> {
    let paging = Paging::of(query)?;
    // It must be there, says the document.
    let destination = given(query, "destination").ok_or("`destination` is missing")?;
    let (reports, next_cursor) =
        reports::page(&destination, paging.cursor.as_deref(), paging.limit);
    let page = Page {
        reports,
        next_cursor,
    };
    Ok(json(200, "application/json", &page))
}

fn given(query: &[(String, String)], name: &str) -> Option<String> {
    let parameter = query.iter().find(|(given, _)| given == name);
    parameter.map(|(_, value)| value.clone())
}

impl Paging {
    fn of(query: &[(String, String)]) -> Result<Self, &'static str> {
        // The document has let no other text through.
        let limit = given(query, "limit").map_or(Ok(LIMIT), |limit| limit.parse());
        Ok(Self {
            cursor: given(query, "cursor"),
            limit: limit.map_err(|_| "`limit` is 1 to 1000")?,
        })
    }
}

/// A problem of a stable kind, worded as the host's own are.
fn problem(status: u16, kind: &str, detail: &str) -> Response {
    let title = match status {
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Payload Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    };
    let body = Problem {
        r#type: format!("urn:rialto:problem:{kind}"),
        title,
        status,
        detail,
    };
    json(status, "application/problem+json", &body)
}

fn json(status: u16, media_type: &str, body: &impl Serialize) -> Response {
    Response {
        status,
        headers: vec![("content-type".to_owned(), media_type.to_owned())],
        body: Some(serde_json::to_string(body).expect("texts and numbers always have a JSON text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_which_page() {
        let paging = |of: &[(&str, &str)]| {
            let owned = of.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
            Paging::of(&owned.collect::<Vec<_>>())
        };
        let page = |cursor: Option<&str>, limit| {
            Ok(Paging {
                cursor: cursor.map(str::to_owned),
                limit,
            })
        };
        assert_eq!(paging(&[]), page(None, LIMIT));
        assert_eq!(paging(&[("limit", "7"), ("more", "x")]), page(None, 7));
        assert_eq!(paging(&[("cursor", "c")]), page(Some("c"), LIMIT));
    }
}
