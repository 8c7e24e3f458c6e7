//! How executed turns reach the disk: the log of turns that wait, and the groups made of them.
//!
//! A committer takes all turns that wait, in log order, merges them into one [`Group`] (the last
//! write of each document, the deliveries that are still pending), writes it in one transaction,
//! and only then lets the turns' outputs go: answers to requests, outbound requests. The next
//! group forms meanwhile. A group is written when no turn is running that could still join it, or
//! when its first turn has waited for `commit_linger_us`.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::answers::Unanswered;
use crate::history::Record;
use crate::ids::{CollectionId, DocumentKey, Lsn, Name};
use crate::limits;
use crate::network::OutboundRequest;
use crate::reminders::ReminderChange;
use crate::scan::Scanned;
use crate::spans::TurnSpan;
use crate::stimulus::{Cause, Delivery, Failure, Reply, Waiter};
use crate::store::{DeadLetter, DocumentWrite, Group, Receipt};
use crate::sync::{Condvar, Mutex};
use crate::validate::Conflict;

/// What one executed turn leaves to be written and let go.
#[derive(Default)]
pub(crate) struct Executed {
    pub writes: Vec<DocumentWrite>,
    /// The delivery that the turn handled.
    pub handled: Option<Arc<Delivery>>,
    pub deliveries: Vec<Arc<Delivery>>,
    pub reminders: Vec<ReminderChange>,
    pub outbound: Vec<Arc<OutboundRequest>>,
    /// The answer for which `outbound` waits, if it does.
    pub answer: Option<Arc<Unanswered>>,
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
    /// The position of the last executed turn.
    last: Lsn,
    waiting: Vec<Executed>,
    answers: Vec<Answer>,
    /// When the first that waits began to, on the monotonic clock.
    since_us: u64,
    /// What is being written now.
    writing: Arc<Vec<Executed>>,
    /// When the first of those began to wait.
    writing_since_us: u64,
    committed: Lsn,
    closed: bool,
    /// Who scans: since which places, and how many since each.
    watches: BTreeMap<Lsn, usize>,
    /// What turns that are on disk have written since the oldest of these.
    remembered: VecDeque<Written>,
    /// The last position of which something should be remembered and is not.
    forgotten: Lsn,
}

/// That a turn has written a document.
struct Written {
    lsn: Lsn,
    collection: CollectionId,
    id: Name,
}

impl State {
    /// Assert that places follow one another.
    fn assert_order(&self) {
        let unwritten = (self.writing.len() + self.waiting.len()) as u64;
        assert!(
            self.last.0 == self.committed.0 + unwritten,
            "the log's last position is {}, with {unwritten} turns behind {}, which is on disk",
            self.last.0,
            self.committed.0
        );
    }

    /// Those of the scanned documents that a turn has written since they were scanned, and whether there
    /// may be more of them.
    fn written_since(&self, scans: &[Scanned]) -> (Vec<DocumentKey>, bool) {
        let Some(oldest) = scans.iter().map(|scan| scan.since).min() else {
            return (Vec::new(), false);
        };
        let mut found = Vec::new();
        let mut look = |lsn: Lsn, collection: CollectionId, id: &Name| {
            let seen_before = |scan: &&Scanned| {
                lsn > scan.since && collection == scan.collection && scan.range.contains(id)
            };
            if scans.iter().any(|scan| seen_before(&scan)) {
                let id = id.clone();
                found.push(DocumentKey { collection, id });
            }
        };
        for written in &self.remembered {
            look(written.lsn, written.collection, &written.id);
        }
        let unwritten = self.writing.iter().chain(&self.waiting);
        for (lsn, turn) in (self.committed.0 + 1..).zip(unwritten) {
            if lsn > oldest.0 {
                for write in &turn.writes {
                    look(Lsn(lsn), write.collection, &write.id);
                }
            }
        }
        (found, oldest < self.forgotten)
    }

    /// The group that was being written is on disk: remember of it what somebody who scans has to know.
    fn remember(&mut self) {
        let Some((oldest, _)) = self.watches.first_key_value() else {
            return;
        };
        let last = self.remembered.back().map_or(Lsn(0), |last| last.lsn);
        assert!(
            last <= self.committed,
            "what position {} has written is remembered, and the log is on disk through position {}",
            last.0,
            self.committed.0
        );
        let writing = self.writing.clone();
        for (lsn, turn) in (self.committed.0 + 1..).map(Lsn).zip(writing.iter()) {
            if lsn <= *oldest {
                continue;
            }
            let written = turn.writes.iter().map(|write| Written {
                lsn,
                collection: write.collection,
                id: write.id.clone(),
            });
            self.remembered.extend(written);
        }
        while self.remembered.len() > limits::WRITES_REMEMBERED_MAX {
            let Some(first) = self.remembered.pop_front() else {
                break;
            };
            assert!(
                first.lsn >= self.forgotten,
                "what position {} has written is forgotten after what position {} has",
                first.lsn.0,
                self.forgotten.0
            );
            self.forgotten = first.lsn;
        }
    }

