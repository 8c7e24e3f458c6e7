//! Sends events again that were sent before, from the store of a running or a stopped host.

use std::path::Path;

use anyhow::{Context as _, bail};
use rialto_engine::publications::{PublicationsState, StoredPublication};
use rialto_events_nats::{Connection, Event};
use rialto_manifest::events::Publish;
use tokio::runtime::Runtime;

use super::{event, log, settings};
use crate::stored::Stored;

/// Events of one batch.
const BATCH: u32 = 256;
/// Batches that are read of one commit. Meanwhile the log of the store's database grows.
const BATCHES_OF_A_COMMIT: u32 = 32;

/// What was sent again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentAgain {
    /// How many events.
    pub sent: u64,
    /// Ranges of numbers that the store does not have any more.
    pub missing: Vec<(u64, u64)>,
}

/// Sends a range of events again, in order. Without an end it ends with the last event that was sent.
///
/// # Errors
/// When NATS does not take them, with how far they were taken; or when the store cannot be read, or never had the range.
pub fn send(
    publish: &Publish,
    (scheme, stored): (&Path, &Stored),
    (from, to): (u64, Option<u64>),
    addition: &str,
) -> anyhow::Result<SentAgain> {
    let settings = settings(publish, scheme)?;
    let mut snapshot = stored.publications()?;
    let state = snapshot.publications_state()?;
    let to = end(&state, from, to)?;
    let runtime = Runtime::new().context("starting a runtime")?;
    let connection = runtime.block_on(Connection::open(&settings));
    let connection = connection.context("connecting to NATS")?;
    let log = log(publish, state.store);
    let mut done = SentAgain::default();
    let mut next = from;
    let mut batches = 0;
    while next <= to {
        if batches == BATCHES_OF_A_COMMIT {
            drop(snapshot);
            snapshot = stored.publications()?;
            batches = 0;
        }
        batches += 1;
        let page = snapshot.publications(next, BATCH)?;
        let page: Vec<StoredPublication> = page.into_iter().filter(|e| e.number <= to).collect();
        let Some(last) = page.last().map(|event| event.number) else {
            done.missing.push((next, to));
            break;
        };
        for stored in &page {
            if stored.number > next {
                done.missing.push((next, stored.number - 1));
            }
            next = stored.number + 1;
        }
        let events: Vec<Event> = page.iter().map(event).collect();
        let sent = runtime.block_on(connection.send_again(&log, &events, addition));
        if let Err(stopped) = sent {
            let first = events.get(stopped.acknowledged).map_or(last, |e| e.number);
            bail!(
                "NATS has taken {} events, up to the one before number {first}: {}",
                done.sent + stopped.acknowledged as u64,
                stopped.failure
            );
        }
        done.sent += events.len() as u64;
    }
    Ok(done)
}

/// The end of a range.
fn end(state: &PublicationsState, from: u64, to: Option<u64>) -> anyhow::Result<u64> {
    let to = to.unwrap_or(state.published);
    if from == 0 || from > to {
        bail!("numbers go from 1 up: {from} to {to} is no range");
    }
    if to > state.last {
        bail!("the last event has the number {}, not {to}", state.last);
    }
    Ok(to)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn a_range_ends_with_what_was_sent() {
        let state = PublicationsState {
            first: Some(3),
            last: 9,
            published: 7,
            store: 1,
        };
        assert_eq!(end(&state, 3, None).unwrap(), 7);
        assert_eq!(end(&state, 8, Some(9)).unwrap(), 9);
        for (from, to) in [(0, None), (8, None), (5, Some(4)), (1, Some(10))] {
            assert!(end(&state, from, to).is_err(), "{from} {to:?}");
        }
    }
}
