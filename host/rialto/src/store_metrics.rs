//! Metrics of the store's contents and size, and of the free disk space.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use rialto_engine::Clock;

use crate::archiver::Archiver;
use crate::disk::Disk;
use crate::one_metric::{one, whole};

/// Reports the last measurements when metrics are read.
#[derive(Clone)]
pub struct StoreCollector {
    /// The archiver.
    pub archiver: Arc<Archiver>,
    /// The free space, and the size of the store.
    pub disk: Arc<Disk>,
    /// The clock for the age of items.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for StoreCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreCollector")
    }
}

/// A gauge for each class.
struct ByClass(Vec<(&'static str, u64)>);

impl EncodeMetric for ByClass {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (class, value) in &self.0 {
            let labels = [("class", *class)];
            whole(*value).encode(encoder.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

impl Collector for StoreCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let encoder = &mut encoder;
        let failures = self.archiver.failures.load(Ordering::Relaxed);
        one(
            encoder,
            "archive_failures",
            "Runs of the archiver that failed",
            &ConstCounter::new(failures),
        )?;
        if let Some(free) = self.disk.free() {
            one(
                encoder,
                "disk_free_bytes",
                "Free disk space, with the free pages of the database",
                &whole(free),
            )?;
        }
        let sizes = self.disk.sizes();
        let now = self.clock.now().0;
        let classes = sizes.classes.iter();
        let bytes = classes.clone().map(|of| (of.class.name(), of.bytes));
        one(
            encoder,
            "store_class_bytes",
            "Bytes of the items in the store, by class",
            &ByClass(bytes.collect()),
        )?;
        let age = |first: u64| now.saturating_sub(first) / 1_000;
        let ages = classes.filter_map(|of| Some((of.class.name(), age(of.first_at?))));
        one(
            encoder,
            "store_class_oldest_seconds",
            "Age of the oldest item in the store, by class",
            &ByClass(ages.collect()),
        )?;
        for (name, help, value) in [
            ("store_bytes", "Bytes of the database", sizes.database.0),
            (
                "store_free_bytes",
                "Free bytes of the database, which new data uses first",
                sizes.database.1,
            ),
            (
                "archives",
                "Archives written from this store",
                sizes.archives.0,
            ),
            ("archive_bytes", "Bytes of these archives", sizes.archives.1),
        ] {
            one(encoder, name, help, &whole(value))?;
        }
        Ok(())
    }
}
