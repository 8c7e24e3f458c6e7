//! Spans of turns for a tracing system.
//!
//! A turn's span is made from its record in the history, after the commit. So a trace shows only committed
//! turns, and nothing is measured twice. Interrupted runs have no record and no span. Without a tracing
//! system, and for traces that it does not record, no span is made.

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
    /// When it ended, on the engine's monotonic clock. The record has its duration.
    pub ended_us: u64,
    /// What happened.
    pub record: Arc<Record>,
}

/// A tracing system.
pub trait Spans: Send + Sync + 'static {
    /// Whether a trace that begins in the engine is recorded.
    fn records(&self, trace: u128) -> bool;
    /// The id of a turn's span: never 0, and always the same, because the turn's effects name it before the turn
    /// has ended.
    fn id(&self, turn: TurnId) -> u64;
    /// Take the span of a committed run. The committer calls it after it has released all outputs; it must not
    /// block.
    fn ended(&self, span: &TurnSpan);
}

impl Shared {
    /// The span id that the turn's effects have as their parent.
    pub fn span_id(&self, turn: TurnId) -> u64 {
        let spans = self.environment.spans.as_ref();
        spans.map_or(turn.0, |spans| spans.id(turn)).max(1)
    }

    /// The span of a run, if its trace is recorded.
    pub fn span(&self, cause: Trace, record: &Arc<Record>, ended_us: u64) -> Option<TurnSpan> {
        let wanted = cause.sampled && self.environment.spans.is_some();
        wanted.then(|| TurnSpan {
            cause,
            ended_us,
            record: record.clone(),
        })
    }

    /// The trace that a client sent, or a new one.
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
