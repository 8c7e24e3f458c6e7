//! The thread that sends events to JetStream, in order, and removes old ones from the store.
//!
//! It looks twice a second. It has at most one batch in memory; all else waits in the store. A batch that was not acknowledged is
//! read and sent again after a pause, over a new connection.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rialto_engine::publications::{Outbox, PublicationsState};
use rialto_engine::store::StoreError;
use rialto_engine::{Clock, Timestamp};
use rialto_events_nats::{Connection, Content, Event, Failure, Log, Settings, Stopped};
use rialto_manifest::events::Publish;
use rialto_telemetry::Metrics;
use tokio::runtime::Handle;

use super::metrics::{Sent, SentCollector};
use super::{event, gap, log, settings};
use crate::sender::{Host, LAST, Sender, pause_after};

/// The time between two looks for new events.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Events of one batch.
const BATCH: u32 = 256;
/// The time between two writes of how far it came, while there is more to send.
const REMEMBERED_EVERY: Duration = Duration::from_secs(1);
/// The time between two removals of old events.
const REMOVE_EVERY: Duration = Duration::from_secs(10);
/// Transactions of one removal: a few hundred events each.
const REMOVALS_MAX: u32 = 2_000;

/// Why events are missing that were kept once.
const REMOVED: &str = "the host does not have these events: they were too old or too many before they were sent, or its store is from a backup";
/// Why an event is missing that the server does not take.
const TOO_LARGE: &str = "the event is larger than the NATS server takes";

/// The work of the thread.
struct Sending {
    store: Arc<dyn Outbox>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    keep: (u64, u64),
    host: Host,
    /// When the thread has seen that the host stops.
    stopped: Option<Instant>,
    sent: Arc<Sent>,
    /// The log, and the number of the event to send next; none before the first look.
    next: Option<(Log, u64)>,
    publish: Publish,
    connection: Option<Connection>,
    /// The number that the store remembers, and when it was written.
    remembered: (u64, Instant),
    /// When old events were removed last.
    removed: Option<Instant>,
}

/// How a look ended.
enum Looked {
    /// All is sent.
    Done,
    /// The host stops.
    Stopped,
}

/// What the store has of the next events.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// Events without a gap between them. None if there are no more.
    Events(Vec<Event>),
    /// None from the next one up to this number.
    Missing(u64),
}

/// Look for the next events.
fn found(store: &dyn Outbox, next: u64, state: &PublicationsState) -> Result<Found, StoreError> {
    let stored = store.publications(next, BATCH)?;
    Ok(match stored.first() {
        Some(first) if first.number > next => Found::Missing(first.number - 1),
        None if state.last >= next => Found::Missing(state.last),
        _ => {
            let numbers = stored.iter().zip(next..);
            let unbroken = numbers.take_while(|(stored, number)| stored.number == *number);
            Found::Events(unbroken.map(|(stored, _)| event(stored)).collect())
        }
    })
}

