//! `logging`: words for the operator, and what a turn is about.

use crate::bindings::rialto::host::logging::{Host, Level};
use crate::guest::Guest;

/// Bytes of one line that are kept.
const LINE_BYTES_MAX: usize = 1_024;
/// Bytes of a subject.
const SUBJECT_BYTES_MAX: usize = 256;

impl Host for Guest {
    fn log(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        let component = &*self.identity.name;
        let turn = self.active.as_ref().map(|active| active.turn.id().0);
        let line = cut(&message, LINE_BYTES_MAX);
        match level {
            Level::Trace => tracing::trace!(target: "component", component, turn, "{line}"),
            Level::Debug => tracing::debug!(target: "component", component, turn, "{line}"),
            Level::Info => tracing::info!(target: "component", component, turn, "{line}"),
            Level::Warn => tracing::warn!(target: "component", component, turn, "{line}"),
            Level::Error => tracing::error!(target: "component", component, turn, "{line}"),
        }
        Ok(())
    }

    fn subject(&mut self, subject: String) -> wasmtime::Result<()> {
        let subject = cut(&subject, SUBJECT_BYTES_MAX).to_owned();
        self.turn()?.subject(&subject);
        Ok(())
    }
}

/// The beginning of a text, ending between characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
