//! `logging`: log lines for the operator, and the subjects of a turn.

use rialto_engine::limits;

use super::interrupt;
use crate::bindings::rialto::host::logging::{ForeignLine, Host, Level};
use crate::guest::Guest;

/// Bytes of one line that are kept.
const LINE_BYTES_MAX: usize = 1_024;
/// Bytes of the name of who wrote it.
const WRITER_BYTES_MAX: usize = 128;
/// Bytes of a subject.
const SUBJECT_BYTES_MAX: usize = 256;

impl Host for Guest {
    fn log(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        if matches!(level, Level::Error) {
            self.last_error = Some(cut(&message, LINE_BYTES_MAX).to_owned());
        }
        if self.identity.is_quiet || !is_wanted(level) || !self.may_log() {
            return Ok(());
        }
        let component = &*self.identity.name;
        let turn = self.active.as_ref().map(|active| active.turn.id().0);
        let trace = self.active.as_ref().map(|active| active.turn.trace().id);
        let trace = trace.map(|trace| format!("{trace:032x}"));
        let trace = trace.as_deref();
        let line = cut(&message, LINE_BYTES_MAX);
        match level {
            Level::Trace => tracing::trace!(target: "component", component, turn, trace, "{line}"),
            Level::Debug => tracing::debug!(target: "component", component, turn, trace, "{line}"),
            Level::Info => tracing::info!(target: "component", component, turn, trace, "{line}"),
            Level::Warn => tracing::warn!(target: "component", component, turn, trace, "{line}"),
            Level::Error => tracing::error!(target: "component", component, turn, trace, "{line}"),
        }
        Ok(())
    }

    fn forward(&mut self, line: ForeignLine) -> wasmtime::Result<()> {
        let is_quiet = self.identity.is_quiet;
        if is_quiet || matches!(line.level, Level::Trace | Level::Debug) || !self.may_log() {
            return Ok(());
        }
        let forwarded_by = &*self.identity.name;
        let written_at = line.time;
        let trace = Some(&*line.trace).filter(|trace| !trace.is_empty());
        let writer = cut(&line.writer, WRITER_BYTES_MAX);
        let about = cut(&line.about, SUBJECT_BYTES_MAX);
        let message = cut(&line.message, LINE_BYTES_MAX);
        macro_rules! line {
            ($level:expr) => {
                tracing::event!(target: "foreign", $level, written_at, writer, about, forwarded_by, trace, "{message}")
            };
        }
        match line.level {
            Level::Trace | Level::Debug => {}
            Level::Info => line!(tracing::Level::INFO),
            Level::Warn => line!(tracing::Level::WARN),
            Level::Error => line!(tracing::Level::ERROR),
        }
        Ok(())
    }

    fn subject(&mut self, subject: String) -> wasmtime::Result<()> {
        let subject = cut(&subject, SUBJECT_BYTES_MAX).to_owned();
        interrupt(self.turn()?.subject(&subject))
    }

    fn person(&mut self, subject: String) -> wasmtime::Result<()> {
        let subject = cut(&subject, SUBJECT_BYTES_MAX);
        interrupt(self.turn()?.person(subject))
    }
}

impl Guest {
    /// Whether one more line is kept, of a turn or of a call outside of a turn.
    pub(crate) fn may_log(&mut self) -> bool {
        if let Some(active) = &mut self.active {
            return active.turn.may_log();
        }
        self.lines = self.lines.saturating_add(1);
        if self.lines == limits::LINES_PER_TURN_MAX + 1 {
            let component = &*self.identity.name;
            tracing::warn!(target: "component", component, "a call logged more than {} lines; the others are dropped", limits::LINES_PER_TURN_MAX);
        }
        self.lines <= limits::LINES_PER_TURN_MAX
    }
}

/// Whether lines of this level are logged. Others do not count.
fn is_wanted(level: Level) -> bool {
    match level {
        Level::Trace => tracing::enabled!(target: "component", tracing::Level::TRACE),
        Level::Debug => tracing::enabled!(target: "component", tracing::Level::DEBUG),
        Level::Info => tracing::enabled!(target: "component", tracing::Level::INFO),
        Level::Warn => tracing::enabled!(target: "component", tracing::Level::WARN),
        Level::Error => tracing::enabled!(target: "component", tracing::Level::ERROR),
    }
}

/// The beginning of a text, ending between characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
