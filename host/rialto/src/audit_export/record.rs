//! An entry of the audit log as a log record.

use std::time::{Duration, SystemTime};

use rialto_audit::ActorKind;
use rialto_store_sqlite::StoredEntry;
use rialto_telemetry::records::{Record, Severity};
use rialto_telemetry::spans::Value;

use crate::audit_lines::{Attention, Exported, Format, attention};

/// The trace's id in an entry's trace, which is a whole `traceparent` or the id alone; 0 for none.
fn trace_id(trace: &str) -> u128 {
    let id = trace.split('-').nth(1).unwrap_or(trace);
    u128::from_str_radix(id, 16).unwrap_or(0)
}

/// The record of an entry.
pub(super) fn record(format: Format, stored: &StoredEntry) -> Record {
    let exported = Exported::new(stored.index, stored.at.0, &stored.body);
    let mut attributes: Vec<(&'static str, Value)> = vec![
        ("rialto.audit.index", stored.index.into()),
        ("rialto.audit.format", format.name().into()),
    ];
    let mut trace = 0;
    let mut severity = Severity::Error;
    if let Some(entry) = &exported.entry {
        severity = match attention(entry) {
            Attention::None => Severity::Info,
            Attention::Low => Severity::Notice,
            Attention::Medium => Severity::Warn,
            Attention::High => Severity::Error,
        };
        trace = trace_id(&entry.trace);
        let kind = match entry.actor.kind {
            ActorKind::Operator => "operator",
            ActorKind::Client => "client",
            ActorKind::Component => "component",
            ActorKind::Host => "host",
        };
        let texts = [
            ("rialto.audit.action", &*entry.action),
            ("rialto.audit.outcome", &entry.outcome),
            ("rialto.audit.actor", &entry.actor.name),
            ("rialto.audit.actor.kind", kind),
            ("rialto.audit.operator", &entry.actor.operator),
            ("rialto.audit.writer", &entry.writer),
            ("rialto.audit.about", &entry.about),
        ];
        let texts = texts.into_iter().filter(|(_, text)| !text.is_empty());
        attributes.extend(texts.map(|(name, text)| (name, text.into())));
        let numbers = [
            ("rialto.audit.release", entry.release),
            ("rialto.audit.turn", entry.turn),
        ];
        let numbers = numbers.into_iter();
        attributes.extend(numbers.filter_map(|(name, number)| Some((name, number?.into()))));
    }
    Record {
        at: SystemTime::UNIX_EPOCH + Duration::from_millis(stored.at.0),
        severity,
        body: format.line(&exported),
        attributes,
        trace,
    }
}

#[cfg(test)]
mod tests {
    use rialto_engine::Timestamp;

    use super::*;

    #[test]
    fn records_have_what_entries_say() {
        let stored = |body: &str| StoredEntry {
            index: 7,
            at: Timestamp(1_767_225_600_123),
            body: body.to_owned(),
        };
        let body = r#"{"at":1767225600123,"actor":{"kind":"operator","name":"anna","operator":"anna-checks"},"writer":"office","action":"approve-funds","outcome":"refused","turn":40,"trace":"0af7651916cd43dd8448eb211c80319c"}"#;
        let found = record(Format::Json, &stored(body));
        assert_eq!(
            found,
            Record {
                at: SystemTime::UNIX_EPOCH + Duration::from_millis(1_767_225_600_123),
                severity: Severity::Notice,
                body: format!("{{\"index\":7,\"entry\":{body}}}"),
                attributes: vec![
                    ("rialto.audit.index", 7_u64.into()),
                    ("rialto.audit.format", "json".into()),
                    ("rialto.audit.action", "approve-funds".into()),
                    ("rialto.audit.outcome", "refused".into()),
                    ("rialto.audit.actor", "anna".into()),
                    ("rialto.audit.actor.kind", "operator".into()),
                    ("rialto.audit.operator", "anna-checks".into()),
                    ("rialto.audit.writer", "office".into()),
                    ("rialto.audit.turn", 40_u64.into()),
                ],
                trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
            }
        );
        assert_eq!(
            trace_id("00-0af7651916cd43dd8448eb211c80319c-92bc624036ddfdeb-01"),
            found.trace
        );
        let found = record(Format::Ocsf, &stored("no entry"));
        assert_eq!(found.severity, Severity::Error);
        assert_eq!(found.attributes.len(), 2);
        assert!(found.body.contains("no entry"), "{}", found.body);
    }
}
