//! The interface of a turn for its handler: read and write documents, stage events, reminders and outbound
//! requests. The turn keeps all changes until the engine executes it.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::budget::{Budget, check_body, check_collection, check_count, check_id};
use crate::documents::Cell;
use crate::engine::Shared;
use crate::history::Step;
use crate::ids::{DocumentKey, Name, TurnId};
use crate::limits;
use crate::messages::{Given, Message, Part};
use crate::network::{DeliveryPolicy, OutboundRequest, OwnSignature};
use crate::origin::Origin;
use crate::outside::Calls;
use crate::pending::Earlier;
use crate::publications::Publication;
use crate::receipts::ReceiptHash;
use crate::reminders::ReminderChange;
use crate::scan::{Page, Scans, check_limit};
use crate::stimulus::{Cause, Delivery, Payload, Stimulus, Trace};
use crate::store::{AuditEntry, Receipt, ScanRange, StoredReminder};
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

/// A document that this turn has read or written.
pub(crate) struct AccessedDocument {
    pub cell: Arc<Cell>,
    /// The version that was seen.
    pub version: u64,
    /// The body that was seen.
    pub seen: Option<Name>,
    /// Whether this turn holds the document.
    pub held: bool,
    /// What was written, if anything was.
    pub write: Option<Option<Name>>,
}

impl AccessedDocument {
    fn body(&self) -> Option<Name> {
        self.write.clone().unwrap_or_else(|| self.seen.clone())
    }
}

/// The documents of a turn. There are few, so their hashes need not be hard to choose.
pub(crate) type Touched = IndexMap<DocumentKey, AccessedDocument, foldhash::quality::RandomState>;

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

/// An outbound request as a handler stages it.
#[derive(Clone, Debug)]
pub struct Send {
    /// An upper-case HTTP method.
    pub method: String,
    /// An absolute URL.
    pub url: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// UTF-8.
    pub body: Option<String>,
    /// The host's signature, if it is to sign.
    pub signature: Option<OwnSignature>,
    /// How it is retried.
    pub policy: DeliveryPolicy,
    /// Opaque; comes back with the report.
    pub correlation: String,
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

    /// The key of a component's document.
    pub fn key(
        &self,
        component: &str,
        collection: &str,
        id: impl AsRef<str> + Into<Name>,
    ) -> Result<DocumentKey, Interrupt> {
        check_collection(collection)?;
        check_id(id.as_ref())?;
        Ok(DocumentKey {
            collection: self.shared.collections.id(component, collection)?,
            id: id.into(),
        })
    }

    /// The document's body, or none.
    pub fn read(&mut self, key: DocumentKey) -> Result<Option<Name>, Interrupt> {
        Ok(self.touch(key, false)?.body())
    }

    /// Whether this turn has written or removed the document.
    #[must_use]
    pub fn has_written(&self, key: &DocumentKey) -> bool {
        let touched = self.touched.get(key);
        touched.is_some_and(|document| document.write.is_some())
    }

    /// The document's body, or none. The turn locks the document until it has been executed.
    pub fn read_for_update(&mut self, key: DocumentKey) -> Result<Option<Name>, Interrupt> {
        Ok(self.touch(key, true)?.body())
    }

    /// Write the document.
    pub fn write(&mut self, key: DocumentKey, body: Name) -> Result<(), Interrupt> {
        check_body(&body)?;
        self.budget.charge_staged([&*key.id, &*body])?;
        self.touch(key, true)?.write = Some(Some(body));
        Ok(())
    }

    /// Write the document if it does not exist. Returns whether it was written.
    pub fn insert_if_absent(&mut self, key: DocumentKey, body: Name) -> Result<bool, Interrupt> {
        check_body(&body)?;
        self.budget.charge_staged([&*key.id, &*body])?;
        let touch = self.touch(key, true)?;
        let absent = touch.body().is_none();
        if absent {
            touch.write = Some(Some(body));
        }
        Ok(absent)
    }

    /// Remove the document. Returns whether it existed.
    pub fn delete(&mut self, key: DocumentKey) -> Result<bool, Interrupt> {
        let touch = self.touch(key, true)?;
        let existed = touch.body().is_some();
        if existed {
            touch.write = Some(None);
        }
        Ok(existed)
    }

    /// Documents of a range in the byte order of their ids: committed ones, executed ones, and the turn's own
    /// writes. Returns at most `limit` documents and at most one page of bytes.
    ///
    /// The turn is executed only if no other turn has changed the scanned range by then. The scanned range
    /// ends with the page's last document, or with the range on the last page.
    pub fn scan(
        &mut self,
        component: &str,
        collection: &str,
        range: &ScanRange,
        limit: u32,
    ) -> Result<Page, Interrupt> {
        check_limit(limit)?;
        check_collection(collection)?;
        // An empty collection gets a number too, because other turns may write to it meanwhile.
        let collection = self.shared.collections.id(component, collection)?;
        let own = self
            .touched
            .iter()
            .filter(|(key, touch)| {
                key.collection == collection && touch.write.is_some() && range.contains(&key.id)
            })
            .map(|(key, touch)| (key.id.clone(), touch.version + 1, touch.body()))
            .collect();
        let scans = self.scans.get_or_insert_with(|| Scans::begun(&self.shared));
        let page = scans
            .page(collection, range, limit, own)
            .map_err(|e| Interrupt::Store(e.to_string()))?;
        if scans.ranges().len() > limits::SCANS_PER_TURN_MAX {
            return Err(Interrupt::Misuse(format!(
                "a turn may scan {} ranges and this one wants more",
                limits::SCANS_PER_TURN_MAX
            )));
        }
        for document in &page.documents {
            self.budget
                .charge(document.id.len() + document.body.len())?;
        }
        Ok(page)
    }

