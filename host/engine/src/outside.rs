//! Calls of services outside the host, such as a hardware security module, whose answers may take long.
//!
//! A turn holds locks, so it must not wait for such a service. Instead:
//!
//! | Step | What happens |
//! | --- | --- |
//! | 1 | The handler asks for an answer ([`Turn::outside`]) and is interrupted, because there is none yet. |
//! | 2 | The engine undoes the turn, which then holds nothing, and begins the call. |
//! | 3 | The answer comes. The turn runs again from its beginning, and the handler gets the answer. |
//!
//! All runs of the turn see the same instant and the same random bytes, so the handler asks the same again. If
//! it asks something else, because documents have changed, the answers from there on are forgotten. So no
//! call is made twice for one request. A delivery that is retried after a failure makes its calls again.
//!
//! What a turn has read may not be on disk yet, and a crash may lose it. So a call that cannot be taken back begins
//! after the commit of all that the turn can have read ([`Turn::outside_after_commit`]).
//!
//! The answers are in memory only. After a crash nobody knows them, and nothing of the turn is on disk. All turns have
//! one budget of memory for them: a turn beyond it fails, as if the service were away.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::commit::Executed;
use crate::engine::{Engine, Shared, WeakEngine};
use crate::queue::Job;
use crate::run::is_expired;
use crate::stimulus::{Failure, Reply, Waiter};
use crate::time::Timestamp;
use crate::turn::{Interrupt, Turn};
use crate::validate::conflict_now;

/// Calls of one turn.
const CALLS_MAX: usize = 16;
/// Calls that all runs of a turn may begin, those included whose answers were of no use.
const BEGUN_MAX: u32 = 32;
/// Random bytes that a turn with calls may draw.
const DRAWN_BYTES_MAX: usize = 64 * 1024;
/// Bytes that an answer takes beside its own, roughly.
const KEPT_BYTES: usize = 256;

/// Identifies a call among those of its turn: a hash of the operation and its arguments.
pub type CallHash = [u8; 32];

/// An answer, of a type that only the handler knows. The engine drops an answer that no turn needs any more.
pub trait OutsideAnswer: Any + Send + Sync {
    /// The bytes that it has in memory.
    fn bytes(&self) -> usize;

    /// A turn that got the answer has been executed.
    fn executed(&self) {}
}

/// Begins a call. It must not block: the answer is given later, by any thread.
pub type BeginCall = Box<dyn FnOnce(Answered) + Send>;

/// What a job remembers of the runs of its turn.
#[derive(Default)]
pub(crate) struct Remembered {
    /// The instant of the first run that made a call.
    now: Option<Timestamp>,
    /// The random bytes that were drawn, in order.
    drawn: Vec<u8>,
    answers: Vec<(CallHash, Kept)>,
    /// Calls that were begun, in all runs.
    begun: u32,
}

/// An answer that a turn has. It counts in the budget until it is dropped.
struct Kept {
    answer: Arc<dyn OutsideAnswer>,
    bytes: usize,
    all: Arc<AtomicUsize>,
}

impl Kept {
    /// Keep an answer, if there is room for it.
    fn of(answer: Arc<dyn OutsideAnswer>, shared: &Shared) -> Option<Self> {
        let bytes = answer.bytes().saturating_add(KEPT_BYTES);
        let all = shared.answer_bytes.clone();
        let most = shared.limits.answer_bytes_max;
        let room = |kept: usize| kept.checked_add(bytes).filter(|sum| *sum <= most);
        all.fetch_update(Ordering::AcqRel, Ordering::Acquire, room)
            .ok()?;
        Some(Self { answer, bytes, all })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let before = self.all.fetch_sub(self.bytes, Ordering::AcqRel);
        assert!(before >= self.bytes, "an answer was never counted");
    }
}

impl Remembered {
    /// Whether the next run gets an answer, which would be lost with the job.
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }
}

/// The calls of a turn that runs.
#[derive(Default)]
pub(crate) struct Calls {
    remembered: Remembered,
    /// Calls that this run has made so far.
    made: usize,
    /// Bytes of `drawn` that this run has drawn so far.
    drawn: usize,
    /// Whether more random bytes were drawn than are remembered.
    forgets: bool,
    /// The call without an answer that has interrupted the turn.
    begins: Option<Begins>,
}

