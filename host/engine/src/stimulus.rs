//! Stimuli, which start turns, and the outcomes that their waiters get.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::history::Kind;
use crate::ids::{Name, TurnId};
use crate::origin::Origin;

/// W3C trace context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The id that all effects of one request share; never 0 once begun.
    pub id: u128,
    /// The parent span.
    pub parent: u64,
    /// Whether the trace's first sender wants it recorded.
    pub sampled: bool,
}

impl Trace {
    /// Read a `traceparent` header; none if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, id, parent, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let plain = |part: &str, length| {
            part.len() == length && part.bytes().all(|b| b.is_ascii_hexdigit())
        };
        if !plain(version, 2) || version == "ff" || !plain(id, 32) || !plain(parent, 16) {
            return None;
        }
        if !plain(flags, 2) || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let trace = Self {
            id: u128::from_str_radix(id, 16).ok()?,
            parent: u64::from_str_radix(parent, 16).ok()?,
            sampled: u8::from_str_radix(flags, 16).ok()? & 1 == 1,
        };
        (trace.id != 0 && trace.parent != 0).then_some(trace)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled);
        write!(f, "00-{:032x}-{:016x}-{flags:02x}", self.id, self.parent)
    }
}

/// A value that only the handler understands. It can be encoded, to be stored.
pub trait LivePayload: Send + Sync + 'static {
    /// The value's stored form; the handler must be able to read it back.
    fn encode(&self) -> Vec<u8>;
    /// For the handler's downcast to its own type.
    fn as_any(&self) -> &dyn Any;
    /// Roughly the bytes of the stored form, for the turn's budget. Override it where the size is known without
    /// encoding.
    fn bytes(&self) -> usize {
        self.encode().len()
    }
}

/// The argument of a delivery.
#[derive(Clone)]
pub enum Payload {
    /// The publisher's value.
    Live(Arc<dyn LivePayload>),
    /// The stored form, as read back.
    Stored(Arc<[u8]>),
}

impl Payload {
    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Payload::Live(value) => value.encode(),
            Payload::Stored(bytes) => bytes.to_vec(),
        }
    }

    /// Roughly the bytes of the stored form.
    pub fn bytes(&self) -> usize {
        match self {
            Payload::Live(value) => value.bytes(),
            Payload::Stored(bytes) => bytes.len(),
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Payload::Live(_) => f.write_str("Payload::Live"),
            Payload::Stored(bytes) => write!(f, "Payload::Stored({} bytes)", bytes.len()),
        }
    }
}

/// What caused a delivery. It is over when the delivery has been executed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Cause {
    /// An event.
    Event,
    /// A reminder of the target component, by its id and its generation.
    Reminder {
        /// The reminder's id.
        id: Name,
        /// Tells a replaced reminder from the one that fired.
        generation: u64,
    },
    /// An outbound request, by its id.
    Report {
        /// The request's id.
        id: u64,
    },
}

/// A turn that must happen: it is kept until it has been executed, across restarts.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Unique in the life of a store.
    pub id: u64,
    /// What caused it.
    pub cause: Cause,
    /// The component that runs it.
    pub component: Name,
    /// The interface that the component exports for it.
    pub interface: Name,
    /// The function of the interface.
    pub function: Name,
    /// The argument.
    pub payload: Payload,
    /// The turn that staged it.
    pub by: Option<TurnId>,
    /// The trace that it belongs to.
    pub trace: Trace,
    /// What the causing turn was about.
    pub subjects: Vec<Name>,
    /// The number of events in the chain from a request, a reminder or a report.
    pub hops: u32,
    /// The redelivery count: how often a store has given it back after a restart. The store counts.
    pub redeliveries: u32,
    /// The origin of its chain. It is only in memory and is lost at a restart.
    pub origin: Origin,
}

/// What a handler answers to a request.
pub type Reply = Box<dyn Any + Send>;

/// The waiter for a request's turn. Called once, after the commit of the turn.
pub type Waiter = Box<dyn FnOnce(Result<Reply, Failure>) + Send>;

/// What starts a turn.
#[derive(Clone)]
pub enum Stimulus {
    /// A request: a client waits for the answer. A failed one has no effect and is not retried.
    Request {
        /// `Request` or `Activation`.
        kind: Kind,
        /// The component that runs it.
        component: Name,
        /// What to call it in the history.
        function: Name,
        /// The argument; only the handler knows its type.
        argument: Arc<dyn Any + Send + Sync>,
        /// The trace that it belongs to.
        trace: Trace,
    },
    /// A delivery.
    Delivery(Arc<Delivery>),
}

impl Stimulus {
    /// The component that runs the turn.
    pub fn component(&self) -> &Name {
        match self {
            Stimulus::Request { component, .. } => component,
            Stimulus::Delivery(delivery) => &delivery.component,
        }
    }

    /// What it is called in the history.
    pub fn function(&self) -> &Name {
        match self {
            Stimulus::Request { function, .. } => function,
            Stimulus::Delivery(delivery) => &delivery.function,
        }
    }

    /// The trace that it belongs to.
    pub fn trace(&self) -> Trace {
        match self {
            Stimulus::Request { trace, .. } => *trace,
            Stimulus::Delivery(delivery) => delivery.trace,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Stimulus::Request { kind, .. } => *kind,
            Stimulus::Delivery(delivery) => match delivery.cause {
                Cause::Event => Kind::Event,
                Cause::Reminder { .. } => Kind::Reminder,
                Cause::Report { .. } => Kind::Report,
            },
        }
    }
}

/// Why a turn has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// The handler trapped, ran past its limits or returned an internal error.
    #[error("{component} failed: {reason}")]
    Handler {
        /// The component in which it happened.
        component: Name,
        /// What happened.
        reason: String,
    },
    /// A service outside the host that it needs does not answer now. The handler is not to blame.
    #[error("a service outside the host does not answer: {0}")]
    Away(String),
    /// What must handle it at its instant is not ready. The handler is not to blame.
    #[error("{0}")]
    NotReady(String),
    /// It had too many conflicts with other turns.
    #[error("the turn was interrupted by others {0} times")]
    Contention(u32),
    /// The store cannot be written or read; the host is going down.
    #[error("the store failed: {0}")]
    Store(String),
    /// A request of a client with a shorter queue displaced it. It has not begun.
    #[error("the host has more work than it can take")]
    Refused,
    /// The host is shutting down.
    #[error("the host is shutting down")]
    Shutdown,
    /// The client's time was over. The turn had no effect.
    #[error("the time that its caller gave it is over")]
    Expired,
}
