//! Log lines for the component that keeps them.
//!
//! The host's own lines and those of components wait in a bounded queue. The host gives them to the component of the
//! current release that wants them. That component's own lines, and lines about its turns, are left out: each delivery
//! would cause the next one otherwise.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use crate::Metrics;
use crate::queue::Queue;
use crate::records::Severity;

/// Lines that wait: at 100 lines a second they are delivered in 40 seconds. They take at most 16 MiB.
const WAITING_MAX: usize = 4_096;
/// The target of lines about the delivery of lines. They are only on standard error.
pub const DELIVERY_TARGET: &str = "log-delivery";
/// The name of lines that are no component's.
const HOST: &str = "host";

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it was written.
    pub at: SystemTime,
    /// How much it matters.
    pub severity: Severity,
    /// The component that wrote it, or that it is about; none for another line of the host.
    pub component: Option<Arc<str>>,
    /// The part of the host that wrote it; `component` for a component's own line.
    pub target: &'static str,
    /// The text, with the fields of the host's lines.
    pub message: String,
    /// The trace that it belongs to; empty if it is not known.
    pub trace: String,
}

impl Line {
    /// A line of the delivery itself.
    #[must_use]
    pub fn of_delivery(severity: Severity, message: String) -> Self {
        Self {
            at: SystemTime::now(),
            severity,
            component: None,
            target: DELIVERY_TARGET,
            message,
            trace: String::new(),
        }
    }

    /// Who wrote it: a component, or `host`.
    #[must_use]
    pub fn writer(&self) -> &str {
        match (self.target, &self.component) {
            (COMPONENT_TARGET, Some(component)) => component,
            _ => HOST,
        }
    }

    /// Milliseconds from 1970 to the line.
    #[must_use]
    pub fn at_ms(&self) -> u64 {
        let since = self.at.duration_since(SystemTime::UNIX_EPOCH);
        let since = since.unwrap_or(Duration::ZERO);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The target of components' own lines.
const COMPONENT_TARGET: &str = "component";

/// Who reads the lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Reader {
    /// Not known yet: the host starts.
    #[default]
    Unknown,
    /// Nobody: lines are not kept.
    Nobody,
    /// A component.
    Component(Arc<str>),
}

/// See the module's documentation. A clone is another handle.
#[derive(Clone, Debug)]
pub struct Lines {
    queue: Queue<Line>,
    reader: Arc<RwLock<Reader>>,
}

impl Lines {
    /// An empty queue that counts lines in these metrics.
    #[must_use]
    pub fn new(metrics: &Metrics) -> Self {
        Self::with_room(metrics, WAITING_MAX)
    }

    fn with_room(metrics: &Metrics, waiting_max: usize) -> Self {
        let queue = Queue::new(waiting_max);
        metrics.add_line_counters(queue.counters());
        Self {
            queue,
            reader: Arc::default(),
        }
    }

    /// Sets the component that reads the lines from now on. Without one, waiting lines are forgotten, and no further
    /// ones are kept.
    pub fn read_by(&self, component: Option<&str>) {
        let reader = component.map_or(Reader::Nobody, |name| Reader::Component(name.into()));
        if *self.reader() == reader {
            return;
        }
        let is_nobody = reader == Reader::Nobody;
        *self.reader.write().unwrap_or_else(PoisonError::into_inner) = reader;
        if is_nobody {
            drop(self.queue.take(usize::MAX));
        }
    }

    /// Queues a line, if somebody may read it.
    pub fn add(&self, line: Line) {
        if self.is_wanted(&line) {
            self.queue.add(line);
        }
    }

    /// Takes the oldest lines, so many at most.
    #[must_use]
    pub fn take(&self, most: usize) -> Vec<Line> {
        let mut taken = self.queue.take(most);
        // The reader may not have been known when they were queued.
        taken.retain(|line| self.is_wanted(line));
        taken
    }

    /// Counts lines that the reader has accepted.
    pub fn delivered(&self, count: usize) {
        self.queue.accepted(count);
    }

    /// Counts lines that are lost.
    pub fn lost(&self, count: usize) {
        self.queue.lost(count);
    }

    /// How many were lost so far.
    #[must_use]
    pub fn lost_so_far(&self) -> u64 {
        self.queue.lost_so_far()
    }

    fn is_wanted(&self, line: &Line) -> bool {
        if line.target == DELIVERY_TARGET {
            return false;
        }
        match &*self.reader() {
            Reader::Unknown => true,
            Reader::Nobody => false,
            Reader::Component(reader) => line.component.as_ref() != Some(reader),
        }
    }

    fn reader(&self) -> std::sync::RwLockReadGuard<'_, Reader> {
        // It is replaced as a whole.
        self.reader.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(component: Option<&str>, target: &'static str, message: &str) -> Line {
        Line {
            component: component.map(Into::into),
            target,
            ..Line::of_delivery(Severity::Warn, message.to_owned())
        }
    }

    fn messages(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|line| line.message.as_str()).collect()
    }

    #[test]
    fn lines_about_the_reader_and_the_delivery_are_left_out() {
        let lines = Lines::new(&Metrics::default());
        let all = || {
            lines.add(line(None, "rialto::disk", "of the host"));
            lines.add(line(Some("quoting"), COMPONENT_TARGET, "of quoting"));
            lines.add(line(Some("keeper"), COMPONENT_TARGET, "of the keeper"));
            lines.add(line(Some("keeper"), "rialto_engine", "about the keeper"));
            lines.add(line(None, DELIVERY_TARGET, "of the delivery"));
        };
        // Before the reader is known, and after.
        all();
        lines.read_by(Some("keeper"));
        all();
        let taken = lines.take(100);
        let expected = ["of the host", "of quoting", "of the host", "of quoting"];
        assert_eq!(messages(&taken), expected);
        assert_eq!((taken[0].writer(), taken[1].writer()), ("host", "quoting"));
        assert_eq!(lines.lost_so_far(), 0);
    }

    #[test]
    fn without_a_reader_nothing_is_kept_or_lost() {
        let metrics = Metrics::default();
        let lines = Lines::with_room(&metrics, 2);
        lines.add(line(None, "rialto", "early"));
        lines.read_by(None);
        for _ in 0..5 {
            lines.add(line(None, "rialto", "unread"));
        }
        lines.read_by(Some("keeper"));
        assert!(lines.take(10).is_empty());
        for n in 0..5 {
            lines.add(line(None, "rialto", &n.to_string()));
        }
        assert_eq!(messages(&lines.take(10)), ["0", "1"]);
        lines.delivered(2);
        let text = metrics.render(true);
        assert!(
            text.contains("rialto_log_lines_delivered_total 2\n"),
            "{text}"
        );
        assert!(text.contains("rialto_log_lines_lost_total 3\n"), "{text}");
    }
}
