//! What a turn stages beside documents: reminders, outbound requests, events, receipts and entries of the audit log. All
//! of it happens when the turn is executed, or none of it.

use std::sync::Arc;

use super::{Interrupt, Turn};
use crate::budget::{check_count, check_id};
use crate::history::Step;
use crate::ids::Name;
use crate::limits;
use crate::messages::{Given, Part};
use crate::network::{DeliveryPolicy, OutboundRequest, OwnSignature};
use crate::pending::Earlier;
use crate::receipts::ReceiptHash;
use crate::reminders::ReminderChange;
use crate::stimulus::{Cause, Delivery, Payload};
use crate::store::{AuditEntry, Receipt, StoredReminder};
use crate::time::Timestamp;

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

impl Turn {
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
}
