//! The memory for bodies of requests. The operators' listener, all other HTTP listeners together, and gRPC have
//! one budget each, so that FSPs cannot keep operators out. A metric shows how much is used.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use rialto_edge::Memory;
use rialto_manifest::Operator;

use crate::limits::bytes;

/// The budgets.
#[derive(Clone, Debug)]
pub struct Bodies {
    /// The operators' listener.
    pub operators: Memory,
    /// All other HTTP listeners together.
    pub http: Memory,
    /// gRPC. Counts what messages take once they are decoded.
    pub grpc: Memory,
}

impl Bodies {
    /// Budgets by the operator's settings.
    #[must_use]
    pub fn new(operator: &Operator) -> Self {
        let http = &operator.http;
        let room = || Memory::new(bytes(http.bodies_max), bytes(http.bodies_per_peer()));
        Self {
            operators: room(),
            http: room(),
            grpc: room(),
        }
    }
}

impl Collector for Bodies {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let help = "Bytes of memory reserved for request bodies";
        let mut metric = encoder.encode_descriptor("body_bytes", help, None, MetricType::Gauge)?;
        for (listeners, room) in [
            ("operators", &self.operators),
            ("http", &self.http),
            ("grpc", &self.grpc),
        ] {
            let used = i64::try_from(room.used()).unwrap_or(i64::MAX);
            let labels = [("listeners", listeners)];
            ConstGauge::new(used).encode(metric.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
