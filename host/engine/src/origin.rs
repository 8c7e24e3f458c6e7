//! The origin of a chain of turns: its sender, its first instant, and the answer that must be written before
//! its outbound requests are sent. Events carry it along. It is only in memory and is lost at a restart.

use std::sync::Arc;

use crate::answers::Unanswered;
use crate::ids::Name;
use crate::time::Timestamp;

/// The origin of a chain of turns.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The sender, if known.
    pub sender: Option<Name>,
    /// The instant of the chain's first turn: a request, a reminder or a report. None before the first turn, and
    /// for a delivery from before a restart.
    pub since: Option<Timestamp>,
    /// The answer for which the chain's outbound requests wait, if they do.
    pub(crate) answer: Option<Arc<Unanswered>>,
}

impl Origin {
    /// The origin of a request of this sender.
    #[must_use]
    pub fn of(sender: Name) -> Self {
        Self {
            sender: Some(sender),
            ..Self::default()
        }
    }

    /// When the chain began; the beginning of time if not known.
    pub(crate) fn logged(&self) -> Timestamp {
        self.since.unwrap_or(Timestamp(0))
    }
}
