//! A turn as its handler sees it: who it is, what it may do, and what it keeps until the engine executes it. Its documents
//! are in `documents`, what else it stages in `effects`.

mod documents;
mod effects;

use std::sync::Arc;

pub(crate) use self::documents::{AccessedDocument, Touched};
pub use self::effects::Send;
use crate::budget::{Budget, check_count};
use crate::documents::Cell;
use crate::engine::Shared;
use crate::history::Step;
use crate::ids::{Name, TurnId};
use crate::limits;
use crate::messages::Message;
use crate::network::OutboundRequest;
use crate::origin::Origin;
use crate::outside::Calls;
use crate::publications::Publication;
use crate::receipts::ReceiptHash;
use crate::reminders::ReminderChange;
use crate::scan::Scans;
use crate::stimulus::{Cause, Delivery, Stimulus, Trace};
use crate::store::{AuditEntry, Receipt};
use crate::time::Timestamp;

/// Why a turn cannot continue. The handler must return at once; the engine decides what happens.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Interrupt {
    /// Another turn holds a document, or has written one that this turn read. The engine runs the turn again.
    #[error("interrupted by another turn")]
    Conflict,
    /// The turn needs an answer from outside the host ([`crate::outside`]). The engine runs it again with the answer.
    #[error("interrupted until a service outside the host answers")]
    Outside,
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(String),
    /// The handler broke a rule of the interface.
    #[error("{0}")]
    Misuse(String),
}

/// What a turn has staged, except documents.
#[derive(Default)]
pub(crate) struct Staged {
    pub deliveries: Vec<Arc<Delivery>>,
    pub reminders: Vec<ReminderChange>,
    /// The reminders that the turn has asked about: component, id, and whether the reminder waited.
    pub reminders_seen: Vec<(Name, Name, bool)>,
    pub outbound: Vec<Arc<OutboundRequest>>,
    pub receipts: Vec<Receipt>,
    pub receipt_hashes: Vec<ReceiptHash>,
    pub audit: Vec<AuditEntry>,
    pub publications: Vec<Publication>,
    pub steps: Vec<Step>,
    /// The messages that the history keeps.
    pub messages: Vec<Message>,
    pub subjects: Vec<Name>,
    /// The people whom it names, subjects or not.
    pub people: Vec<Name>,
    pub release: u64,
}

/// One run of a handler. Dropping it undoes everything.
pub struct Turn {
    pub(crate) id: TurnId,
    pub(crate) shared: Arc<Shared>,
    pub(crate) now: Timestamp,
    pub(crate) trace: Trace,
    /// The documents that it has read or written, in this order.
    pub(crate) touched: Touched,
    /// The ranges that were scanned, if there are any.
    pub(crate) scans: Option<Scans>,
    pub(crate) staged: Staged,
    /// The document that another turn holds and this one needs.
    pub(crate) blocked: Option<Arc<Cell>>,
    /// Its calls of services outside the host.
    pub(crate) calls: Calls,
    /// The sender, the first instant and the answer of the chain that this turn belongs to, as far as known.
    pub(crate) origin: Origin,
    /// Whether the turn begins a chain, and `Pending` counts it.
    begins: bool,
    /// Events in a row that led to this turn.
    pub(crate) hops: u32,
    /// The generation of the reminder that this turn handles, if it handles one.
    pub(crate) reminder: Option<u64>,
    /// The delivery that this turn handles, if it handles one.
    delivery: Option<u64>,
    /// The component that it runs in; none outside of a stimulus.
    pub(crate) component: Option<Name>,
    /// When the client stops waiting, on the engine's monotonic clock.
    pub(crate) expires_us: Option<u64>,
    budget: Budget,
}

impl Turn {
    pub(crate) fn new(shared: Arc<Shared>, id: TurnId, trace: Trace) -> Self {
        let now = shared.environment.clock.now();
        Self {
            id,
            shared,
            now,
            trace,
            touched: Touched::default(),
            scans: None,
            staged: Staged::default(),
            blocked: None,
            calls: Calls::default(),
            origin: Origin::default(),
            begins: false,
            hops: 0,
            reminder: None,
            delivery: None,
            component: None,
            expires_us: None,
            budget: Budget::default(),
        }
    }

    /// Set the turn's origin. A stimulus that is in the log keeps the instant that it has there; any other
    /// begins with this turn.
    pub(crate) fn belongs(&mut self, origin: &Origin, stimulus: &Stimulus) {
        assert!(!self.begins, "turn {} begins once", self.id);
        self.origin.clone_from(origin);
        let in_the_log = match stimulus {
            Stimulus::Delivery(delivery) => delivery.cause == Cause::Event,
            Stimulus::Request { .. } => false,
        };
        let since = if in_the_log {
            origin.logged()
        } else {
            let clock = &*self.shared.environment.clock;
            self.now = self.shared.pending.begins(self.id, clock);
            self.begins = true;
            self.now
        };
        self.origin.since = Some(since);
    }

