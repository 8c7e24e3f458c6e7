//! What a tracing system is told about turns, if there is one.
//!
//! A turn's span is made from the record that the turn leaves anyway, when that is on disk: so a trace
//! shows what became true, and nothing is measured twice. Runs that other turns interrupted leave no
//! record and no span. Without a tracing system, and for traces that it does not record, nothing is
//! made at all.

use std::sync::Arc;

use crate::engine::Shared;
use crate::history::Record;
use crate::ids::TurnId;
use crate::stimulus::Trace;

/// A run of a turn that is on disk.
#[derive(Clone, Debug)]
pub struct TurnSpan {
    /// The trace that it belongs to, and the span that caused it.
    pub cause: Trace,
    /// When it had run, on the engine's monotonic clock; the record says how long it took.
    pub ended_us: u64,
    /// What happened.
    pub record: Arc<Record>,
}

/// A tracing system.
pub trait Spans: Send + Sync + 'static {
    /// Whether a trace that begins in the engine is recorded.
    fn records(&self, trace: u128) -> bool;
    /// The id of a turn's span: never 0, and the same each time, for what a turn causes names it
    /// before the turn has ended.
    fn id(&self, turn: TurnId) -> u64;
    /// A run is on disk. Called by the committer when everything else has left; must not block.
    fn ended(&self, span: &TurnSpan);
}

impl Shared {
    /// The id under which what a turn causes knows it.
    pub fn span_id(&self, turn: TurnId) -> u64 {
        let spans = self.environment.spans.as_ref();
        spans.map_or(turn.0, |spans| spans.id(turn)).max(1)
    }

    /// The span of a run, if somebody wants it.
    pub fn span(&self, cause: Trace, record: &Arc<Record>, ended_us: u64) -> Option<TurnSpan> {
        let wanted = cause.sampled && self.environment.spans.is_some();
        wanted.then(|| TurnSpan {
            cause,
            ended_us,
            record: record.clone(),
        })
    }

    /// A trace that came from outside, or a fresh one.
    pub fn begun(&self, trace: Trace) -> Trace {
        if trace.id != 0 {
            return trace;
        }
        let mut bytes = [0; 16];
        self.environment.entropy.fill(&mut bytes);
        let id = u128::from_be_bytes(bytes).max(1);
        let spans = self.environment.spans.as_ref();
        Trace {
            id,
            parent: 0,
            sampled: spans.is_some_and(|spans| spans.records(id)),
        }
    }
}