/// Why a look ended early.
#[derive(Debug, thiserror::Error)]
enum Failed {
    #[error("{0}")]
    Nats(#[from] Failure),
    #[error("the store cannot be used: {0}")]
    Store(#[from] StoreError),
}

impl Sending {
    /// Send what is there.
    fn look(&mut self) -> Result<Looked, Failed> {
        loop {
            if self.has_stopped_long_ago() {
                return Ok(Looked::Stopped);
            }
            let state = self.store.publications_state()?;
            let (log, next) = self.next(&state)?;
            self.remove_old(next)?;
            let waiting = (state.last + 1).saturating_sub(next);
            self.sent.waiting.store(waiting, Ordering::Relaxed);
            let batch = self.batch(next, &state)?;
            let Some(last) = batch.last().map(|event| event.number) else {
                self.remember(next)?;
                return Ok(Looked::Done);
            };
            let Some(sent) = self.send(&log, &batch) else {
                return Ok(Looked::Stopped);
            };
            match sent {
                Ok(()) => self.accepted(&log, last, &batch),
                Err(Stopped {
                    acknowledged,
                    failure,
                }) => {
                    let is_overtaken = failure == Failure::Overtaken && acknowledged > 0;
                    if !is_overtaken {
                        self.sent.failures.fetch_add(1, Ordering::Relaxed);
                        self.connection = None;
                    }
                    let (done, rest) = batch.split_at(acknowledged.min(batch.len()));
                    if let Some(last) = done.last() {
                        self.accepted(&log, last.number, done);
                    }
                    match (failure, rest.first()) {
                        // The rest is sent at once.
                        (Failure::Overtaken, _) if is_overtaken => {}
                        (Failure::TooLarge(why), Some(event)) => {
                            self.leave_out(&log, event, &why)?;
                        }
                        (failure, _) => {
                            // What was acknowledged is not to be sent again.
                            let next = self.next(&state)?.1;
                            self.remember(next)?;
                            return Err(failure.into());
                        }
                    }
                }
            }
            let next = self.next(&state)?.1;
            if self.remembered.1.elapsed() >= REMEMBERED_EVERY {
                self.remember(next)?;
            }
        }
    }

    /// Whether the host has stopped, and waits for what is left.
    fn has_stopped_long_ago(&mut self) -> bool {
        self.host.stops() && self.stopped.get_or_insert_with(Instant::now).elapsed() > LAST
    }

    /// The log, and the number of the event to send next.
    fn next(&mut self, state: &PublicationsState) -> Result<(Log, u64), StoreError> {
        if let Some((log, next)) = &self.next {
            return Ok((log.clone(), *next));
        }
        let log = log(&self.publish, state.store);
        let next = state.published + 1;
        self.next = Some((log.clone(), next));
        self.remembered.0 = next;
        Ok((log, next))
    }

    /// The next events. If the store does not have the next one any more, the batch is one event that says so.
    fn batch(&self, next: u64, state: &PublicationsState) -> Result<Vec<Event>, StoreError> {
        let missing = match found(&*self.store, next, state)? {
            Found::Events(events) => return Ok(events),
            Found::Missing(to) => to,
        };
        tracing::error!(
            "ALERT: events {next} to {missing} are not in the store any more, and are not sent: consumers are told of the gap"
        );
        Ok(vec![gap((next, missing), self.clock.now().0, REMOVED)])
    }

    /// Send a batch over the connection, or a new one. None if the host stops before it is acknowledged.
    fn send(&mut self, log: &Log, batch: &[Event]) -> Option<Result<(), Stopped>> {
        let (connection, settings) = (&mut self.connection, &self.settings);
        self.host.run(async {
            let open = match connection {
                Some(open) => open,
                None => {
                    let opened = Connection::open(settings).await;
                    connection.insert(opened.map_err(|failure| Stopped {
                        acknowledged: 0,
                        failure,
                    })?)
                }
            };
            open.send(log, batch).await
        })
    }

    fn accepted(&mut self, log: &Log, last: u64, batch: &[Event]) {
        for event in batch {
            match &event.content {
                Content::Gap { from, .. } => {
                    let lost = event.number - from + 1;
                    self.sent.lost.fetch_add(lost, Ordering::Relaxed);
                }
                Content::Published { .. } | Content::Begins => {
                    self.sent.sent.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        self.next = Some((log.clone(), last + 1));
    }

    /// Tell consumers that an event is left out that the server does not take.
    fn leave_out(&mut self, log: &Log, event: &Event, why: &str) -> Result<(), Failed> {
        let number = event.number;
        tracing::error!("ALERT: event {number} is not sent, because NATS does not take it: {why}");
        let told = gap((number, number), self.clock.now().0, TOO_LARGE);
        let told = [told];
        match self.send(log, &told) {
            Some(Ok(())) => {
                self.accepted(log, number, &told);
                Ok(())
            }
            Some(Err(stopped)) => {
                self.connection = None;
                Err(stopped.failure.into())
            }
            None => Ok(()),
        }
    }

    /// Remove events that are too old or too many, a part at a time. Those that were not sent are told as a gap when their
    /// turn comes.
    fn remove_old(&mut self, next: u64) -> Result<(), StoreError> {
        if self.removed.is_some_and(|at| at.elapsed() < REMOVE_EVERY) {
            return Ok(());
        }
        self.removed = Some(Instant::now());
        let (age, most) = self.keep;
        let before = Timestamp(self.clock.now().0.saturating_sub(age));
        let mut last = None;
        for _ in 0..REMOVALS_MAX {
            match self.store.remove_publications(before, most)? {
                Some(removed) => last = Some(removed),
                None => break,
            }
            if self.host.stops() {
                break;
            }
        }
        if let Some(last) = last
            && last >= next
        {
            tracing::error!(
                "ALERT: events {next} to {last} were removed from the store before NATS has taken them: `keep` and `keep-events` of [events.publish] say how many wait"
            );
        }
        Ok(())
    }

    /// Have the store remember how far it came.
    fn remember(&mut self, next: u64) -> Result<(), StoreError> {
        if self.remembered.0 != next {
            self.store.set_published(next.saturating_sub(1))?;
        }
        self.remembered = (next, Instant::now());
        Ok(())
    }

    /// Look again and again, until the host stops.
    fn run(mut self) {
        let mut failing: Option<(Duration, String)> = None;
        loop {
            let is_last = self.host.is_last_look();
            let pause = match self.look() {
                Ok(Looked::Stopped) => break,
                Ok(Looked::Done) => {
                    if failing.take().is_some() {
                        tracing::info!(servers = ?self.settings.servers, "events are sent to NATS again");
                    }
                    self.sent.connected.store(1, Ordering::Relaxed);
                    LOOK_EVERY
                }
                Err(error) => {
                    self.sent.connected.store(0, Ordering::Relaxed);
                    let why = error.to_string();
                    let (before, known) = failing.take().unzip();
                    let pause = pause_after(before);
                    if known.as_ref() != Some(&why) {
                        tracing::warn!(
                            "ALERT: events are not sent to NATS, and wait in the store: {why}"
                        );
                    }
                    failing = Some((pause, why));
                    pause
                }
            };
            if is_last {
                break;
            }
            self.host.pause(pause);
        }
        let next = self.next.as_ref().map(|(_, next)| *next);
        let remembered = next.map_or(Ok(()), |next| self.remember(next));
        if let Err(error) = remembered {
            tracing::warn!("the last events will be sent to NATS again: {error}");
        }
        // Its tasks end in the runtime.
        let _entered = self.host.runtime().enter();
        drop(self.connection.take());
    }
}

/// Start the thread, if the operator wants it.
///
/// # Errors
/// When the settings cannot be used, or the system has no room for a thread.
pub fn start(
    publish: Option<&Publish>,
    folder: &Path,
    (store, clock): (Arc<dyn Outbox>, &Arc<dyn Clock>),
    metrics: &Metrics,
    handle: &Handle,
) -> anyhow::Result<Option<Sender>> {
    let Some(publish) = publish.cloned() else {
        return Ok(None);
    };
    let sent = Arc::new(Sent::default());
    metrics.add_collector(Box::new(SentCollector(sent.clone())));
    let (settings, clock) = (settings(&publish, folder)?, clock.clone());
    let sender = Sender::start("events-publish", handle, move |host| {
        let sending = Sending {
            store,
            clock,
            settings,
            keep: (publish.keep.millis(), publish.keep_events),
            host,
            stopped: None,
            sent,
            next: None,
            publish,
            connection: None,
            remembered: (0, Instant::now()),
            removed: None,
        };
        sending.run();
    });
    let sender = sender.context("starting the thread that sends events")?;
    Ok(Some(sender))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use rialto_engine::TurnId;
    use rialto_engine::publications::{Publication, StoredPublication};

    use super::*;

    /// A store that has events with these numbers, and has given one more.
    struct Kept(Vec<u64>);

    impl Outbox for Kept {
        fn publications(
            &self,
            first: u64,
            limit: u32,
        ) -> Result<Vec<StoredPublication>, StoreError> {
            let numbers = self.0.iter().filter(|number| **number >= first);
            let stored = numbers
                .take(limit as usize)
                .map(|number| StoredPublication {
                    number: *number,
                    publication: Publication {
                        event: "orders/order-taken".into(),
                        component: "orders".into(),
                        at: Timestamp(0),
                        turn: TurnId(1),
                        release: 1,
                        traceparent: String::new(),
                        subjects: Vec::new(),
                        data: "{}".into(),
                        may_name_people: false,
                    },
                });
            Ok(stored.collect())
        }

        fn publications_state(&self) -> Result<PublicationsState, StoreError> {
            Ok(PublicationsState {
                last: 9,
                ..PublicationsState::default()
            })
        }

        fn set_published(&self, _number: u64) -> Result<(), StoreError> {
            Ok(())
        }

        fn remove_publications(
            &self,
            _before: Timestamp,
            _most: u64,
        ) -> Result<Option<u64>, StoreError> {
            Ok(None)
        }
    }

    /// The numbers of the events that are sent next, or the end of what is missing.
    fn next(kept: &[u64], next: u64) -> Result<Vec<u64>, u64> {
        let store = Kept(kept.to_vec());
        match found(&store, next, &store.publications_state().unwrap()).unwrap() {
            Found::Events(events) => Ok(events.into_iter().map(|event| event.number).collect()),
            Found::Missing(to) => Err(to),
        }
    }

    #[test]
    fn what_is_missing_is_told_before_what_follows() {
        assert_eq!(next(&[1, 2, 3], 1), Ok(vec![1, 2, 3]));
        assert_eq!(next(&[4, 5], 2), Err(3));
        assert_eq!(next(&[4, 5, 8], 4), Ok(vec![4, 5]));
        assert_eq!(next(&[4, 5, 8], 6), Err(7));
        assert_eq!(next(&[4, 5], 6), Err(9), "all were removed");
        assert_eq!(next(&[8, 9], 10), Ok(vec![]));
    }
}
