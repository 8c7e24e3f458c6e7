//! Who was refused because they have not proven who they are, or may not do what they want. The host keeps that for the
//! audit log; it belongs to no turn.

use std::fmt;
use std::sync::Arc;

pub use rialto_audit::ActorKind;

/// Who was refused what, and why. None of these texts may be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// What was refused, as entries of the audit log have it: `authentication.refused`.
    pub action: String,
    /// What is known of who it was.
    pub kind: ActorKind,
    /// Who it was, as far as known: a name, or `address 192.0.2.1`.
    pub source: String,
    /// What they wanted, such as `POST /accounts`; empty for nothing in particular.
    pub about: String,
    /// Why they were refused, for people.
    pub why: String,
    /// Who has refused: a component, or `host`.
    pub writer: String,
    /// The trace (W3C Trace Context) that it belongs to; empty for none.
    pub trace: String,
}

/// Keeps denials. It waits for nothing, and many at once do no harm.
pub trait Denials: fmt::Debug + Send + Sync {
    /// Keep one.
    fn keep(&self, denial: Denial);
}

/// A host that keeps none.
#[derive(Clone, Copy, Debug)]
pub struct NoDenials;

impl Denials for NoDenials {
    fn keep(&self, _: Denial) {}
}

/// No denials are kept.
#[must_use]
pub fn none() -> Arc<dyn Denials> {
    Arc::new(NoDenials)
}
