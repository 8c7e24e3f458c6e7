//! Log records: the body of a `POST /v1/logs`.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::{AttributeOf, Attributes, Resource, Scope, Signal, attributes_of, to_json};
use crate::records::Record;
use crate::spans::Value;

impl Signal for Record {
    const NAME: &'static str = "log records";
    const PATH: &'static str = "/v1/logs";

    fn encode(resource: &Resource, records: &[Self]) -> Vec<u8> {
        to_json(&Export {
            resource_logs: [ResourceLogs {
                resource: resource.attributes(),
                scope_logs: [ScopeLogs {
                    scope: resource.scope(),
                    log_records: records.iter().map(Wire::of).collect(),
                }],
            }],
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Export<'a> {
    resource_logs: [ResourceLogs<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceLogs<'a> {
    resource: Attributes,
    scope_logs: [ScopeLogs<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ScopeLogs<'a> {
    scope: Scope,
    log_records: Vec<Wire<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    time_unix_nano: String,
    observed_time_unix_nano: String,
    severity_number: u8,
    severity_text: &'static str,
    body: Value,
    attributes: Vec<AttributeOf<'a>>,
    #[serde(skip_serializing_if = "String::is_empty")]
    trace_id: String,
}

impl<'a> Wire<'a> {
    fn of(record: &'a Record) -> Self {
        let since = record.at.duration_since(SystemTime::UNIX_EPOCH);
        let at = since.unwrap_or(Duration::ZERO).as_nanos().to_string();
        Self {
            observed_time_unix_nano: at.clone(),
            time_unix_nano: at,
            severity_number: record.severity as u8,
            severity_text: record.severity.text(),
            body: Value::from(record.body.as_str()),
            attributes: attributes_of(&record.attributes),
            trace_id: match record.trace {
                0 => String::new(),
                trace => format!("{trace:032x}"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Severity;

    #[test]
    fn export_of_log_records_has_the_form_of_the_protocol() {
        let resource = Resource {
            service: "hub".to_owned(),
            version: "1.2.3",
        };
        let records = [
            Record {
                at: SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_001),
                severity: Severity::Warn,
                body: "the disk is nearly full".to_owned(),
                attributes: vec![
                    ("code.namespace", "rialto::disk".into()),
                    ("free", 7_u64.into()),
                ],
                trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
            },
            Record {
                at: SystemTime::UNIX_EPOCH,
                severity: Severity::Info,
                body: String::new(),
                attributes: Vec::new(),
                trace: 0,
            },
        ];
        let written: serde_json::Value =
            serde_json::from_slice(&Record::encode(&resource, &records)).expect("JSON");
        let wanted = serde_json::json!({"resourceLogs": [{
            "resource": {"attributes": [
                {"key": "service.name", "value": {"stringValue": "hub"}},
                {"key": "service.version", "value": {"stringValue": "1.2.3"}},
            ]},
            "scopeLogs": [{
                "scope": {"name": "rialto", "version": "1.2.3"},
                "logRecords": [
                    {
                        "timeUnixNano": "1700000000000001000",
                        "observedTimeUnixNano": "1700000000000001000",
                        "severityNumber": 13,
                        "severityText": "WARN",
                        "body": {"stringValue": "the disk is nearly full"},
                        "attributes": [
                            {"key": "code.namespace", "value": {"stringValue": "rialto::disk"}},
                            {"key": "free", "value": {"intValue": "7"}},
                        ],
                        "traceId": "0af7651916cd43dd8448eb211c80319c",
                    },
                    {
                        "timeUnixNano": "0",
                        "observedTimeUnixNano": "0",
                        "severityNumber": 9,
                        "severityText": "INFO",
                        "body": {"stringValue": ""},
                        "attributes": [],
                    },
                ],
            }],
        }]});
        assert_eq!(written, wanted);
    }
}
