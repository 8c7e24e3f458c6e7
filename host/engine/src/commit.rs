//! Group commit: the log of executed turns that wait for the disk.
//!
//! The committer takes all waiting turns, in log order, and merges them into one group (`merging`). It writes the group in one transaction. After
//! that it releases the turns' outputs: answers and outbound requests. The next group forms meanwhile. A store that
//! takes groups ahead gets the next one while it makes this one durable; outputs still wait for their own group.
//!
//! A group is written when its first turn has waited for `commit_linger_us`. It is written sooner when an answer or
//! an outbound request waits for it and no running turn could still join it. So turns that only book something share
//! the write of the next turn that has an output.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::answers::Unanswered;
use crate::history::Record;
use crate::ids::{CollectionId, DocumentKey, Lsn, Name};
use crate::limits;
use crate::network::OutboundRequest;
use crate::publications::Publication;
use crate::receipts::ReceiptHash;
use crate::reminders::ReminderChange;
use crate::scan::Scanned;
use crate::spans::TurnSpan;
use crate::stimulus::{Delivery, Failure, Reply, Waiter};
use crate::store::{AuditEntry, DeadLetter, DocumentWrite, Receipt};
use crate::sync::{Condvar, Mutex};
use crate::validate::Conflict;

/// Turns for which a new group has room from its beginning.
const ROOM_MAX: usize = 1_024;

/// The effects of one executed turn, to be written and then released.
#[derive(Default)]
pub(crate) struct Executed {
    pub writes: Vec<DocumentWrite>,
    /// The delivery that the turn handled.
    pub handled: Option<Arc<Delivery>>,
    pub deliveries: Vec<Arc<Delivery>>,
    pub reminders: Vec<ReminderChange>,
    pub outbound: Vec<Arc<OutboundRequest>>,
    /// The answer for which `outbound` waits, if it waits for one.
    pub answer: Option<Arc<Unanswered>>,
    pub receipts: Vec<Receipt>,
    /// Of the receipts that the audit log is to have.
    pub receipt_hashes: Vec<ReceiptHash>,
    pub audit: Vec<AuditEntry>,
    pub publications: Vec<Publication>,
    pub dead_letters: Vec<DeadLetter>,
    pub dead_letters_removed: Vec<u64>,
    pub history: Option<Arc<Record>>,
    /// The span, if the tracing system records the turn.
    pub span: Option<TurnSpan>,
}

/// The waiter for a turn, and its answer.
pub(crate) type Answer = (Waiter, Reply);

#[derive(Default)]
struct State {
    /// The position of the last executed turn.
    last: Lsn,
    waiting: Vec<Executed>,
    answers: Vec<Answer>,
    /// Whether one of the waiting turns has an output: an answer, or an outbound request.
    has_output: bool,
    /// When the first waiting turn was appended, on the monotonic clock.
    since_us: u64,
    /// The groups that are being written now, the oldest first. More than one if the store takes groups ahead.
    writing: VecDeque<Writing>,
    committed: Lsn,
    closed: bool,
    /// Whether the waiting turns were dropped.
    given_up: bool,
    /// The open scans: the positions at which they began, and how many began at each.
    watches: BTreeMap<Lsn, usize>,
    /// The writes of committed turns since the oldest open scan.
    remembered: VecDeque<Written>,
    /// The last position whose writes are no longer all remembered.
    forgotten: Lsn,
}

/// A group that is being written.
struct Writing {
    /// Its last position.
    lsn: Lsn,
    turns: Arc<Vec<Executed>>,
    /// When the first of its turns was appended.
    since_us: u64,
}

/// A write of a committed turn.
struct Written {
    lsn: Lsn,
    collection: CollectionId,
    id: Name,
}

impl State {
    /// The turns that are not on disk, in the order of the log.
    fn unwritten(&self) -> impl Iterator<Item = &Executed> {
        let writing = self.writing.iter().flat_map(|group| group.turns.iter());
        writing.chain(&self.waiting)
    }

    fn unwritten_count(&self) -> usize {
        let writing = self.writing.iter().map(|group| group.turns.len());
        writing.sum::<usize>() + self.waiting.len()
    }

    /// Assert that positions are consecutive.
    fn assert_order(&self) {
        let unwritten = self.unwritten_count() as u64;
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
        for (lsn, turn) in (self.committed.0 + 1..).zip(self.unwritten()) {
            if lsn > oldest.0 {
                for write in &turn.writes {
                    look(Lsn(lsn), write.collection, &write.id);
                }
            }
        }
        (found, oldest < self.forgotten)
    }

    /// Remember the writes of the group that is on disk now, for the validation of open scans.
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
        let Some(writing) = self.writing.front().map(|group| group.turns.clone()) else {
            return;
        };
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

    /// Forget writes that no open scan needs.
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

/// The log under its lock: no turn can be appended meanwhile.
pub(crate) struct LockedLog<'a>(&'a State);

impl LockedLog<'_> {
    /// Those of the scanned documents that a turn has written since they were scanned, and whether there
    /// may be more of them.
    pub fn written_since(&self, scans: &[Scanned]) -> (Vec<DocumentKey>, bool) {
        self.0.written_since(scans)
    }
}

/// Why a turn was not appended.
pub(crate) enum AppendError {
    /// The log is closed.
    Closed(Refused),
    /// The turn has a conflict and must run again. Its waiter still waits.
    Outdated(Conflict, Option<Answer>),
}

