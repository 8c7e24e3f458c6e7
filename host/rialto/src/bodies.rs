//! Room for the bodies of requests: the operators' listener, all other HTTP listeners together and gRPC have
//! as much each, so that FSPs cannot keep operators out. How much of it is used is a metric.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use rialto_edge::Memory;
use rialto_manifest::Operator;

use crate::host::bytes;

/// The rooms.
#[derive(Clone, Debug)]
pub struct Bodies {
    /// Of the operators' listener.
    pub operators: Memory,
    /// Of all other HTTP listeners.
    pub http: Memory,
    /// Of gRPC, as much as messages take once they are read.
    pub grpc: Memory,
}

impl Bodies {
    /// As much as the operator says.
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
        let help = "Room for the bodies of requests that is in use, in bytes";
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
