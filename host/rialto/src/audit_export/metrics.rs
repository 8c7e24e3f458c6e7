//! Metrics of the export.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::one_metric::{counter, gauge};

/// What is known of the export.
#[derive(Debug, Default)]
pub struct Sent {
    /// Entries that are yet to be sent.
    pub(super) waiting: AtomicU64,
    /// Entries that the collector has accepted since the start.
    pub(super) sent: AtomicU64,
    /// Entries of the log that the collector does not take, while it takes others.
    pub(super) rejected: AtomicU64,
    /// Batches that were not accepted.
    pub(super) failures: AtomicU64,
}

/// Metrics of the export.
#[derive(Debug)]
pub(super) struct SentCollector(pub(super) Arc<Sent>);

impl Collector for SentCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let waiting = self.0.waiting.load(Ordering::Relaxed);
        let help = "Entries of the audit log that are yet to be sent to the collector";
        gauge(&mut encoder, "audit_export_waiting", help, waiting)?;
        let counters = [
            (
                "audit_export_entries",
                "Entries of the audit log that the collector has accepted",
                &self.0.sent,
            ),
            (
                "audit_export_rejected",
                "Entries of the audit log that the collector does not take, while it takes others",
                &self.0.rejected,
            ),
            (
                "audit_export_failures",
                "Batches of entries of the audit log that the collector has not accepted",
                &self.0.failures,
            ),
        ];
        for (name, help, value) in counters {
            counter(&mut encoder, name, help, value.load(Ordering::Relaxed))?;
        }
        Ok(())
    }
}