/// A call that is to begin.
struct Begins {
    hash: CallHash,
    begin: BeginCall,
    /// Whether all that the turn can have read must be on disk first.
    after_commit: bool,
}

impl Calls {
    /// The calls of a turn that runs again.
    pub fn again(remembered: Remembered) -> Self {
        Self {
            remembered,
            ..Self::default()
        }
    }

    /// The instant of all runs of the turn, if it has made a call before.
    pub fn now(&self) -> Option<Timestamp> {
        self.remembered.now
    }

    /// Whether the turn waits for an answer.
    pub fn waits(&self) -> bool {
        self.begins.is_some()
    }

    /// What the turn's next run must know. Nothing if no call was made.
    pub fn remembered(self) -> Remembered {
        if self.remembered.now.is_none() {
            return Remembered::default();
        }
        self.remembered
    }

    /// Tell the answers that the turn has got that it has been executed.
    pub fn executed(&self) {
        for (_, kept) in self.remembered.answers.iter().take(self.made) {
            kept.answer.executed();
        }
    }

    /// Fill with the random bytes of the runs before. The rest is filled by `fresh`.
    pub fn draw(&mut self, bytes: &mut [u8], fresh: impl FnOnce(&mut [u8])) {
        let known = &self.remembered.drawn[self.drawn..];
        let (before, after) = bytes.split_at_mut(known.len().min(bytes.len()));
        before.copy_from_slice(&known[..before.len()]);
        self.drawn += before.len();
        fresh(after);
        if self.drawn + after.len() > DRAWN_BYTES_MAX {
            self.forgets = true;
        } else {
            self.remembered.drawn.extend_from_slice(after);
            self.drawn += after.len();
        }
    }

    /// The answer to the next call, if it is there. Otherwise the call is to begin.
    fn answer(
        &mut self,
        now: Timestamp,
        begins: Begins,
    ) -> Result<Arc<dyn OutsideAnswer>, Interrupt> {
        let nth = self.made;
        if let Some((known, kept)) = self.remembered.answers.get(nth) {
            if *known == begins.hash {
                self.made += 1;
                return Ok(kept.answer.clone());
            }
            self.remembered.answers.truncate(nth);
        }
        if nth >= CALLS_MAX {
            return Err(Interrupt::Misuse(format!(
                "a turn may make {CALLS_MAX} calls of services outside the host and this one wants more"
            )));
        }
        if self.remembered.begun >= BEGUN_MAX {
            return Err(Interrupt::Misuse(format!(
                "a turn asks services outside the host for something else in each run: it has begun {BEGUN_MAX} calls"
            )));
        }
        if self.forgets {
            return Err(Interrupt::Misuse(format!(
                "a turn that calls services outside the host may draw {DRAWN_BYTES_MAX} random bytes and this one has drawn more"
            )));
        }
        // What was drawn by earlier runs and not by this one is not drawn again in the same order.
        self.remembered.drawn.truncate(self.drawn);
        self.remembered.now = Some(now);
        self.remembered.begun += 1;
        self.begins = Some(begins);
        Err(Interrupt::Outside)
    }
}

impl Turn {
    /// The answer of a service outside the host. If it is not there yet, the handler must return at once; the
    /// engine then calls `begin`, and runs the turn again when the answer is there.
    ///
    /// # Errors
    /// [`Interrupt::Outside`] while there is no answer. [`Interrupt::Misuse`] when the turn makes too many calls.
    pub fn outside(
        &mut self,
        hash: CallHash,
        begin: BeginCall,
    ) -> Result<Arc<dyn OutsideAnswer>, Interrupt> {
        self.asks_outside(hash, begin, false)
    }

    /// As [`Self::outside`], for a call with an effect that nobody can take back: `begin` is called when all turns
    /// are on disk whose writes this turn can have read. The effect stays if this turn fails afterwards.
    ///
    /// # Errors
    /// As [`Self::outside`].
    pub fn outside_after_commit(
        &mut self,
        hash: CallHash,
        begin: BeginCall,
    ) -> Result<Arc<dyn OutsideAnswer>, Interrupt> {
        self.asks_outside(hash, begin, true)
    }

    fn asks_outside(
        &mut self,
        hash: CallHash,
        begin: BeginCall,
        after_commit: bool,
    ) -> Result<Arc<dyn OutsideAnswer>, Interrupt> {
        let begins = Begins {
            hash,
            begin,
            after_commit,
        };
        self.calls.answer(self.now, begins)
    }
}

