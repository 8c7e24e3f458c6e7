//! Runs the exporters to the operator's collector: of spans, and of log records if the operator wants them.

use anyhow::Context as _;
use rialto_edge::Exporter;
use rialto_manifest::operator::Telemetry;
use rialto_telemetry::otlp::{Resource, Signal};
use rialto_telemetry::queue::Queue;
use rialto_telemetry::{LogTap, Metrics, Records, Spans};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The queues whose records are exported.
#[derive(Clone)]
pub(crate) struct Exported {
    /// Spans.
    pub spans: Spans,
    /// Log records, if the operator wants them. Any part of the host may add some.
    pub records: Option<Records>,
}

impl Exported {
    /// The queues that the operator wants, which count in these metrics. Log lines of the tap are added from now on. If records
    /// are encrypted for people (`hides_people`), spans have no paths.
    pub fn new(wanted: &Telemetry, metrics: &Metrics, log: &LogTap, hides_people: bool) -> Self {
        let records = wanted.logs.then(|| Records::new(metrics));
        if let Some(records) = &records {
            log.export(records.clone());
        }
        let spans = Spans::new(wanted.sampling_ratio, metrics);
        let spans = if hides_people {
            spans.without_paths()
        } else {
            spans
        };
        Self { spans, records }
    }
}

/// Running exporters.
pub(crate) struct Exporting {
    stop: watch::Sender<bool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Exporting {
    /// Start the export of these queues.
    pub fn start(wanted: &Telemetry, exported: &Exported, handle: &Handle) -> anyhow::Result<Self> {
        let mut exporting = Self {
            stop: watch::channel(false).0,
            tasks: Vec::new(),
        };
        exporting.add(wanted, exported.spans.queue(), handle)?;
        if let Some(records) = &exported.records {
            exporting.add(wanted, records.queue(), handle)?;
        }
        Ok(exporting)
    }

    fn add<T: Signal>(
        &mut self,
        wanted: &Telemetry,
        queue: &Queue<T>,
        handle: &Handle,
    ) -> anyhow::Result<()> {
        let resource = Resource {
            service: wanted.service_name.clone(),
            version: env!("CARGO_PKG_VERSION"),
        };
        let collector = wanted.endpoint.to_string();
        let exporter = Exporter::new(queue.clone(), resource, &collector);
        let exporter = exporter.with_context(|| format!("exporting {} to {collector}", T::NAME))?;
        let running = exporter.run(self.stop.subscribe());
        self.tasks.push(handle.spawn(running));
        Ok(())
    }

    /// Export the last records, for a short time. Call it after all turns have ended.
    pub fn finish(self, handle: &Handle) {
        let _ = self.stop.send(true);
        // They end at the same time.
        for task in self.tasks {
            let _ = handle.block_on(task);
        }
    }
}
