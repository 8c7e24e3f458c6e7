//! What operators see as it happens: the last documents, figures each two seconds, the health, and the figures of the last
//! two hours.
//!
//! One task of the host reads everything, once for all streams ([`streams`]). A group's documents come from the committer
//! ([`changes`]), figures from the host's own metrics ([`figures`]). Nothing of a payment waits for it.

pub mod changes;
mod collector;
pub mod figures;
pub mod longer;
pub mod past;
pub mod streams;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rialto_manifest::Operator;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use changes::{Changes, Kind, Taken};
pub use collector::{LiveCollector, VerdictsCollector};
use figures::{Figure, Reading};
use longer::Longer;
use past::Past;
use streams::{Message, Streams};

use crate::host::Shared;
use crate::ops::health::Readiness;

/// The time between two messages with documents: five a second at most.
const LOOK: Duration = Duration::from_millis(200);
/// Of so many looks, one asks who may still read, and how the host is.
const HEALTH: u64 = 5;
/// One takes the figures, for who reads along.
const FIGURES: u64 = 10;
/// One takes the figures for the past.
const SAMPLE: u64 = past::EVERY_MS / LOOK.as_millis() as u64;

/// What operators see as it happens.
#[derive(Default)]
pub struct Live {
    /// What groups have brought.
    pub changes: Arc<Changes>,
    /// Who reads along.
    pub streams: Streams,
    /// The figures of the last two hours.
    pub past: Mutex<Past>,
    /// Where earlier ones are, if somewhere.
    pub longer: Option<Longer>,
}

impl Live {
    /// Of a host with this operator's document.
    #[must_use]
    pub fn new(operator: &Operator) -> Self {
        Self {
            longer: operator.console.as_ref().map(Longer::new),
            ..Self::default()
        }
    }
}

/// The message about the health.
#[must_use]
pub fn health(readiness: &Readiness) -> Message {
    Message::new("health", &json(readiness))
}

/// A figure's message.
#[derive(Serialize)]
struct Figures<'a> {
    at: u64,
    figures: &'a [Figure],
}

/// A message with documents.
#[derive(Serialize)]
struct Documents<'a> {
    component: &'a str,
    collection: &'a str,
    documents: Vec<Document<'a>>,
    /// How many more have changed.
    more: u64,
}

#[derive(Serialize)]
struct Document<'a> {
    id: &'a str,
    version: u64,
    /// None if it was removed.
    body: Option<&'a RawValue>,
}

/// One line of JSON. A text of JSON has no end of a line but between its parts.
fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    if text.contains(['\n', '\r']) {
        text.replace(['\n', '\r'], " ")
    } else {
        text
    }
}

/// The message about documents of a kind.
fn documents(kind: &Kind, taken: &Taken) -> Message {
    let all = taken.documents.iter().map(|changed| Document {
        id: &changed.id,
        version: changed.version,
        body: changed
            .body
            .as_deref()
            .and_then(|body| serde_json::from_str(body).ok()),
    });
    let said = Documents {
        component: &kind.component,
        collection: &kind.collection,
        documents: all.collect(),
        more: taken.more,
    };
    Message {
        documents: taken.documents.len() as u64 + taken.more,
        ..Message::new("documents", &json(&said))
    }
}

/// What the task knows from before.
#[derive(Default)]
struct Reader {
    /// The text of the metrics; its memory is used again.
    text: String,
    /// The reading of the last figures, while somebody reads along.
    told: Option<Reading>,
    /// The reading of the last sample.
    sampled: Option<Reading>,
    /// The health that was told last.
    health: Option<Readiness>,
}

impl Reader {
    fn read(&mut self, shared: &Shared) -> Reading {
        self.text.clear();
        shared.metrics.render_into(&mut self.text, true);
        Reading::of(&self.text, shared.engine.now().0)
    }

    fn look(&mut self, shared: &Shared, look: u64) {
        let Live {
            changes,
            streams,
            past,
            ..
        } = &*shared.live;
        if streams.is_any_open() {
            if look.is_multiple_of(HEALTH) {
                streams.look(&shared.access, changes);
                let now = Readiness::of(shared);
                if self.health.as_ref().is_none_or(|told| differs(told, &now)) {
                    streams.send(&health(&now), None, changes);
                    self.health = Some(now);
                }
            }
            for (kind, taken) in changes.take(&shared.engine) {
                streams.send(&documents(&kind, &taken), Some(&kind), changes);
            }
            if self.told.is_none() {
                // What happens from the first stream on is told.
                self.told = Some(self.read(shared));
            } else if look.is_multiple_of(FIGURES) {
                let now = self.read(shared);
                if let Some(before) = self.told.replace(now)
                    && let Some(now) = &self.told
                {
                    let said = Figures {
                        at: now.at,
                        figures: &now.since(&before),
                    };
                    streams.send(&Message::new("figures", &json(&said)), None, changes);
                }
            }
        } else {
            (self.told, self.health) = (None, None);
        }
        if look.is_multiple_of(SAMPLE) {
            let now = self.read(shared);
            if let Some(before) = &self.sampled {
                past.lock().keep(now.at, now.since(before));
            }
            self.sampled = Some(now);
        }
    }
}

/// Whether another check is well, or for another reason. Its words alone may have a time that goes on.
fn differs(told: &Readiness, now: &Readiness) -> bool {
    let state = |readiness: &Readiness| -> Vec<bool> {
        readiness.checks.iter().map(|check| check.ok).collect()
    };
    state(told) != state(now)
}

/// Read for all, until the host stops. Then all streams end.
pub(crate) async fn follow(shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let mut reader = Reader::default();
    let mut due = tokio::time::interval(LOOK);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for look in 0.. {
        tokio::select! {
            _ = due.tick() => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
        reader.look(&shared, look);
    }
    let live = &shared.live;
    live.streams.end("stopping", &live.changes);
}

#[cfg(test)]
mod tests {
    use super::changes::Changed;
    use super::*;

    #[test]
    fn documents_are_one_line_with_how_many_more_there_were() {
        let kind = Kind {
            component: "a".to_owned(),
            collection: "b".to_owned(),
        };
        let taken = Taken {
            documents: vec![
                Changed {
                    id: "1".into(),
                    version: 2,
                    body: Some("{\n\"c\": \"d\\n\"}".into()),
                },
                Changed {
                    id: "2".into(),
                    version: 3,
                    body: None,
                },
            ],
            more: 4,
        };
        let message = documents(&kind, &taken);
        assert_eq!(message.documents, 6);
        let expected = "event: documents\ndata: {\"component\":\"a\",\"collection\":\"b\",\"documents\":[\
            {\"id\":\"1\",\"version\":2,\"body\":{ \"c\": \"d\\n\"}},{\"id\":\"2\",\"version\":3,\"body\":null}],\"more\":4}\n\n";
        assert_eq!(String::from_utf8_lossy(&message.bytes), expected);
    }
}
