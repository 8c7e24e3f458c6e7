//! Why events do not reach JetStream, in words for operators.

/// Why there is no connection, or nothing was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No server answers. It may answer later.
    #[error("{0}")]
    Away(String),
    /// Somebody else's message came between two events. They are sent again.
    #[error("a message of somebody else came between two events of the stream")]
    Overtaken,
    /// An event is larger than the server takes. The others are not.
    #[error("{0}")]
    TooLarge(String),
    /// The server answers, and an operator must do something.
    #[error("{0}")]
    Refused(#[from] Refusal),
}

/// What a server of NATS refuses, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}. {help}")]
pub struct Refusal {
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub help: String,
}

impl Failure {
    /// A server that does not answer.
    pub(crate) fn away(what: &str, why: impl std::fmt::Display) -> Self {
        Self::Away(format!("{what}: {why}"))
    }

    /// Something that an operator must change.
    pub(crate) fn refused(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused(Refusal {
            what: what.into(),
            help: help.into(),
        })
    }
}
