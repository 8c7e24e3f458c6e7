//! Spans: the body of a `POST /v1/traces`.

use std::time::{Duration, SystemTime};

use serde::{Serialize, Serializer};

use super::{AttributeOf, Attributes, Resource, Scope, Signal, attributes_of, to_json};
use crate::spans::Span;

impl Signal for Span {
    const NAME: &'static str = "spans";
    const PATH: &'static str = "/v1/traces";

    fn encode(resource: &Resource, spans: &[Self]) -> Vec<u8> {
        to_json(&Export {
            resource_spans: [ResourceSpans {
                resource: resource.attributes(),
                scope_spans: [ScopeSpans {
                    scope: resource.scope(),
                    spans: spans.iter().map(Wire::of).collect(),
                }],
            }],
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Export<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Attributes,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: Scope,
    spans: Vec<Wire<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    parent_span_id: String,
    /// The trace's flags, always with `sampled`.
    flags: u32,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<AttributeOf<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
}

#[derive(Serialize)]
struct Status<'a> {
    /// 2 is an error.
    code: u8,
    #[serde(serialize_with = "shortened")]
    message: &'a str,
}

/// Characters of an error that are exported.
const ERROR_MAX: usize = 512;

fn shortened<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    match text.char_indices().nth(ERROR_MAX) {
        Some((end, _)) => serializer.serialize_str(&text[..end]),
        None => serializer.serialize_str(text),
    }
}

impl<'a> Wire<'a> {
    fn of(span: &'a Span) -> Self {
        let since = span.began.duration_since(SystemTime::UNIX_EPOCH);
        let began = since.unwrap_or(Duration::ZERO);
        Self {
            trace_id: format!("{:032x}", span.trace),
            span_id: format!("{:016x}", span.id),
            parent_span_id: match span.parent {
                0 => String::new(),
                parent => format!("{parent:016x}"),
            },
            flags: 1,
            name: &span.name,
            kind: span.kind as u8,
            start_time_unix_nano: began.as_nanos().to_string(),
            end_time_unix_nano: (began + span.took).as_nanos().to_string(),
            attributes: attributes_of(&span.attributes),
            status: span
                .error
                .as_deref()
                .map(|message| Status { code: 2, message }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spans::{Kind, Value};

    #[test]
    fn an_export_is_written_as_the_protocol_has_it() {
        let resource = Resource {
            service: "hub".to_owned(),
            version: "1.2.3",
        };
        let spans = [
            Span {
                trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
                id: 0xb7ad,
                parent: 0,
                name: "POST /transfers".to_owned(),
                kind: Kind::Server,
                began: SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_001),
                took: Duration::from_micros(25),
                attributes: vec![
                    ("url.path", "/transfers".into()),
                    ("http.response.status_code", 503_u64.into()),
                    ("rialto.subjects", Value::Texts(vec!["transfer:1".into()])),
                ],
                error: Some("behind".to_owned()),
            },
            Span {
                trace: 1,
                id: u64::MAX,
                parent: 0xb7ad,
                name: "x".to_owned(),
                kind: Kind::Internal,
                began: SystemTime::UNIX_EPOCH,
                took: Duration::ZERO,
                attributes: Vec::new(),
                error: None,
            },
        ];
        let written: serde_json::Value =
            serde_json::from_slice(&Span::encode(&resource, &spans)).expect("JSON");
        let wanted = serde_json::json!({"resourceSpans": [{
            "resource": {"attributes": [
                {"key": "service.name", "value": {"stringValue": "hub"}},
                {"key": "service.version", "value": {"stringValue": "1.2.3"}},
            ]},
            "scopeSpans": [{
                "scope": {"name": "rialto", "version": "1.2.3"},
                "spans": [
                    {
                        "traceId": "0af7651916cd43dd8448eb211c80319c",
                        "spanId": "000000000000b7ad",
                        "flags": 1,
                        "name": "POST /transfers",
                        "kind": 2,
                        "startTimeUnixNano": "1700000000000001000",
                        "endTimeUnixNano": "1700000000000026000",
                        "attributes": [
                            {"key": "url.path", "value": {"stringValue": "/transfers"}},
                            {"key": "http.response.status_code", "value": {"intValue": "503"}},
                            {"key": "rialto.subjects", "value": {"arrayValue": {"values": [
                                {"stringValue": "transfer:1"},
                            ]}}},
                        ],
                        "status": {"code": 2, "message": "behind"},
                    },
                    {
                        "traceId": "00000000000000000000000000000001",
                        "spanId": "ffffffffffffffff",
                        "parentSpanId": "000000000000b7ad",
                        "flags": 1,
                        "name": "x",
                        "kind": 1,
                        "startTimeUnixNano": "0",
                        "endTimeUnixNano": "0",
                        "attributes": [],
                    },
                ],
            }],
        }]});
        assert_eq!(written, wanted);
    }

    #[test]
    fn a_long_error_is_cut_between_characters() {
        let message = "é".repeat(ERROR_MAX + 1);
        let status = Status {
            code: 2,
            message: &message,
        };
        let written = serde_json::to_value(status).expect("JSON");
        let text = written["message"].as_str().expect("a text");
        assert_eq!(text.chars().count(), ERROR_MAX);
    }
}