    /// Forget what nobody has to know any more.
    fn forget(&mut self) {
        let Some((oldest, _)) = self.watches.first_key_value() else {
            self.remembered = VecDeque::new();
            return;
        };
        while self.remembered.front().is_some_and(|w| w.lsn <= *oldest) {
            self.remembered.pop_front();
        }
    }
}

/// What is in the log while it takes no other turn.
pub(crate) struct LockedLog<'a>(&'a State);

impl LockedLog<'_> {
    /// Those of the scanned documents that a turn has written since they were scanned, and whether there
    /// may be more of them.
    pub fn written_since(&self, scans: &[Scanned]) -> (Vec<DocumentKey>, bool) {
        self.0.written_since(scans)
    }
}

/// Why the log did not take a turn.
pub(crate) enum AppendError {
    /// It takes no more.
    Closed(Refused),
    /// What the turn saw is no longer so: it must run again. Who waits for it goes on waiting.
    Outdated(Conflict, Option<Answer>),
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

    /// Give a turn its position that saw no documents: its failure, or an operator's decision.
    pub fn append(
        &self,
        turn: Executed,
        answer: Option<Answer>,
        now_us: u64,
    ) -> Result<Lsn, Refused> {
        match self.append_if(turn, answer, now_us, |_| None) {
            Ok(lsn) => Ok(lsn),
            Err(AppendError::Closed(refused)) => Err(refused),
            Err(AppendError::Outdated(_, answer)) => Err(Refused(answer)),
        }
    }

