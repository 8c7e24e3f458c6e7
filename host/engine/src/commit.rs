//! How executed turns reach the disk: the log of turns that wait, and the groups made of them.
//!
//! A committer takes all turns that wait, in log order, merges them into one [`Group`] (the last
//! write of each document, the deliveries that are still pending), writes it in one transaction,
//! and only then lets the turns' outputs go: answers to requests, requests to the outside. The next
//! group forms meanwhile. A group is written when no turn is running that could still join it, or
//! when its first turn has waited for `commit_linger_us`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use crate::history::Record;
use crate::ids::{DocumentKey, Lsn, Name};
use crate::network::OutboundRequest;
use crate::reminders::ReminderChange;
use crate::spans::TurnSpan;
use crate::stimulus::{Cause, Delivery, Failure, Reply, Waiter};
use crate::store::{DeadLetter, DocumentWrite, Group, Receipt};

/// What one executed turn leaves to be written and let go.
#[derive(Default)]
pub(crate) struct Executed {
    pub writes: Vec<DocumentWrite>,
    /// The delivery that the turn handled.
    pub handled: Option<Arc<Delivery>>,
    pub deliveries: Vec<Arc<Delivery>>,
    pub reminders: Vec<ReminderChange>,
    pub outbound: Vec<Arc<OutboundRequest>>,
    pub receipts: Vec<Receipt>,
    pub dead_letters: Vec<DeadLetter>,
    pub dead_letters_removed: Vec<u64>,
    pub history: Option<Arc<Record>>,
    /// For the tracing system, if it wants the turn.
    pub span: Option<TurnSpan>,
}

/// Who waits for a turn, and what to say.
pub(crate) type Answer = (Waiter, Reply);

#[derive(Default)]
struct State {
    /// The place of the last executed turn.
    last: Lsn,
    waiting: Vec<Executed>,
    answers: Vec<Answer>,
    /// When the first that waits began to, on the monotonic clock.
    since_us: u64,
    /// What is being written now.
    writing: Arc<Vec<Executed>>,
    committed: Lsn,
    closed: bool,
}

/// The log takes no more turns. Nothing of this one is or will be on disk.
#[must_use = "somebody may wait for it"]
pub(crate) struct Refused(Option<Answer>);

impl Refused {
    /// Tell who waits for it. Not to be called with a lock in hand.
    pub fn tell(self) {
        if let Some((waiter, _)) = self.0 {
            waiter(Err(Failure::Shutdown));
        }
    }
}

/// Executed turns that are not yet on disk.
#[derive(Default)]
pub(crate) struct Log {
    state: Mutex<State>,
    signal: Condvar,
}

/// Turns to be written together.
pub(crate) struct Batch {
    pub lsn: Lsn,
    pub turns: Arc<Vec<Executed>>,
    pub answers: Vec<Answer>,
}

impl Log {
    pub fn recovered(lsn: Lsn) -> Self {
        let log = Self::default();
        {
            let mut state = log.state.lock();
            state.last = lsn;
            state.committed = lsn;
        }
        log
    }

