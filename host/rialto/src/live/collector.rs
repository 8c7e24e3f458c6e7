//! Metrics of verdicts, of streams, and of how long work waits for the disk.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use rialto_engine::Engine;
use rialto_store_sqlite::SqliteStore;

use super::Live;

use crate::one_metric::{one, whole};

/// Reports them when metrics are read.
pub struct LiveCollector {
    /// Verdicts and streams.
    pub live: Arc<Live>,
    /// What waits to be committed.
    pub engine: Engine,
    /// What waits in the journal of an embedded store.
    pub store: Option<Arc<SqliteStore>>,
}

impl std::fmt::Debug for LiveCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LiveCollector")
    }
}

/// Reports verdicts by step, rule, word and code. The names of rules are for operators alone: one may be confidential, and its
/// refusals say whom it has met.
pub struct VerdictsCollector(pub Arc<Live>);

impl std::fmt::Debug for VerdictsCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VerdictsCollector")
    }
}

impl Collector for VerdictsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        one(
            &mut encoder,
            "rule_verdicts",
            "Verdicts of rules in committed turns, by step, rule, verdict and code",
            &Verdicts(&self.0),
        )
    }
}

/// Verdicts by step, rule, word and code.
struct Verdicts<'a>(&'a Live);

impl EncodeMetric for Verdicts<'_> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        for one in self.0.changes.verdicts() {
            let labels = [
                ("step", &*one.step),
                ("rule", &*one.rule),
                ("verdict", one.verdict),
                ("code", &*one.code),
            ];
            ConstCounter::new(one.count).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

impl Collector for LiveCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let encoder = &mut encoder;
        let (streams, lost) = self.live.streams.counts();
        one(
            encoder,
            "live_streams",
            "Streams of operators that are open",
            &whole(streams),
        )?;
        one(
            encoder,
            "live_documents_lost",
            "Documents that streams with slow readers have not been sent",
            &ConstCounter::new(lost),
        )?;
        let committing = self.engine.oldest_uncommitted().unwrap_or_default();
        one(
            encoder,
            "commit_wait_seconds",
            "How long the oldest executed turn has waited for the disk",
            &ConstGauge::new(committing.as_secs_f64()),
        )?;
        // A database's tables have all at once.
        let behind = self.store.as_ref().map(|store| store.behind());
        let flushing = behind.and_then(|behind| behind.oldest).unwrap_or_default();
        one(
            encoder,
            "journal_wait_seconds",
            "How long the oldest group has waited in the journal",
            &ConstGauge::new(flushing.as_secs_f64()),
        )
    }
}