    /// Give an executed turn its position, unless something is in its way.
    ///
    /// `in_the_way` looks while the log takes no other turn: this makes the log's order the one in which
    /// turns happened. What a turn writes it holds from before it comes here until it has written it, so
    /// whoever looks sees either that it is held or that it is written.
    pub fn append_if(
        &self,
        turn: Executed,
        answer: Option<Answer>,
        now_us: u64,
        in_the_way: impl FnOnce(&LockedLog<'_>) -> Option<Conflict>,
    ) -> Result<Lsn, AppendError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(AppendError::Closed(Refused(answer)));
        }
        if let Some(conflict) = in_the_way(&LockedLog(&state)) {
            return Err(AppendError::Outdated(conflict, answer));
        }
        state.assert_order();
        state.last = Lsn(state.last.0 + 1);
        if state.waiting.is_empty() {
            state.since_us = now_us;
        }
        state.waiting.push(turn);
        state.answers.extend(answer);
        assert!(
            state.answers.len() <= state.waiting.len(),
            "{} answers wait for the disk with {} turns",
            state.answers.len(),
            state.waiting.len()
        );
        let lsn = state.last;
        let first = state.waiting.len() == 1;
        drop(state);
        if first {
            self.signal.notify_all();
        }
        Ok(lsn)
    }

    /// Look at the log while it takes no turn.
    pub fn look<T>(&self, look: impl FnOnce(&LockedLog<'_>) -> T) -> T {
        look(&LockedLog(&self.state.lock()))
    }

    /// Somebody begins to scan: from now on what is written is remembered until `unwatch`. Returns the
    /// last position that is taken.
    pub fn watch(&self) -> Lsn {
        let mut state = self.state.lock();
        let last = state.last;
        *state.watches.entry(last).or_default() += 1;
        last
    }

    /// Somebody who began to scan at this position has ended.
    pub fn unwatch(&self, since: Lsn) {
        let mut state = self.state.lock();
        let Some(count) = state.watches.get_mut(&since) else {
            panic!("a scan that began at position {} ends twice", since.0);
        };
        *count -= 1;
        if *count == 0 {
            state.watches.remove(&since);
            state.forget();
        }
    }

    /// For how long the oldest turn that is not on disk has waited.
    pub fn oldest_waits(&self, now_us: u64) -> Option<Duration> {
        let state = self.state.lock();
        let since_us = match (state.writing.is_empty(), state.waiting.is_empty()) {
            (false, _) => state.writing_since_us,
            (true, false) => state.since_us,
            (true, true) => return None,
        };
        Some(Duration::from_micros(now_us.saturating_sub(since_us)))
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

    /// The position of the last executed turn.
    pub fn last(&self) -> Lsn {
        self.state.lock().last
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
        assert!(
            state.writing.is_empty(),
            "a group of {} turns is to be written while one of {} is being written",
            state.waiting.len(),
            state.writing.len()
        );
        state.writing = Arc::new(std::mem::take(&mut state.waiting));
        state.writing_since_us = state.since_us;
        state.assert_order();
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
        let last = state.committed.0 + state.writing.len() as u64;
        assert!(
            lsn.0 == last,
            "a group through position {} is on disk, and it was to go through {last}",
            lsn.0
        );
        assert!(
            lsn > state.committed,
            "a group through position {} is on disk, and so was the log through position {}",
            lsn.0,
            state.committed.0
        );
        state.remember();
        state.committed = lsn;
        state.writing = Arc::default();
    }

    /// Take no more turns; those that wait are still to be written.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.signal.notify_all();
    }

    /// Take no more turns, for those that wait will not be written either. Returns who waits for
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

    /// The last position that is taken, and the newest write that is not on disk of each document that
    /// `pick` picks.
    pub fn uncommitted_writes(
        &self,
        pick: impl Fn(&DocumentWrite) -> bool,
    ) -> (Lsn, HashMap<Name, DocumentWrite>) {
        let state = self.state.lock();
        let newest = state
            .writing
            .iter()
            .chain(&state.waiting)
            .flat_map(|turn| &turn.writes)
            .filter(|write| pick(write))
            .map(|write| (write.id.clone(), write.clone()))
            .collect();
        (state.last, newest)
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

    assert!(
        group.turns > 0 && group.lsn.0 >= group.turns as u64,
        "a group of {} turns ends at position {}",
        group.turns,
        group.lsn.0
    );
    for turn in batch.turns.iter() {
        for write in &turn.writes {
            let key = DocumentKey {
                collection: write.collection,
                id: write.id.clone(),
            };
            match documents.get(&key) {
                Some(&at) => {
                    let before = group.documents[at].version;
                    assert!(
                        write.version == before + 1,
                        "document {:?} of collection {} is written as version {} after version {before}",
                        write.id,
                        write.collection.0,
                        write.version
                    );
                    group.documents[at] = write.clone();
                }
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
                    assert!(
                        handled.insert(delivery.id),
                        "delivery {} to {} is handled by two turns of a group",
                        delivery.id,
                        delivery.component
                    );
                    assert!(
                        turn.deliveries.iter().all(|staged| staged.id > delivery.id),
                        "the turn that handles delivery {} has staged one with an earlier id",
                        delivery.id
                    );
                    if !created.contains(&delivery.id) {
                        group.deliveries_removed.push(delivery.id);
                    }
                }
                // The turn's own `reminders` say that it is gone, unless it was replaced.
                Cause::Reminder { .. } => {}
                Cause::Report { id } => {
                    assert!(
                        !staged.contains(id),
                        "request {id} is reported by the group that is to send it"
                    );
                    group.outbound_removed.push(*id);
                }
            }
        }
        group.outbound_added.extend(turn.outbound.iter().cloned());
        group.receipts.extend(turn.receipts.iter().cloned());
        group.history.extend(turn.history.iter().cloned());
        for letter in &turn.dead_letters {
            let (id, handled) = (letter.delivery.id, turn.handled.as_ref());
            assert!(
                handled.is_some_and(|handled| handled.id == id),
                "delivery {id} is parked by a turn that handles {:?}",
                handled.map(|handled| handled.id)
            );
        }
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
    assert!(
        group.deliveries_added.len() + handled.len()
            == created.len() + group.deliveries_removed.len(),
        "of {} new deliveries and {} that were handled, {} are to be added and {} to be removed",
        created.len(),
        handled.len(),
        group.deliveries_added.len(),
        group.deliveries_removed.len()
    );
    assert!(
        group.outbound_added.len() == staged.len(),
        "{} requests of a group have {} ids",
        group.outbound_added.len(),
        staged.len()
    );
    for letter in &group.dead_letters_added {
        let id = letter.delivery.id;
        assert!(
            !group.dead_letters_removed.contains(&id),
            "delivery {id} is parked and decided about in one group"
        );
    }
    for (key, change) in reminders {
        match change {
            ReminderChange::Set(reminder) => group.reminders_set.push((*reminder).clone()),
            ReminderChange::Cancel { .. } => group.reminders_removed.push(key),
        }
    }
    group
}