    /// Continue the calls of earlier runs of this turn, at their instant. The instant of the turn's origin is
    /// that of this run: reminders do not wait while the turn waits.
    pub(crate) fn continues(&mut self, calls: Calls) {
        self.now = calls.now().unwrap_or(self.now);
        self.calls = calls;
    }

    /// Set the fields that come from the delivery that the turn handles.
    pub(crate) fn handles(&mut self, delivery: &Delivery) {
        self.staged.subjects.clone_from(&delivery.subjects);
        self.hops = delivery.hops;
        self.delivery = Some(delivery.id);
        if let Cause::Reminder { generation, .. } = &delivery.cause {
            self.reminder = Some(*generation);
        }
    }

    /// The turn's number.
    pub fn id(&self) -> TurnId {
        self.id
    }

    /// The turn's instant.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The trace, with this turn as the parent of what it causes.
    pub fn trace(&self) -> Trace {
        Trace {
            parent: self.shared.span_id(self.id),
            ..self.trace
        }
    }

    /// Microseconds for which the client still waits; none for no limit.
    pub fn left_us(&self) -> Option<u64> {
        let expires_us = self.expires_us?;
        Some(expires_us.saturating_sub(self.monotonic_us()))
    }

    /// Microseconds on the engine's monotonic clock, for timing steps.
    pub fn monotonic_us(&self) -> u64 {
        self.shared.environment.clock.monotonic_us()
    }

    /// Fill with random bytes.
    pub fn random(&mut self, bytes: &mut [u8]) {
        let entropy = &self.shared.environment.entropy;
        self.calls.draw(bytes, |rest| entropy.fill(rest));
    }

    /// Say which release the turn runs on.
    pub fn set_release(&mut self, number: u64) {
        self.staged.release = number;
    }

    /// Note what the turn did, for the history.
    pub fn note(&mut self, step: Step) -> Result<(), Interrupt> {
        check_count("steps", self.staged.steps.len(), limits::STEPS_PER_TURN_MAX)?;
        self.budget.charge_step(&step)?;
        self.staged.steps.push(step);
        Ok(())
    }

    /// Add a subject to the turn's history. Subjects beyond the limit are ignored.
    pub fn subject(&mut self, subject: &str) -> Result<(), Interrupt> {
        let subjects = &mut self.staged.subjects;
        if subjects.len() < limits::SUBJECTS_PER_TURN_MAX
            && !subjects.iter().any(|known| &**known == subject)
        {
            self.budget.charge_staged([subject])?;
            subjects.push(subject.into());
        }
        Ok(())
    }

    /// Name a person, if subjects of this kind are people: the turn's records are encrypted for the person, and the history
    /// finds the turn by the person as long as it has room for subjects. What the turn causes does not inherit it.
    pub fn person(&mut self, subject: &str) -> Result<(), Interrupt> {
        let personal_data = self.shared.environment.personal_data.as_ref();
        if !personal_data.is_some_and(|data| data.is_person(subject)) {
            return Ok(());
        }
        let people = &mut self.staged.people;
        if !people.iter().any(|known| &**known == subject) {
            check_count("people", people.len(), limits::PEOPLE_PER_TURN_MAX)?;
            self.budget.charge_staged([subject])?;
            people.push(subject.into());
        }
        Ok(())
    }

    /// Whether one more log line of the handler is kept. The number of dropped lines is logged when the turn
    /// ends.
    pub fn may_log(&mut self) -> bool {
        self.budget.line()
    }

    /// Whether the audit log has the receipts that have a hash.
    #[must_use]
    pub fn logs_receipts(&self) -> bool {
        self.shared.environment.receipt_log.is_some()
    }

    /// Random bytes that a turn which runs again does not see again, because nothing that it does depends on them.
    pub fn salt(&self, bytes: &mut [u8]) {
        self.shared.environment.entropy.fill(bytes);
    }

    /// Whether it has staged anything but its own record: a document, an event, a message, a reminder, a receipt or an
    /// entry.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        let staged = &self.staged;
        self.touched
            .values()
            .any(|document| document.write.is_some())
            || !staged.deliveries.is_empty()
            || !staged.outbound.is_empty()
            || !staged.reminders.is_empty()
            || !staged.receipts.is_empty()
            || !staged.audit.is_empty()
            || !staged.publications.is_empty()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        for touch in self.touched.values().filter(|touch| touch.held) {
            if let Some(job) = touch.cell.release(self.id) {
                self.shared.queue.push_first(job);
            }
        }
        if self.begins {
            self.shared.pending.has_begun(self.id);
        }
        let dropped = self.budget.lines_dropped;
        if dropped > 0 {
            tracing::warn!(
                component = self.component.as_deref(),
                turn = self.id.0,
                dropped,
                "a turn logged more than {} lines; the others were dropped",
                limits::LINES_PER_TURN_MAX
            );
        }
    }
}
