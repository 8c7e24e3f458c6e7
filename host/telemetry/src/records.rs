//! Log records for a collector: what OTLP calls logs. Log lines are such records, and other parts of the host can add
//! theirs.

use std::time::SystemTime;

use crate::Metrics;
use crate::queue::Queue;
use crate::spans::Value;

/// Records that wait for the exporter. They take at most 64 MiB.
const WAITING_MAX: usize = 8_192;
/// The longest body of a record, in bytes. A longer one is cut.
pub const BODY_BYTES_MAX: usize = 8_192;

/// How much a record matters, with OTLP's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something happened.
    Info = 9,
    /// Something happened that somebody may want to see.
    Notice = 10,
    /// Somebody should look.
    Warn = 13,
    /// Something does not work.
    Error = 17,
}

impl Severity {
    /// OTLP's text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Notice => "INFO2",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it happened.
    pub at: SystemTime,
    /// How much it matters.
    pub severity: Severity,
    /// The text for people.
    pub body: String,
    /// What is known about it.
    pub attributes: Vec<(&'static str, Value)>,
    /// The trace that it belongs to; 0 for none.
    pub trace: u128,
}

impl Record {
    fn new(
        at: SystemTime,
        severity: Severity,
        mut body: String,
        attributes: Vec<(&'static str, Value)>,
        trace: u128,
    ) -> Self {
        body.truncate(body.floor_char_boundary(BODY_BYTES_MAX));
        Self {
            at,
            severity,
            body,
            attributes,
            trace,
        }
    }
}

/// The queue of records for export. A clone is another handle.
#[derive(Clone, Debug)]
pub struct Records {
    queue: Queue<Record>,
}

impl Records {
    /// An empty queue that counts records in these metrics.
    #[must_use]
    pub fn new(metrics: &Metrics) -> Self {
        let queue = Queue::new(WAITING_MAX);
        metrics.add_record_counters(queue.counters());
        Self { queue }
    }

    /// Queues a record for the exporter. It never waits: a record without room is counted and dropped. `trace` is 0 for
    /// none. Never give it a secret.
    pub fn add(
        &self,
        at: SystemTime,
        severity: Severity,
        body: String,
        attributes: Vec<(&'static str, Value)>,
        trace: u128,
    ) {
        self.queue
            .add(Record::new(at, severity, body, attributes, trace));
    }

    /// The same for a record of somebody outside. It has room in the first half of the queue alone, so that nobody outside
    /// takes the host's room.
    pub fn add_foreign(
        &self,
        at: SystemTime,
        severity: Severity,
        body: String,
        attributes: Vec<(&'static str, Value)>,
        trace: u128,
    ) {
        let record = Record::new(at, severity, body, attributes, trace);
        self.queue.add_below(record, WAITING_MAX / 2);
    }

    /// The queue, for the exporter.
    #[must_use]
    pub const fn queue(&self) -> &Queue<Record> {
        &self.queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_beyond_the_bound_are_counted_and_a_long_body_is_cut() {
        let metrics = Metrics::default();
        let records = Records::new(&metrics);
        let long = "é".repeat(BODY_BYTES_MAX);
        for _ in 0..WAITING_MAX + 7 {
            let body = long.clone();
            records.add(SystemTime::now(), Severity::Warn, body, Vec::new(), 0);
        }
        records.add_foreign(SystemTime::now(), Severity::Warn, long, Vec::new(), 0);
        let taken = records.queue().take(1);
        assert_eq!(taken[0].body.len(), BODY_BYTES_MAX);
        let text = metrics.render(true);
        assert!(text.contains("rialto_log_records_lost_total 8\n"), "{text}");
    }

    #[test]
    fn somebody_outside_has_half_of_the_room() {
        let records = Records::new(&Metrics::default());
        let now = SystemTime::now();
        let foreign = || records.add_foreign(now, Severity::Info, "f".to_owned(), Vec::new(), 0);
        (0..WAITING_MAX).for_each(|_| foreign());
        records.add(now, Severity::Info, "own".to_owned(), Vec::new(), 0);
        let taken = records.queue().take(WAITING_MAX);
        assert_eq!(taken.len(), WAITING_MAX / 2 + 1);
        assert_eq!(taken[WAITING_MAX / 2].body, "own");
    }
}