    /// Give an executed turn its place.
    pub fn append(
        &self,
        turn: Executed,
        answer: Option<Answer>,
        now_us: u64,
    ) -> Result<Lsn, Refused> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(Refused(answer));
        }
        state.last = Lsn(state.last.0 + 1);
        if state.waiting.is_empty() {
            state.since_us = now_us;
        }
        state.waiting.push(turn);
        state.answers.extend(answer);
        let lsn = state.last;
        let first = state.waiting.len() == 1;
        drop(state);
        if first {
            self.signal.notify_all();
        }
        Ok(lsn)
    }

    /// Nothing is running any more: a committer that lingers need not.
    pub fn idle(&self) {
        // Under the lock, so that it cannot fall between a committer's look and its sleep.
        let _state = self.state.lock();
        self.signal.notify_all();
    }

    /// How many turns wait for the disk, those being written included.
    pub fn uncommitted(&self) -> usize {
        let state = self.state.lock();
        state.waiting.len() + state.writing.len()
    }

    pub fn committed(&self) -> Lsn {
        self.state.lock().committed
    }

    /// All that wait, if any do.
    pub fn take(&self) -> Option<Batch> {
        let mut state = self.state.lock();
        if state.waiting.is_empty() {
            return None;
        }
        state.writing = Arc::new(std::mem::take(&mut state.waiting));
        Some(Batch {
            lsn: state.last,
            turns: state.writing.clone(),
            answers: std::mem::take(&mut state.answers),
        })
    }

    /// Wait until there is a group to write. False when the log is closed and empty.
    pub fn wait(&self, linger_us: u64, now_us: impl Fn() -> u64, idle: impl Fn() -> bool) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.waiting.is_empty() {
                if state.closed {
                    return false;
                }
                self.signal.wait(&mut state);
                continue;
            }
            let waited = now_us().saturating_sub(state.since_us);
            if state.closed || waited >= linger_us || idle() {
                return true;
            }
            let rest = std::time::Duration::from_micros(linger_us - waited);
            self.signal.wait_for(&mut state, rest);
        }
    }

    /// The batch is on disk. The caller still holds its turns.
    pub fn written(&self, lsn: Lsn) {
        let mut state = self.state.lock();
        state.committed = lsn;
        state.writing = Arc::default();
    }

    /// Take no more turns; those that wait are still to be written.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.signal.notify_all();
    }

    /// Take no more turns, for those that wait will not be written either. Answers who waits for
    /// them.
    pub fn give_up(&self) -> Vec<Refused> {
        let mut state = self.state.lock();
        state.closed = true;
        state.waiting.clear();
        let answers = std::mem::take(&mut state.answers);
        drop(state);
        self.signal.notify_all();
        answers.into_iter().map(|a| Refused(Some(a))).collect()
    }

    /// The newest write that is not on disk of each document that `pick` picks.
    pub fn uncommitted_writes(
        &self,
        pick: impl Fn(&DocumentWrite) -> bool,
    ) -> HashMap<Name, DocumentWrite> {
        let state = self.state.lock();
        state
            .writing
            .iter()
            .chain(&state.waiting)
            .flat_map(|turn| &turn.writes)
            .filter(|write| pick(write))
            .map(|write| (write.id.clone(), write.clone()))
            .collect()
    }
}

/// Merge turns into what must be written.
pub(crate) fn group(batch: &Batch) -> Group {
    let mut group = Group {
        lsn: batch.lsn,
        turns: batch.turns.len(),
        ..Group::default()
    };
    let mut documents: HashMap<DocumentKey, usize> = HashMap::new();
    let mut reminders: HashMap<(Name, Name), ReminderChange> = HashMap::new();
    let created: HashSet<u64> = batch
        .turns
        .iter()
        .flat_map(|turn| turn.deliveries.iter().map(|d| d.id))
        .collect();
    let mut handled: HashSet<u64> = HashSet::new();
    let staged: HashSet<u64> = batch
        .turns
        .iter()
        .flat_map(|turn| turn.outbound.iter().map(|o| o.id))
        .collect();

    for turn in batch.turns.iter() {
        for write in &turn.writes {
            let key = DocumentKey {
                collection: write.collection,
                id: write.id.clone(),
            };
            match documents.get(&key) {
                Some(&at) => group.documents[at] = write.clone(),
                None => {
                    documents.insert(key, group.documents.len());
                    group.documents.push(write.clone());
                }
            }
        }
        for change in &turn.reminders {
            let key = match change {
                ReminderChange::Set(r) => (r.component.clone(), r.id.clone()),
                ReminderChange::Cancel { component, id } => (component.clone(), id.clone()),
            };
            reminders.insert(key, change.clone());
        }
        if let Some(delivery) = &turn.handled {
            match &delivery.cause {
                Cause::Event => {
                    handled.insert(delivery.id);
                    if !created.contains(&delivery.id) {
                        group.deliveries_removed.push(delivery.id);
                    }
                }
                // The turn's own `reminders` say that it is gone, unless it was replaced.
                Cause::Reminder { .. } => {}
                Cause::Report { id } => {
                    assert!(!staged.contains(id), "a request is sent after its commit");
                    group.outbound_removed.push(*id);
                }
            }
        }
        group.outbound_added.extend(turn.outbound.iter().cloned());
        group.receipts.extend(turn.receipts.iter().cloned());
        group.history.extend(turn.history.iter().cloned());
        group
            .dead_letters_added
            .extend(turn.dead_letters.iter().cloned());
        group
            .dead_letters_removed
            .extend(&turn.dead_letters_removed);
    }
    let pending = batch.turns.iter().flat_map(|turn| &turn.deliveries);
    group.deliveries_added = pending
        .filter(|delivery| !handled.contains(&delivery.id))
        .cloned()
        .collect();
    for (key, change) in reminders {
        match change {
            ReminderChange::Set(reminder) => group.reminders_set.push((*reminder).clone()),
            ReminderChange::Cancel { .. } => group.reminders_removed.push(key),
        }
    }
    group
}