    /// Set a reminder of a component, replacing one of the same id.
    pub fn set_reminder(
        &mut self,
        component: &Name,
        id: &str,
        due: Timestamp,
        payload: String,
    ) -> Result<(), Interrupt> {
        check_id(id)?;
        self.reminder_fits()?;
        self.budget.charge_staged([id, payload.as_str()])?;
        // The latest instant that stores keep; some say "never" by a later one.
        let due = due.min(Timestamp(i64::MAX.unsigned_abs()));
        let reminder = StoredReminder {
            component: component.clone(),
            id: id.into(),
            due,
            generation: self.shared.fresh_id(),
            payload,
            subjects: self.staged.subjects.clone(),
            trace: self.trace(),
        };
        self.note(Step::Reminded {
            id: id.to_owned(),
            due,
        })?;
        self.staged
            .reminders
            .push(ReminderChange::Set(Arc::new(reminder)));
        Ok(())
    }

    fn reminder_fits(&self) -> Result<(), Interrupt> {
        let count = self.staged.reminders.len();
        check_count("reminders", count, limits::STAGED_PER_TURN_MAX)
    }

    /// Cancel a reminder. Returns whether it was still waiting. If so, no turn of it is ever executed.
    pub fn cancel_reminder(&mut self, component: &Name, id: &str) -> Result<bool, Interrupt> {
        check_id(id)?;
        self.reminder_fits()?;
        self.budget.charge_staged([id])?;
        let id: Name = id.into();
        let own = self.staged.reminders.iter().rev().find_map(|c| match c {
            ReminderChange::Set(r) => (r.component == *component && r.id == id).then_some(true),
            ReminderChange::Cancel {
                component: c,
                id: i,
            } => (c == component && *i == id).then_some(false),
        });
        let waited = own.unwrap_or_else(|| {
            let reminders = self.shared.reminders.lock();
            let waited = reminders.waits(component, &id, self.reminder);
            let seen = (component.clone(), id.clone(), waited);
            self.staged.reminders_seen.push(seen);
            waited
        });
        self.staged.reminders.push(ReminderChange::Cancel {
            component: component.clone(),
            id,
        });
        Ok(waited)
    }

    /// The earlier delivery that a reminder about `subject`, due at `due`, would have to wait for; none if there
    /// is none. Dead letters count whenever they were parked. The delivery that this turn handles does not
    /// count.
    ///
    /// None for a `due` in the past stays none. An answer may be outdated at once; the turn is not run again
    /// for that.
    pub fn waits_for(&self, subject: &str, due: Timestamp) -> Option<Earlier> {
        let asks = (self.id, self.delivery);
        self.shared.pending.earlier((subject, due), asks)
    }

    /// Stage an outbound request. Returns its id.
    pub fn send(&mut self, component: &Name, send: Send) -> Result<u64, Interrupt> {
        check_count(
            "requests",
            self.staged.outbound.len(),
            limits::STAGED_PER_TURN_MAX,
        )?;
        let headers = send.headers.iter();
        let headers = headers.flat_map(|(name, value)| [name.as_str(), value.as_str()]);
        let body = send.body.as_deref().unwrap_or_default();
        let rest = [&*send.method, &*send.url, body, &*send.correlation];
        let signature = send.signature.iter();
        let signature = signature.flat_map(|s| [s.header.as_str(), s.members.as_str()]);
        let all = headers.chain(rest).chain(signature);
        self.budget.charge_staged(all)?;
        let id = self.shared.fresh_id();
        self.note(Step::Sent {
            id,
            request: format!("{} {}", send.method, send.url),
        })?;
        if self.keeps_messages() {
            self.keep_message(Given {
                part: Part::Sent,
                request: Some(id),
                line: format!("{} {}", send.method, send.url),
                headers: &send.headers,
                body: send.body.as_deref(),
            });
        }
        let request = OutboundRequest {
            id,
            component: component.clone(),
            method: send.method,
            url: send.url,
            headers: send.headers,
            body: send.body,
            signature: send.signature,
            policy: send.policy,
            correlation: send.correlation,
            traceparent: self.trace().to_string(),
            subjects: self.staged.subjects.clone(),
        };
        self.staged.outbound.push(Arc::new(request));
        Ok(id)
    }

