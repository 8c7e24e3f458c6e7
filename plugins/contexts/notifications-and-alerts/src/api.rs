//! The reports over HTTP, for operators.

use crate::Component;
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

/// RFC 9457.
#[derive(Serialize)]
struct Problem<'a> {
    title: &'a str,
    status: u16,
    detail: &'a str,
}

/// What a query asks for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    destination: String,
    cursor: Option<String>,
    limit: u32,
}

impl Guest for Component {
    fn openapi() -> String {
        include_str!("../openapi.yaml").to_owned()
    }

    fn handle(request: Request) -> Response {
        let asked = match asked(&request.query_parameters) {
            Ok(asked) => asked,
            Err(detail) => return problem(400, "malformed", detail),
        };
        let (reports, next_cursor) =
            reports::page(&asked.destination, asked.cursor.as_deref(), asked.limit);
        json(
            200,
            "application/json",
            &Page {
                reports,
                next_cursor,
            },
        )
    }

    fn refuse(_head: RequestHead, violation: Violation) -> Response {
        let (status, title) = match violation.kind {
            ViolationKind::UnknownPath => (404, "not-found"),
            ViolationKind::MethodNotAllowed => (405, "method-not-allowed"),
            ViolationKind::BodyTooLarge => (413, "too-large"),
            ViolationKind::HeadersTooLarge => (431, "too-large"),
            ViolationKind::Overloaded => (503, "overloaded"),
            ViolationKind::Internal => (500, "internal"),
            _ => (400, "malformed"),
        };
        let detail = format!("{}: {}", violation.location, violation.detail);
        let mut response = problem(status, title, &detail);
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

/// What a query asks for, or what is wrong with it.
fn asked(query: &[(String, String)]) -> Result<Asked, &'static str> {
    let given = |name: &str| {
        let parameter = query.iter().find(|(given, _)| given == name);
        parameter.map(|(_, value)| value.clone())
    };
    // The document has let no other text through.
    let limit = given("limit").map_or(Ok(LIMIT), |limit| limit.parse());
    Ok(Asked {
        // It must be there, says the document.
        destination: given("destination").ok_or("`destination` is missing")?,
        cursor: given("cursor"),
        limit: limit.map_err(|_| "`limit` is 1 to 1000")?,
    })
}

fn problem(status: u16, title: &str, detail: &str) -> Response {
    let body = Problem {
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

    fn query(of: &[(&str, &str)]) -> Result<Asked, &'static str> {
        let owned = of.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        asked(&owned.collect::<Vec<_>>())
    }

    #[test]
    fn a_query_names_a_destination() {
        let asked = query(&[("destination", "payerfsp"), ("limit", "7"), ("more", "x")]).unwrap();
        assert_eq!(asked.destination, "payerfsp");
        assert_eq!((asked.cursor, asked.limit), (None, 7));
        let asked = query(&[("destination", "payerfsp"), ("cursor", "c")]).unwrap();
        assert_eq!((asked.cursor.as_deref(), asked.limit), (Some("c"), LIMIT));
        assert!(query(&[]).is_err());
    }
}