/// Takes the answer of a call. If it is dropped without one, the turn fails.
#[must_use = "without an answer the turn fails"]
pub struct Answered {
    engine: WeakEngine,
    waiting: Option<(Box<Job>, CallHash)>,
}

impl Answered {
    /// Run the turn again with this answer.
    pub fn with(mut self, answer: Arc<dyn OutsideAnswer>) {
        if let Some((mut job, hash)) = self.waiting.take() {
            self.engine.ended("the answer of a call", |engine| {
                let Some(kept) = Kept::of(answer, &engine.shared) else {
                    return engine.fail(None, job, no_room(&engine.shared), 0);
                };
                job.remembered.answers.push((hash, kept));
                if let Err(job) = engine.shared.queue.push_answered_if_open(job) {
                    engine.turn_away(job);
                }
            });
        }
    }

    /// The call does not begin, because the engine ends.
    fn never(mut self, failure: Failure) {
        if let Some((job, _)) = self.waiting.take() {
            self.engine.ended("a call that does not begin", |engine| {
                engine.fail(None, job, failure, 0);
            });
        }
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        if let Some((job, _)) = self.waiting.take() {
            self.engine.ended("a call without an answer", |engine| {
                let failure = Failure::Away("it was called and gave no answer".into());
                engine.fail(None, job, failure, 0);
            });
        }
    }
}

impl WeakEngine {
    /// Do what follows the end of a call, on the thread of the service.
    fn ended(&self, what: &str, then: impl FnOnce(&Engine)) {
        let Some(engine) = self.get() else { return };
        let before = engine.shared.queue.outside.fetch_sub(1, Ordering::Relaxed);
        assert!(before > 0, "{what} comes for a turn that nobody counts");
        engine.shared.guarded(what, || then(&engine));
    }
}

fn no_room(shared: &Shared) -> Failure {
    Failure::Away(format!(
        "turns that wait have {} of {} bytes of answers: try again later",
        shared.answer_bytes.load(Ordering::Acquire),
        shared.limits.answer_bytes_max
    ))
}

impl Engine {
    /// Undo a turn that needs an answer from outside, and begin the call.
    pub(crate) fn call_outside(&self, mut turn: Turn, mut job: Box<Job>) {
        // What a turn asks for after outdated reads is not to be done.
        if let Some(conflict) = conflict_now(&self.shared, &turn) {
            return self.interrupted(turn, job, conflict);
        }
        if is_expired(&self.shared, &job) {
            // Nobody waits for what the call would be made for.
            return self.fail(Some(turn), job, Failure::Expired, 0);
        }
        if self.shared.answer_bytes.load(Ordering::Acquire) >= self.shared.limits.answer_bytes_max {
            // The answer would be of no use.
            let failure = no_room(&self.shared);
            return self.fail(Some(turn), job, failure, 0);
        }
        let mut calls = std::mem::take(&mut turn.calls);
        let Some(begins) = calls.begins.take() else {
            unreachable!("turn {} waits for a call that does not begin", turn.id);
        };
        job.remembered = calls.remembered();
        // Its locks are released before the call begins.
        drop(turn);
        let counters = &self.shared.counters;
        counters.outside_calls.fetch_add(1, Ordering::Relaxed);
        self.shared.queue.outside.fetch_add(1, Ordering::Relaxed);
        let answered = Answered {
            engine: self.weak(),
            waiting: Some((job, begins.hash)),
        };
        if begins.after_commit {
            self.begin_after_commit(begins.begin, answered);
        } else {
            (begins.begin)(answered);
        }
    }

    /// Begin a call when all turns that are executed now are on disk. If they never will be, it does not begin.
    fn begin_after_commit(&self, begin: BeginCall, answered: Answered) {
        let log = &self.shared.log;
        if log.committed() == log.last() {
            return begin(answered);
        }
        let committed: Waiter = Box::new(move |outcome| match outcome {
            Ok(_) => begin(answered),
            Err(failure) => answered.never(failure),
        });
        // A place in the log behind all of them, with nothing to write.
        let place = Executed::default();
        let now_us = self.shared.environment.clock.monotonic_us();
        let told = (committed, Box::new(()) as Reply);
        if let Err(refused) = log.append(place, Some(told), now_us) {
            refused.tell();
        }
    }
}
