//! A tap on the log: gives log lines at `info` and above to the component that keeps them and to the exporter.
//!
//! The log starts before the store and the metrics exist, so the queues are set later. A line that the operator's filter
//! does not let through does not arrive here either.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::lines::{Line, Lines};
use crate::otlp;
use crate::records::{Records, Severity};
use crate::spans::Value;

/// The target of lines that a component forwards for somebody else. They are exported, and are neither on standard error nor
/// given to the component that keeps lines: it has them already.
pub(crate) const FOREIGN_TARGET: &str = "foreign";
/// The longest message of a line, in bytes. A longer one is cut.
const MESSAGE_BYTES_MAX: usize = 4_096;
/// The digits of a trace's id.
const TRACE_DIGITS: usize = 32;

#[derive(Debug, Default)]
struct Inner {
    lines: OnceLock<Lines>,
    records: OnceLock<Records>,
}

/// See the module's documentation. A clone is another handle.
#[derive(Clone, Debug, Default)]
pub struct LogTap {
    inner: Arc<Inner>,
}

impl LogTap {
    /// Gives lines to the component that keeps them, from now on. Only the first call has an effect.
    pub fn deliver(&self, lines: Lines) {
        let _ = self.inner.lines.set(lines);
    }

    /// Exports lines, from now on. Only the first call has an effect.
    pub fn export(&self, records: Records) {
        let _ = self.inner.records.set(records);
    }
}

impl<S: Subscriber> Layer<S> for LogTap {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let severity = match *metadata.level() {
            Level::ERROR => Severity::Error,
            Level::WARN => Severity::Warn,
            Level::INFO => Severity::Info,
            _ => return,
        };
        let is_foreign = metadata.target() == FOREIGN_TARGET;
        let lines = self.inner.lines.get().filter(|_| !is_foreign);
        let records = self.inner.records.get();
        // The collector refuses lines about its refusals too: they would never end.
        let records = records.filter(|_| metadata.target() != otlp::EXPORT_TARGET);
        if lines.is_none() && records.is_none() {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let (at, target) = (SystemTime::now(), metadata.target());
        if let Some(lines) = lines {
            lines.add(fields.line(at, severity, target));
        }
        if let Some(records) = records {
            let trace = u128::from_str_radix(&fields.trace, 16).unwrap_or(0);
            let (message, attributes) = fields.record(target);
            if is_foreign {
                records.add_foreign(at, severity, message, attributes, trace);
            } else {
                records.add(at, severity, message, attributes, trace);
            }
        }
    }
}

/// The fields of a line.
#[derive(Default)]
struct Fields {
    message: String,
    component: Option<Arc<str>>,
    trace: String,
    others: Vec<(&'static str, Value)>,
}

impl Fields {
    /// The line with all fields in its message, as on standard error.
    fn line(&self, at: SystemTime, severity: Severity, target: &'static str) -> Line {
        let mut message = self.message.clone();
        for (name, value) in &self.others {
            let space = if message.is_empty() { "" } else { " " };
            // Writing to a String does not fail.
            let _ = match value {
                Value::Text(text) => write!(message, "{space}{name}={text:?}"),
                Value::Number(number) => write!(message, "{space}{name}={number}"),
                Value::Texts(texts) => write!(message, "{space}{name}={texts:?}"),
            };
        }
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        Line {
            at,
            severity,
            component: self.component.clone(),
            target,
            message,
            trace: self.trace.clone(),
        }
    }

    /// The body and the attributes of the record.
    fn record(self, target: &'static str) -> (String, Vec<(&'static str, Value)>) {
        let mut attributes = self.others;
        attributes.push(("rialto.target", target.into()));
        if let Some(component) = self.component {
            attributes.push(("rialto.component", component.into()));
        }
        (self.message, attributes)
    }

    fn text(&mut self, field: &Field, text: &str) {
        let text = &text[..text.floor_char_boundary(MESSAGE_BYTES_MAX)];
        match field.name() {
            "message" => text.clone_into(&mut self.message),
            "component" => self.component = Some(text.into()),
            "trace" if is_trace(text) => text.clone_into(&mut self.trace),
            name => self.others.push((name, text.into())),
        }
    }
}

fn is_trace(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == TRACE_DIGITS && text.bytes().all(is_digit)
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.others.push((field.name(), value.into()));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.text(field, &format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;
    use crate::Metrics;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn lines_reach_both_queues_with_their_fields() {
        let metrics = Metrics::default();
        let (lines, records) = (Lines::new(&metrics), Records::new(&metrics));
        let tap = LogTap::default();
        let subscriber = tracing_subscriber::registry().with(tap.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!("before there is a queue");
            tap.deliver(lines.clone());
            tap.export(records.clone());
            tracing::debug!("below");
            tracing::warn!(target: "t", free = 7_u64, what = "a b", "the disk {}", "is full");
            let component: &str = "quoting";
            tracing::info!(target: "component", component, turn = Some(3_u64), trace = TRACE, "heard");
            tracing::error!(target: otlp::EXPORT_TARGET, "refused");
            let (written_at, writer, about) = (1_000_u64, "risk-engine", "transfer:1");
            tracing::warn!(target: FOREIGN_TARGET, written_at, writer, about, trace = TRACE, "odd");
        });
        let taken = lines.take(10);
        let told: Vec<_> = taken
            .iter()
            .map(|line| (line.severity, line.writer(), &*line.message, &*line.trace))
            .collect();
        let expected = [
            (
                Severity::Warn,
                "host",
                r#"the disk is full free=7 what="a b""#,
                "",
            ),
            (Severity::Info, "quoting", "heard turn=3", TRACE),
            (Severity::Error, "host", "refused", ""),
        ];
        assert_eq!(told, expected);

        let exported = records.queue().take(10);
        let told: Vec<_> = exported
            .iter()
            .map(|record| (record.severity, &*record.body, record.trace))
            .collect();
        let trace = u128::from_str_radix(TRACE, 16).expect("hexadecimal digits");
        let expected = [
            (Severity::Warn, "the disk is full", 0),
            (Severity::Info, "heard", trace),
            (Severity::Warn, "odd", trace),
        ];
        assert_eq!(told, expected);
        let attributes: Vec<(&str, Value)> = vec![
            ("turn", 3_u64.into()),
            ("rialto.target", "component".into()),
            ("rialto.component", "quoting".into()),
        ];
        assert_eq!(exported[1].attributes, attributes);
        // The time that somebody else says is no time of the record: a collector could refuse it, and the others with it.
        assert!(exported[2].at >= exported[1].at);
        let attributes: Vec<(&str, Value)> = vec![
            ("written_at", 1_000_u64.into()),
            ("writer", "risk-engine".into()),
            ("about", "transfer:1".into()),
            ("rialto.target", FOREIGN_TARGET.into()),
        ];
        assert_eq!(exported[2].attributes, attributes);
    }
}
