//! Entries of the audit log about who was refused: without proof of who they are, or without the right to what they want.
//!
//! Strangers cause them, so their number is bounded. In each minute the first refusal of an action and a source has an entry
//! of its own. Further ones are counted, and when the minute is over the count has an entry. Sources beyond eight of an
//! action share one count. A task of the host's own writes the entries each second, so that nobody who is refused waits
//! for the log.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rialto_audit::{Actor, ActorKind, Entry};
use rialto_components::denials::{Denial, Denials};
use rialto_engine::store::AuditEntry;
use rialto_engine::{Clock, Engine, Timestamp};
use serde_json::json;
use tokio::sync::watch;

use crate::audit::beginning;
use crate::words::{instant, plain};

/// The sources of an action that have entries of their own in a minute.
const SOURCES_MAX: usize = 8;
/// The actions of a minute. Components name actions; further ones share one count.
const ACTIONS_MAX: usize = 32;
/// The time between two looks.
const LOOK: Duration = Duration::from_secs(1);
const MINUTE_MS: u64 = 60_000;
/// The longest source and subject in an entry, in bytes.
const TEXT_BYTES_MAX: usize = 256;
/// The action of refusals whose action has no room.
const OTHER_ACTION: &str = "other.refused";
/// The name of all sources that have no entries of their own.
const OTHERS: &str = "others";

/// Keeps refusals until they are written.
pub struct BoundedDenials {
    clock: Arc<dyn Clock>,
    minute: Mutex<Minute>,
}

/// The refusals of a minute.
#[derive(Debug, Default)]
struct Minute {
    /// Its number since 1970.
    number: u64,
    actions: BTreeMap<String, BySource>,
    /// What is yet to be written, the oldest first.
    unwritten: Vec<Entry>,
}

#[derive(Debug, Default)]
struct BySource {
    sources: BTreeMap<String, Repeated>,
    /// Refusals of sources that had no room.
    others: u64,
}

/// Refusals of one source.
#[derive(Debug)]
struct Repeated {
    /// How many there were after the first one.
    further: u64,
    actor: Actor,
    writer: String,
}

impl fmt::Debug for BoundedDenials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundedDenials").finish_non_exhaustive()
    }
}

impl BoundedDenials {
    /// Without refusals.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            minute: Mutex::default(),
        }
    }

    /// The entries that are to be written now; with `all`, also the counts of the minute that is not over.
    fn due(&self, all: bool) -> Vec<Entry> {
        let now = self.clock.now();
        let mut minute = self.minute.lock();
        minute.begin(now);
        if all {
            minute.count(now);
        }
        std::mem::take(&mut minute.unwritten)
    }

    /// Write what is to be written now; with `all`, also the counts of the minute that is not over.
    pub fn write(&self, engine: &Engine, all: bool) {
        for entry in self.due(all) {
            let body = match serde_json::to_string(&entry) {
                Ok(body) => body,
                Err(error) => {
                    tracing::error!(%error, action = entry.action, "a refusal could not be encoded for the audit log");
                    continue;
                }
            };
            let written = engine.audit(AuditEntry {
                at: Timestamp(entry.at),
                body: body.into(),
            });
            if let Err(failure) = written {
                tracing::warn!(%failure, action = entry.action, "a refusal is not in the audit log");
            }
        }
    }

    /// Write each second what is to be written, until told to stop.
    pub async fn follow(self: Arc<Self>, engine: Engine, mut stop: watch::Receiver<bool>) {
        let mut due = tokio::time::interval(LOOK);
        due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = due.tick() => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            let (denials, engine) = (self.clone(), engine.clone());
            let written = tokio::task::spawn_blocking(move || denials.write(&engine, false)).await;
            if let Err(error) = written {
                tracing::error!(%error, "refusals could not be written to the audit log");
            }
        }
    }
}

impl Denials for BoundedDenials {
    fn keep(&self, denial: Denial) {
        let now = self.clock.now();
        let mut minute = self.minute.lock();
        minute.begin(now);
        minute.keep(denial, now);
    }
}

impl Minute {
    /// Begin the minute of an instant, unless it is this one already. The counts of the last one are to be written.
    fn begin(&mut self, now: Timestamp) {
        let number = now.0 / MINUTE_MS;
        if number == self.number {
            return;
        }
        let end = Timestamp((self.number + 1) * MINUTE_MS);
        self.count(end.min(now));
        self.number = number;
    }