/// A turn that the closed log has refused. It is not on disk and never will be.
#[must_use = "somebody may wait for it"]
pub(crate) struct Refused(Option<Answer>);

impl Refused {
    /// Tell the waiter. Call it without a lock.
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
    /// For the committer: there is something to write, or nobody to wait for.
    signal: Condvar,
    /// For [`Self::wait_until_durable`]: more is on disk, or nothing more will be.
    durable: Condvar,
}

/// Turns that are written together.
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

    /// Append a turn that needs no validation: a failure, or an operator's decision.
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

    /// Append an executed turn, unless it has a conflict.
    ///
    /// `in_the_way` validates the turn under the log's lock, so the order of the log is the order in which turns
    /// happened. A turn has the locks of its writes before it is appended and until they are visible. So the
    /// validation of another turn sees either the lock or the write.
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
        state.has_output |= answer.is_some() || !turn.outbound.is_empty();
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

    /// Look at the log under its lock.
    pub fn look<T>(&self, look: impl FnOnce(&LockedLog<'_>) -> T) -> T {
        look(&LockedLog(&self.state.lock()))
    }

    /// Begin a scan: writes are remembered until `unwatch`. Returns the last position of the log.
    pub fn watch(&self) -> Lsn {
        let mut state = self.state.lock();
        let last = state.last;
        *state.watches.entry(last).or_default() += 1;
        last
    }

    /// End a scan that began at this position.
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

    /// How long the oldest uncommitted turn has waited.
    pub fn oldest_waits(&self, now_us: u64) -> Option<Duration> {
        let state = self.state.lock();
        let since_us = match (state.writing.front(), state.waiting.is_empty()) {
            (Some(group), _) => group.since_us,
            (None, false) => state.since_us,
            (None, true) => return None,
        };
        Some(Duration::from_micros(now_us.saturating_sub(since_us)))
    }

    /// Note that no turn is running. A committer that waits for more turns writes now.
    pub fn idle(&self) {
        // Under the lock, so that the signal cannot come between a committer's look and its wait.
        let state = self.state.lock();
        if state.has_output {
            self.signal.notify_all();
        }
    }

    /// How many turns are uncommitted, those being written included.
    pub fn uncommitted(&self) -> usize {
        self.state.lock().unwritten_count()
    }

    /// The position of the last executed turn.
    pub fn last(&self) -> Lsn {
        self.state.lock().last
    }

    pub fn committed(&self) -> Lsn {
        self.state.lock().committed
    }

    /// Take all waiting turns, if there are any.
    pub fn take(&self) -> Option<Batch> {
        let mut state = self.state.lock();
        if state.waiting.is_empty() {
            return None;
        }
        // The next group is likely to be as large. It would grow step by step under the log's lock.
        let room = Vec::with_capacity(state.waiting.len().min(ROOM_MAX));
        let turns = Arc::new(std::mem::replace(&mut state.waiting, room));
        let group = Writing {
            lsn: state.last,
            turns: turns.clone(),
            since_us: state.since_us,
        };
        state.writing.push_back(group);
        state.has_output = false;
        state.assert_order();
        Some(Batch {
            lsn: state.last,
            turns,
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
            if state.closed || waited >= linger_us || (state.has_output && idle()) {
                return true;
            }
            let rest = std::time::Duration::from_micros(linger_us - waited);
            self.signal.wait_for(&mut state, rest);
        }
    }

    /// Note that the oldest batch that is being written is on disk.
    pub fn written(&self, lsn: Lsn) {
        let mut state = self.state.lock();
        let last = state.writing.front().map(|group| group.lsn);
        assert!(
            last == Some(lsn),
            "a group through position {} is on disk, and it was to go through {last:?}",
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
        state.writing.pop_front();
        drop(state);
        self.durable.notify_all();
    }

    /// Wait until all turns that are executed now are on disk. False if they never will be.
    pub fn wait_until_durable(&self) -> bool {
        let mut state = self.state.lock();
        let last = state.last;
        if state.committed < last {
            // This wait is an output too.
            state.has_output = true;
            self.signal.notify_all();
        }
        while state.committed < last {
            if state.given_up {
                return false;
            }
            self.durable.wait(&mut state);
        }
        true
    }

    /// Append no more turns. Those that wait are still written.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.signal.notify_all();
    }

    /// Append no more turns, and drop those that wait. Returns their waiters.
    pub fn give_up(&self) -> Vec<Refused> {
        let mut state = self.state.lock();
        state.closed = true;
        state.given_up = true;
        state.waiting.clear();
        let answers = std::mem::take(&mut state.answers);
        drop(state);
        self.signal.notify_all();
        self.durable.notify_all();
        answers.into_iter().map(|a| Refused(Some(a))).collect()
    }

    /// The last position of the log, and the newest uncommitted write of each document that `pick` selects.
    pub fn uncommitted_writes(
        &self,
        pick: impl Fn(&DocumentWrite) -> bool,
    ) -> (Lsn, HashMap<Name, DocumentWrite>) {
        let state = self.state.lock();
        let newest = state
            .unwritten()
            .flat_map(|turn| &turn.writes)
            .filter(|write| pick(write))
            .map(|write| (write.id.clone(), write.clone()))
            .collect();
        (state.last, newest)
    }
}
