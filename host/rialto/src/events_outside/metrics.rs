//! Metrics of the events that go out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::one_metric::{counter, gauge};

/// What is known of the events that go out.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Events that are yet to be acknowledged.
    pub waiting: AtomicU64,
    /// Whether the last attempt succeeded.
    pub connected: AtomicU64,
    /// Events that were acknowledged since the start.
    pub sent: AtomicU64,
    /// Events that are given up: they were removed before, or are too large.
    pub lost: AtomicU64,
    /// Batches, or connections, that failed.
    pub failures: AtomicU64,
}

/// The metrics.
#[derive(Debug)]
pub(super) struct SentCollector(pub Arc<Sent>);

impl Collector for SentCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Sent {
            waiting,
            connected,
            sent,
            lost,
            failures,
        } = &*self.0;
        let gauges = [
            (
                "events_publish_waiting",
                "Events that are yet to be acknowledged by JetStream",
                waiting,
            ),
            (
                "events_publish_connected",
                "Whether the last attempt to send events to JetStream succeeded: 1, or 0",
                connected,
            ),
        ];
        for (name, help, value) in gauges {
            gauge(&mut encoder, name, help, value.load(Ordering::Relaxed))?;
        }
        let counters = [
            (
                "events_published",
                "Events that JetStream has acknowledged",
                sent,
            ),
            (
                "events_publish_lost",
                "Events that were given up: removed before they were sent, or too large",
                lost,
            ),
            (
                "events_publish_failures",
                "Connections to JetStream and batches of events that failed",
                failures,
            ),
        ];
        for (name, help, value) in counters {
            counter(&mut encoder, name, help, value.load(Ordering::Relaxed))?;
        }
        Ok(())
    }
}
