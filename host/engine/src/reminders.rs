//! The reminders of the executed state.
//!
//! | State | What happens | Next state |
//! | --- | --- | --- |
//! | (none) | a turn sets it | waiting |
//! | waiting | it is due and fires | fired: its turn is ready or running |
//! | fired | an earlier delivery blocks it (`pending`), and ends | waiting, due at once |
//! | fired | its turn is executed | (none) |
//! | waiting, fired | a turn sets it again | waiting, with a new generation |
//! | waiting, fired | a turn cancels it | (none) |
//!
//! The delivery of a fired reminder names its generation. It has no effect if the reminder was set again or
//! cancelled meanwhile.

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::ids::Name;
use crate::stimulus::LivePayload;
use crate::store::StoredReminder;
use crate::time::Timestamp;

/// A change that a turn makes to reminders.
#[derive(Clone, Debug)]
pub(crate) enum ReminderChange {
    Set(Arc<StoredReminder>),
    Cancel { component: Name, id: Name },
}

/// All reminders of the executed state.
#[derive(Default)]
pub(crate) struct Reminders {
    entries: HashMap<(Name, Name), Arc<StoredReminder>>,
    due: BTreeSet<(Timestamp, Name, Name)>,
}

impl Reminders {
    pub fn set(&mut self, reminder: Arc<StoredReminder>) {
        let key = (reminder.component.clone(), reminder.id.clone());
        if let Some(before) = self.entries.get(&key) {
            assert!(
                before.generation != reminder.generation,
                "reminder {:?} of {} is set twice as generation {}",
                key.1,
                key.0,
                reminder.generation
            );
        }
        self.cancel(&key.0, &key.1);
        let is_new = self
            .due
            .insert((reminder.due, key.0.clone(), key.1.clone()));
        assert!(
            is_new,
            "reminder {:?} of {} is due twice at {}",
            key.1, key.0, reminder.due
        );
        self.entries.insert(key, reminder);
        self.assert_all_there();
    }

    /// Assert that each entry of the due times has its reminder.
    fn assert_all_there(&self) {
        assert!(
            self.due.len() <= self.entries.len(),
            "{} reminders are due and {} are there",
            self.due.len(),
            self.entries.len()
        );
    }

    /// Remove a reminder. Returns whether there was one. A fired one that is not handled yet never will be.
    pub fn cancel(&mut self, component: &Name, id: &Name) -> bool {
        let Some(reminder) = self.entries.remove(&(component.clone(), id.clone())) else {
            return false;
        };
        self.due
            .remove(&(reminder.due, component.clone(), id.clone()));
        self.assert_all_there();
        true
    }

    /// Whether a turn that cancels the reminder now prevents its turn. `own` is the generation of the reminder
    /// that the cancelling turn itself handles, if it does.
    pub fn waits(&self, component: &Name, id: &Name, own: Option<u64>) -> bool {
        self.entries
            .get(&(component.clone(), id.clone()))
            .is_some_and(|reminder| Some(reminder.generation) != own)
    }

    /// Apply a turn's changes.
    pub fn apply(&mut self, changes: &[ReminderChange]) {
        for change in changes {
            match change {
                ReminderChange::Set(reminder) => self.set(reminder.clone()),
                ReminderChange::Cancel { component, id } => {
                    self.cancel(component, id);
                }
            }
        }
    }

    /// Whether this very reminder has fired and not been replaced, cancelled or handled since.
    pub fn is_current(&self, component: &Name, id: &Name, generation: u64) -> bool {
        self.entries
            .get(&(component.clone(), id.clone()))
            .is_some_and(|reminder| reminder.generation == generation)
    }

    /// Fire reminders that are due, at most `most`.
    pub fn fire(&mut self, now: Timestamp, most: usize) -> Vec<Arc<StoredReminder>> {
        let mut fired = Vec::new();
        while fired.len() < most
            && let Some(first) = self.due.first()
            && first.0 <= now
        {
            let Some((due, component, id)) = self.due.pop_first() else {
                break;
            };
            let key = (component, id);
            let Some(reminder) = self.entries.get(&key) else {
                panic!("reminder {:?} of {} is due and is not there", key.1, key.0);
            };
            assert!(
                reminder.due == due,
                "reminder {:?} of {} fires at {} and is due at {}",
                key.1,
                key.0,
                due.0,
                reminder.due.0
            );
            fired.push(reminder.clone());
        }
        fired
    }

    /// Fire this one, due or not.
    pub fn take(&mut self, component: &Name, id: &Name) -> Option<Arc<StoredReminder>> {
        let key = (component.clone(), id.clone());
        let reminder = self.entries.get(&key)?.clone();
        self.due.remove(&(reminder.due, key.0, key.1));
        Some(reminder)
    }

    /// Make a fired reminder due again, if it is still current.
    pub fn again(&mut self, component: &Name, id: &Name, generation: u64) {
        let key = (component.clone(), id.clone());
        let wanted = self.entries.get(&key);
        if let Some(reminder) = wanted.filter(|reminder| reminder.generation == generation) {
            self.due.insert((reminder.due, key.0, key.1));
            self.assert_all_there();
        }
    }

    /// When the next one is due.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|first| first.0)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.due.len()
    }
}

impl LivePayload for StoredReminder {
    fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stimulus::Trace;

    fn reminder(id: &str, due: u64, generation: u64) -> Arc<StoredReminder> {
        Arc::new(StoredReminder {
            component: "c".into(),
            id: id.into(),
            due: Timestamp(due),
            generation,
            payload: String::new(),
            subjects: vec![],
            trace: Trace::default(),
        })
    }

    #[test]
    fn a_replaced_reminder_does_not_fire_and_its_successor_does() {
        let mut reminders = Reminders::default();
        reminders.set(reminder("a", 10, 1));
        reminders.set(reminder("a", 20, 2));
        assert!(reminders.fire(Timestamp(15), 9).is_empty());
        assert_eq!(reminders.fire(Timestamp(20), 9)[0].generation, 2);
        assert!(reminders.fire(Timestamp(99), 9).is_empty(), "it fires once");
        assert!(!reminders.is_current(&"c".into(), &"a".into(), 1));
        assert!(reminders.is_current(&"c".into(), &"a".into(), 2));
    }

    #[test]
    fn a_fired_reminder_can_be_cancelled_until_handled() {
        let mut reminders = Reminders::default();
        let (component, id): (Name, Name) = ("c".into(), "a".into());
        reminders.set(reminder("a", 10, 1));
        assert_eq!(reminders.fire(Timestamp(10), 9).len(), 1);
        assert!(reminders.waits(&component, &id, None));
        assert!(!reminders.waits(&component, &id, Some(1)), "its own turn");
        assert!(reminders.cancel(&component, &id));
        assert!(!reminders.is_current(&component, &id, 1));
        reminders.set(reminder("a", 10, 2));
        assert_eq!(reminders.fire(Timestamp(10), 9).len(), 1);
        assert!(reminders.is_current(&component, &id, 2));
        assert!(reminders.cancel(&component, &id), "as when it is handled");
        assert!(!reminders.cancel(&component, &id));
    }
}
