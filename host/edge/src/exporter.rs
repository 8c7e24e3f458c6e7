//! Exports spans and log records to an OpenTelemetry collector: OTLP over HTTP, in JSON.
//!
//! Records are sent in batches, twice a second. No payment waits for the export.
//!
//! - No connection, no answer in time, 429, 502, 503, 504: the batch is retried after a pause, which doubles
//!   from one second to half a minute. Records wait meanwhile, up to a bound.
//! - Any other refusal: the batch is dropped, because it would be refused again.
//!
//! The log has one line when the export begins to fail and one when it works again.

use std::time::Duration;

use rialto_telemetry::otlp::{EXPORT_TARGET, Resource, Signal};
use rialto_telemetry::queue::Queue;
use tokio::sync::watch;

use crate::collector::{BatchRefused, Collector};

/// Records of one export.
const BATCH: usize = 512;
/// The time between two exports.
const PERIOD: Duration = Duration::from_millis(500);
/// The pause after the first failure; it doubles.
const PAUSE_INITIAL: Duration = Duration::from_secs(1);
/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long a stopping host waits for the export of the last records.
const LAST: Duration = Duration::from_secs(2);

/// Exports records of one kind to one collector.
pub struct Exporter<T> {
    queue: Queue<T>,
    resource: Resource,
    collector: Collector,
    /// A batch that is to be retried.
    kept: Vec<T>,
    /// How many records are in the batch that is being sent.
    under_way: usize,
    /// The pause since the last failure; none without a failure.
    pause: Option<Duration>,
}

impl<T: Signal> Exporter<T> {
    /// An exporter to the collector at this URL, `http://host:port` with or without a path.
    ///
    /// # Errors
    /// When that is no URL.
    pub fn new(
        queue: Queue<T>,
        resource: Resource,
        collector: &str,
    ) -> Result<Self, http::uri::InvalidUri> {
        Ok(Self {
            queue,
            resource,
            collector: Collector::new::<T>(collector)?,
            kept: Vec::new(),
            under_way: 0,
            pause: None,
        })
    }

    /// Export until told to stop. Then export what is left, for a short time.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        loop {
            let rest = self.pause.unwrap_or(PERIOD);
            let stopping = tokio::select! {
                () = tokio::time::sleep(rest) => false,
                _ = stop.wait_for(|stop| *stop) => true,
            };
            let in_time = tokio::select! {
                () = self.drain() => true,
                () = soon_after(&mut stop) => false,
            };
            if stopping || !in_time {
                break;
            }
        }
        let waiting = self.queue.take(usize::MAX).len();
        let lost = self.under_way + self.kept.len() + waiting;
        if lost > 0 {
            self.queue.lost(lost);
            tracing::warn!(target: EXPORT_TARGET, url = %self.collector.url(), lost, "the collector did not accept the last {} before the host stopped; they are lost", T::NAME);
        }
    }

    /// Send all waiting records, until none is left or the collector fails.
    async fn drain(&mut self) {
        loop {
            let batch = if self.kept.is_empty() {
                self.queue.take(BATCH)
            } else {
                std::mem::take(&mut self.kept)
            };
            if batch.is_empty() {
                return;
            }
            self.under_way = batch.len();
            let exported = self.collector.export(&self.resource, &batch).await;
            self.under_way = 0;
            match exported {
                Ok(_) => {
                    self.queue.accepted(batch.len());
                    if self.pause.take().is_some() {
                        let lost = self.queue.lost_so_far();
                        tracing::info!(target: EXPORT_TARGET, url = %self.collector.url(), lost, "the collector accepts {} again", T::NAME);
                    }
                }
                Err(refused) if refused.worth_a_retry => {
                    self.kept = batch;
                    self.wait_longer(&refused.reason);
                    return;
                }
                Err(BatchRefused { reason, .. }) => {
                    let lost = batch.len();
                    self.queue.lost(lost);
                    tracing::warn!(target: EXPORT_TARGET, url = %self.collector.url(), %reason, lost, "the collector refused {}; they are lost", T::NAME);
                }
            }
        }
    }

    fn wait_longer(&mut self, reason: &str) {
        self.pause = Some(match self.pause {
            Some(pause) => (pause * 2).min(PAUSE_MAX),
            None => {
                tracing::warn!(target: EXPORT_TARGET, url = %self.collector.url(), %reason, "the collector does not accept {}; the host tries again, and keeps new ones while there is room", T::NAME);
                PAUSE_INITIAL
            }
        });
    }
}

/// Wait until the host stops, and a moment longer.
async fn soon_after(stop: &mut watch::Receiver<bool>) {
    // Without the sender of the signal the host has ended.
    let _ = stop.wait_for(|stop| *stop).await;
    tokio::time::sleep(LAST).await;
}