    /// Stage an event for one subscriber.
    pub fn deliver(
        &mut self,
        component: &Name,
        interface: &Name,
        function: &Name,
        payload: Payload,
    ) -> Result<(), Interrupt> {
        check_count(
            "events",
            self.staged.deliveries.len(),
            limits::STAGED_PER_TURN_MAX,
        )?;
        self.budget.charge_staged([&**interface, &**function])?;
        self.budget.charge(payload.bytes())?;
        let delivery = Delivery {
            id: self.shared.fresh_id(),
            cause: Cause::Event,
            component: component.clone(),
            interface: interface.clone(),
            function: function.clone(),
            payload,
            by: Some(self.id),
            trace: self.trace(),
            subjects: self.staged.subjects.clone(),
            hops: self.hops.saturating_add(1),
            redeliveries: 0,
            origin: self.origin.clone(),
        };
        self.staged.deliveries.push(Arc::new(delivery));
        Ok(())
    }

    /// Charge an event that is kept for the outside.
    pub(crate) fn charge_publication(&mut self, event: &str, data: &str) -> Result<(), Interrupt> {
        self.budget.charge_staged([event, data])
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

    /// Keep a receipt, with its hash for the audit log. Returns its id.
    pub fn receipt(
        &mut self,
        subject: &str,
        body: String,
        hash: Option<ReceiptHash>,
    ) -> Result<u64, Interrupt> {
        check_count(
            "receipts",
            self.staged.receipts.len(),
            limits::RECEIPTS_PER_TURN_MAX,
        )?;
        self.budget.charge_staged([subject, body.as_str()])?;
        let id = self.shared.fresh_id();
        self.staged.receipts.push(Receipt {
            id,
            subject: subject.into(),
            at: self.now,
            body: body.into(),
        });
        self.staged.receipt_hashes.extend(hash);
        Ok(id)
    }

    /// Write an entry of the audit log. It is on disk with the turn's effects, or neither is.
    pub fn audit(&mut self, body: String) -> Result<(), Interrupt> {
        check_count(
            "entries of the audit log",
            self.staged.audit.len(),
            limits::AUDIT_ENTRIES_PER_TURN_MAX,
        )?;
        self.budget.charge_staged([body.as_str()])?;
        self.staged.audit.push(AuditEntry {
            at: self.now,
            body: body.into(),
        });
        Ok(())
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

    fn touch(&mut self, key: DocumentKey, hold: bool) -> Result<&mut AccessedDocument, Interrupt> {
        let at = match self.touched.get_index_of(&key) {
            Some(at) => at,
            None => self.touch_first(key, hold)?,
        };
        if hold && !self.touched[at].held {
            self.hold(at)?;
        }
        Ok(&mut self.touched[at])
    }

    /// Read a document for the first time in this turn. Returns its index.
    fn touch_first(&mut self, key: DocumentKey, hold: bool) -> Result<usize, Interrupt> {
        if self.touched.len() >= limits::DOCUMENTS_PER_TURN_MAX {
            return Err(Interrupt::Misuse(format!(
                "a turn may touch {} documents and this one wants more",
                limits::DOCUMENTS_PER_TURN_MAX
            )));
        }
        let cell = self
            .shared
            .documents
            .cell(&key, &*self.shared.environment.store)
            .map_err(|e| Interrupt::Store(e.to_string()))?;
        let touch = self.look(cell, hold)?;
        // The bodies that a turn has read stay in memory until it ends.
        let seen = touch.seen.as_ref().map_or(0, |body| body.len());
        let (at, before) = self.touched.insert_full(key, touch);
        assert!(
            before.is_none(),
            "turn {} reads a document for the first time twice",
            self.id
        );
        self.budget.charge(seen)?;
        Ok(at)
    }

    /// Read a document. Waits for a moment if another turn holds it.
    fn look(&mut self, cell: Arc<Cell>, hold: bool) -> Result<AccessedDocument, Interrupt> {
        let wait = Duration::from_micros(self.shared.limits.lock_wait_us);
        let Some(sight) = cell.look_within(self.id, hold, wait) else {
            self.blocked = Some(cell);
            return Err(Interrupt::Conflict);
        };
        Ok(AccessedDocument {
            cell,
            version: sight.version,
            seen: sight.body,
            held: sight.held,
            write: None,
        })
    }

    /// Lock a document that was only read so far, by its index. Does not wait: another turn that holds it is about to write
    /// it, and then this one has read what is outdated.
    fn hold(&mut self, at: usize) -> Result<(), Interrupt> {
        let touch = &self.touched[at];
        assert!(
            touch.write.is_none(),
            "turn {} has written document {:?} and is yet to hold it",
            self.id,
            touch.cell.key.id
        );
        let (cell, version) = (touch.cell.clone(), touch.version);
        let Some(now) = cell.look(self.id, true) else {
            self.blocked = Some(cell);
            return Err(Interrupt::Conflict);
        };
        self.touched[at].held = true;
        if now.version != version {
            self.blocked = Some(cell);
            return Err(Interrupt::Conflict);
        }
        Ok(())
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
