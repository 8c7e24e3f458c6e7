//! Reminders that wait, and those that have fired but have not been handled yet.

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

struct Entry {
    reminder: Arc<StoredReminder>,
    fired: bool,
}

/// All reminders of the executed state.
#[derive(Default)]
pub(crate) struct Reminders {
    entries: HashMap<(Name, Name), Entry>,
    due: BTreeSet<(Timestamp, Name, Name)>,
}

impl Reminders {
    pub fn set(&mut self, reminder: Arc<StoredReminder>) {
        let key = (reminder.component.clone(), reminder.id.clone());
        self.cancel(&key.0, &key.1);
        self.due
            .insert((reminder.due, key.0.clone(), key.1.clone()));
        let entry = Entry {
            reminder,
            fired: false,
        };
        self.entries.insert(key, entry);
    }

    /// Forget a reminder. Answers whether it was still waiting.
    pub fn cancel(&mut self, component: &Name, id: &Name) -> bool {
        let Some(entry) = self.entries.remove(&(component.clone(), id.clone())) else {
            return false;
        };
        self.due
            .remove(&(entry.reminder.due, component.clone(), id.clone()));
        !entry.fired
    }

    /// Whether the reminder waits.
    pub fn waits(&self, component: &Name, id: &Name) -> bool {
        self.entries
            .get(&(component.clone(), id.clone()))
            .is_some_and(|entry| !entry.fired)
    }

    /// Whether this very reminder has fired and not been replaced, cancelled or handled since.
    pub fn is_current(&self, component: &Name, id: &Name, generation: u64) -> bool {
        self.entries
            .get(&(component.clone(), id.clone()))
            .is_some_and(|entry| entry.reminder.generation == generation)
    }

    /// The reminder has been handled. Answers whether it was still the current one.
    pub fn handled(&mut self, component: &Name, id: &Name, generation: u64) -> bool {
        let current = self.is_current(component, id, generation);
        if current {
            self.cancel(component, id);
        }
        current
    }

    /// Take what is due.
    pub fn fire(&mut self, now: Timestamp) -> Vec<Arc<StoredReminder>> {
        let mut fired = Vec::new();
        while let Some(first) = self.due.first()
            && first.0 <= now
        {
            let Some((_, component, id)) = self.due.pop_first() else {
                break;
            };
            if let Some(entry) = self.entries.get_mut(&(component, id)) {
                entry.fired = true;
                fired.push(entry.reminder.clone());
            }
        }
        fired
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

    fn reminder(id: &str, due: u64, generation: u64) -> Arc<StoredReminder> {
        Arc::new(StoredReminder {
            component: "c".into(),
            id: id.into(),
            due: Timestamp(due),
            generation,
            payload: String::new(),
            subjects: vec![],
        })
    }

    #[test]
    fn a_replaced_reminder_does_not_fire_and_its_successor_does() {
        let mut reminders = Reminders::default();
        reminders.set(reminder("a", 10, 1));
        reminders.set(reminder("a", 20, 2));
        assert!(reminders.fire(Timestamp(15)).is_empty());
        assert_eq!(reminders.fire(Timestamp(20))[0].generation, 2);
        assert!(reminders.fire(Timestamp(99)).is_empty(), "it fires once");
        assert!(!reminders.is_current(&"c".into(), &"a".into(), 1));
        assert!(reminders.is_current(&"c".into(), &"a".into(), 2));
    }

    #[test]
    fn a_fired_reminder_counts_as_elapsed_when_it_is_cancelled() {
        let mut reminders = Reminders::default();
        reminders.set(reminder("a", 10, 1));
        assert_eq!(reminders.fire(Timestamp(10)).len(), 1);
        assert!(!reminders.cancel(&"c".into(), &"a".into()));
        assert!(!reminders.handled(&"c".into(), &"a".into(), 1));
    }
}
