//! What a turn belongs to: who asked, when it came in, and which answer has to leave first. It goes along
//! with the events that the turn publishes, and is in memory only: after a restart nobody knows.

use std::sync::Arc;

use crate::answers::Unanswered;
use crate::ids::Name;
use crate::time::Timestamp;

/// See the module's documentation.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Who asked, if that is known.
    pub sender: Option<Name>,
    /// The instant of the turn with which it began: the request's, the reminder's or the report's. None for
    /// what has not begun, and for a delivery from before a restart.
    pub since: Option<Timestamp>,
    /// The request's answer, if what it causes to be sent waits for that.
    pub(crate) answer: Option<Arc<Unanswered>>,
}

impl Origin {
    /// What somebody asks.
    #[must_use]
    pub fn of(sender: Name) -> Self {
        Self {
            sender: Some(sender),
            ..Self::default()
        }
    }

    /// Since when a delivery is in the log, or what caused it: always, if nobody knows.
    pub(crate) fn logged(&self) -> Timestamp {
        self.since.unwrap_or(Timestamp(0))
    }
}