    fn keep(&mut self, denial: Denial, now: Timestamp) {
        let has_room =
            self.actions.contains_key(&denial.action) || self.actions.len() < ACTIONS_MAX;
        let action = if has_room {
            denial.action.clone()
        } else {
            OTHER_ACTION.to_owned()
        };
        let source = shown(&denial.source);
        let of_action = self.actions.entry(action).or_default();
        if let Some(repeated) = of_action.sources.get_mut(&source) {
            repeated.further += 1;
            return;
        }
        if !has_room || of_action.sources.len() >= SOURCES_MAX {
            of_action.others += 1;
            return;
        }
        let actor = Actor {
            kind: denial.kind,
            name: source.clone(),
            operator: String::new(),
            credential: String::new(),
        };
        let repeated = Repeated {
            further: 0,
            actor: actor.clone(),
            writer: denial.writer.clone(),
        };
        of_action.sources.insert(source, repeated);
        self.unwritten.push(Entry {
            at: now.0,
            actor,
            writer: denial.writer,
            action: denial.action,
            about: shown(&denial.about),
            outcome: "refused".to_owned(),
            note: beginning(&plain(&denial.why)),
            details: None,
            sealed: String::new(),
            release: None,
            turn: None,
            trace: denial.trace,
        });
    }

    /// Have the counts written, and forget them.
    fn count(&mut self, now: Timestamp) {
        let since = Timestamp(self.number * MINUTE_MS);
        for (action, of_action) in std::mem::take(&mut self.actions) {
            let counted = of_action.sources.into_values();
            let counted =
                counted.map(|repeated| (repeated.further, repeated.actor, repeated.writer));
            let others = Actor {
                kind: ActorKind::Client,
                name: OTHERS.to_owned(),
                operator: String::new(),
                credential: String::new(),
            };
            let all = counted.chain([(of_action.others, others, "host".to_owned())]);
            for (count, actor, writer) in all.filter(|(count, ..)| *count > 0) {
                self.unwritten.push(Entry {
                    at: now.0,
                    actor,
                    writer,
                    action: action.clone(),
                    about: String::new(),
                    outcome: "refused".to_owned(),
                    note: format!("{count} more in the minute from {}", instant(since.0)),
                    details: Some(json!({ "count": count, "since": since.0 })),
                    sealed: String::new(),
                    release: None,
                    turn: None,
                    trace: String::new(),
                });
            }
        }
    }
}

/// A text of a client as an entry has it.
fn shown(text: &str) -> String {
    let text = plain(text);
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A clock that a test sets.
    #[derive(Default)]
    struct Set(AtomicU64);

    impl Clock for Set {
        fn now(&self) -> Timestamp {
            Timestamp(self.0.load(Ordering::Relaxed))
        }

        fn monotonic_us(&self) -> u64 {
            self.0.load(Ordering::Relaxed) * 1_000
        }
    }

    fn of(action: &str, source: &str) -> Denial {
        Denial {
            action: action.to_owned(),
            kind: ActorKind::Client,
            source: source.to_owned(),
            about: "POST /accounts".to_owned(),
            why: "no\u{1b}[2J token".to_owned(),
            writer: "host".to_owned(),
            trace: String::new(),
        }
    }

    fn denials() -> (Arc<Set>, BoundedDenials) {
        let clock = Arc::new(Set(AtomicU64::new(10 * MINUTE_MS)));
        (clock.clone(), BoundedDenials::new(clock))
    }

    /// Who, and of how many it tells.
    fn told(entries: &[Entry]) -> Vec<(&str, u64)> {
        let told = entries.iter().map(|entry| {
            let count = entry
                .details
                .as_ref()
                .map(|details| details["count"].as_u64());
            (&*entry.actor.name, count.flatten().unwrap_or(1))
        });
        told.collect()
    }

    #[test]
    fn first_refusal_has_an_entry_and_further_ones_are_counted() {
        let (clock, denials) = denials();
        for source in ["a", "b", "a", "a"] {
            denials.keep(of("authentication.refused", source));
        }
        let first = denials.due(false);
        assert_eq!(told(&first), [("a", 1), ("b", 1)]);
        assert_eq!(first[0].about, "POST /accounts");
        assert!(!first[0].note.contains('\u{1b}'), "{:?}", first[0].note);
        assert!(denials.due(false).is_empty(), "the minute is not over");
        clock.0.fetch_add(MINUTE_MS, Ordering::Relaxed);
        let counted = denials.due(false);
        assert_eq!(told(&counted), [("a", 2)]);
        assert_eq!(
            counted[0].note,
            "2 more in the minute from 1970-01-01 00:10:00.000Z"
        );
        denials.keep(of("authentication.refused", "a"));
        assert_eq!(told(&denials.due(false)), [("a", 1)], "another minute");
    }

    #[test]
    fn sources_and_actions_of_a_minute_are_bounded_and_none_is_lost() {
        let (_, denials) = denials();
        let mut kept = 0;
        for action in 0..2 * ACTIONS_MAX {
            for source in 0..3 * SOURCES_MAX {
                denials.keep(of(&format!("a{action}"), &format!("s{source}")));
                kept += 1;
            }
        }
        let all = denials.due(true);
        let counted: u64 = told(&all).iter().map(|(_, count)| count).sum();
        assert_eq!(counted, kept);
        assert!(
            all.len() <= (ACTIONS_MAX + 1) * (2 * SOURCES_MAX + 1),
            "{}",
            all.len()
        );
        assert!(denials.due(true).is_empty());
    }
}
