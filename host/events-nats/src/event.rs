//! An event as a message: its subject, its headers and its payload.

use std::fmt::Write as _;
use std::sync::Arc;

use async_nats::HeaderMap;

/// The digits of a number in the attribute `sequence`, whose order is that of texts.
const SEQUENCE_DIGITS: usize = 20;
/// What the event's name is when numbers are missing.
const GAP: &str = "gap";
/// What the event's name is with which a log begins.
const BEGINS: &str = "log-begins";

/// The log that events are of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// What subjects begin with.
    pub prefix: String,
    /// The partition.
    pub partition: u32,
    /// The store: its events have numbers of their own.
    pub store: u64,
}

/// An event with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Counts up from 1, without a gap in a store's partition; 0 for the event with which it begins.
    pub number: u64,
    /// When: RFC 3339.
    pub time: String,
    /// What it tells.
    pub content: Content,
}

/// What an event tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A component has published it.
    Published {
        /// Context and event, with a slash.
        name: String,
        /// What it is about.
        subject: Option<String>,
        /// The trace context of W3C.
        traceparent: String,
        /// The turn that has published it.
        turn: u64,
        /// The release on which the turn ran.
        release: u64,
        /// JSON.
        data: Arc<str>,
    },
    /// Nothing has happened yet: the first event will have the number 1. It is how a host finds out whether the stream takes
    /// what it sends.
    Begins,
    /// The host has no event with a number from this one to the event's own.
    Gap {
        /// The first one.
        from: u64,
        /// Why, in words.
        reason: String,
    },
}

impl Log {
    /// Where the log is from: `ce-source`.
    fn source(&self) -> String {
        format!("/{}/{}", self.prefix, self.partition)
    }

    /// The id of a message, by which JetStream knows it again.
    #[must_use]
    pub fn id(&self, event: &Event) -> String {
        let gap = match event.content {
            Content::Published { .. } | Content::Begins => "",
            Content::Gap { .. } => "-gap",
        };
        format!(
            "{:016x}-{}-{}{gap}",
            self.store, self.partition, event.number
        )
    }

    /// The subject of a message.
    #[must_use]
    pub fn subject(&self, event: &Event) -> String {
        format!(
            "{}.{}.{}",
            self.prefix,
            self.partition,
            event.content.name()
        )
    }

    /// The headers: the attributes of the event.
    #[must_use]
    pub fn headers(&self, event: &Event) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut add = |name: &str, value: &str| {
            headers.insert(name, encoded(value).as_str());
        };
        add("ce-specversion", "1.0");
        add("ce-id", &self.id(event));
        add("ce-source", &self.source());
        add("ce-type", &format!("rialto.{}", event.content.name()));
        add("ce-time", &event.time);
        add("ce-datacontenttype", "application/json");
        add("ce-partition", &self.partition.to_string());
        let sequence = format!("{:0SEQUENCE_DIGITS$}", event.number);
        add("ce-sequence", &sequence);
        if let Content::Published {
            subject,
            traceparent,
            turn,
            release,
            ..
        } = &event.content
        {
            if let Some(subject) = subject {
                add("ce-subject", subject);
            }
            add("ce-traceparent", traceparent);
            add("ce-turn", &turn.to_string());
            add("ce-release", &release.to_string());
        }
        headers
    }
}

impl Content {
    /// Context and event, with a dot.
    fn name(&self) -> String {
        match self {
            Self::Published { name, .. } => name.replace('/', "."),
            Self::Gap { .. } => GAP.to_owned(),
            Self::Begins => BEGINS.to_owned(),
        }
    }
}

impl Event {
    /// The payload: JSON.
    #[must_use]
    pub fn payload(&self) -> String {
        match &self.content {
            Content::Published { data, .. } => data.to_string(),
            Content::Begins => "{}".to_owned(),
            Content::Gap { from, reason } => {
                let to = self.number;
                serde_json::json!({ "from": from, "to": to, "reason": reason }).to_string()
            }
        }
    }
}

/// A header's value: what is no visible ASCII, quotation marks and percent signs are encoded by percent.
fn encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'"' | b'%' | ..=0x20 | 0x7f.. => {
                // Writing to a text does not fail.
                let _ = write!(text, "%{byte:02X}");
            }
            _ => text.push(char::from(byte)),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn log() -> Log {
        Log {
            prefix: "hub".to_owned(),
            partition: 0,
            store: 0xabc,
        }
    }

    fn event(number: u64) -> Event {
        Event {
            number,
            time: "2026-01-31T09:00:00.000Z".to_owned(),
            content: Content::Published {
                name: "orders/order-taken".to_owned(),
                subject: Some("order:ä 1\r\n\"%".to_owned()),
                traceparent: "00-1-2-01".to_owned(),
                turn: 7,
                release: 3,
                data: r#"{"id":"1"}"#.into(),
            },
        }
    }

    #[test]
    fn an_event_has_the_attributes_of_cloudevents() {
        let (log, event) = (log(), event(42));
        let headers = log.headers(&event);
        let value = |name: &str| headers.get(name).map(|value| value.as_str().to_owned());
        let value = |name: &str| value(name).unwrap();
        assert_eq!(log.subject(&event), "hub.0.orders.order-taken");
        assert_eq!(value("ce-specversion"), "1.0");
        assert_eq!(value("ce-id"), "0000000000000abc-0-42");
        assert_eq!(value("ce-source"), "/hub/0");
        assert_eq!(value("ce-type"), "rialto.orders.order-taken");
        assert_eq!(value("ce-sequence"), "00000000000000000042");
        assert_eq!(value("ce-subject"), "order:%C3%A4%201%0D%0A%22%25");
        assert_eq!(event.payload(), r#"{"id":"1"}"#);
    }

    #[test]
    fn sequences_are_in_the_order_of_texts() {
        let sequence = |number| {
            let headers = log().headers(&event(number));
            headers.get("ce-sequence").unwrap().as_str().to_owned()
        };
        assert!(sequence(9) < sequence(10) && sequence(10) < sequence(u64::MAX));
    }

    #[test]
    fn a_gap_says_from_where_to_where() {
        let gap = Event {
            number: 9,
            time: String::new(),
            content: Content::Gap {
                from: 4,
                reason: "they are removed".to_owned(),
            },
        };
        assert_eq!(log().subject(&gap), "hub.0.gap");
        assert_ne!(log().id(&gap), log().id(&event(9)));
        let payload: serde_json::Value = serde_json::from_str(&gap.payload()).unwrap();
        assert_eq!((&payload["from"], &payload["to"]), (&4.into(), &9.into()));
    }
}
