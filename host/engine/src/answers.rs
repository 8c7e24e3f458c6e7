//! Answers before what their requests cause to be sent.
//!
//! A client that is sent something about its request before it has the answer may not know what that is
//! about. The engine does not know whose client is at which destination. So where the answer's leaving is
//! told ([`Engine::submit_answered`](crate::Engine::submit_answered)), whatever the request's turn causes to
//! be sent, by itself or by events in a row, waits for it: until the answer was handed over or nobody is there
//! to take it, and no longer than [`ANSWER_LEAVES_MS_MAX`]. In that time nothing waits but what this very
//! request has caused.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::engine::WeakEngine;
use crate::fatal::Critical;
use crate::limits::ANSWER_LEAVES_MS_MAX;
use crate::network::OutboundRequest;
use crate::sync::{AtomicUsize, Mutex};

/// A request whose answer has not left.
#[derive(Default)]
pub(crate) struct Unanswered(Mutex<State>);

#[derive(Default)]
struct State {
    /// The answer has left, or nobody waits for that any more.
    left: bool,
    /// What waits for it, on disk, in the order in which it came there.
    waiting: Vec<Arc<OutboundRequest>>,
}

impl std::fmt::Debug for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unanswered")
    }
}

/// An answer that is on its way. Dropped when it has been handed over to whoever asked, or never will be:
/// from then on what the request has caused to be sent leaves.
#[must_use = "what waits for the answer leaves when this is dropped"]
pub struct Answering {
    engine: WeakEngine,
    request: Arc<Unanswered>,
}

impl Answering {
    pub(crate) fn new(engine: WeakEngine, request: Arc<Unanswered>) -> Self {
        Self { engine, request }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // What is on disk is to be sent, whatever else becomes of the thread that drops this.
        let _critical = Critical::begin();
        if let Some(engine) = self.engine.get() {
            for request in engine.shared.answers.left(&self.request) {
                engine.send_out(request);
            }
        }
    }
}

/// What waits for all answers.
pub(crate) struct Answers {
    /// Requests for whose answers something waits, with the instant at which it waits no longer, the next
    /// first.
    until: Mutex<VecDeque<(u64, Arc<Unanswered>)>>,
    /// How much waits in all.
    waiting: AtomicUsize,
    waiting_max: usize,
}

impl Answers {
    /// Nothing waits; beyond this bound nothing more does.
    pub fn new(waiting_max: usize) -> Self {
        Self {
            until: Mutex::default(),
            waiting: AtomicUsize::new(0),
            waiting_max,
        }
    }

    /// Whether something that is to be sent waits for this request's answer. Else it may leave now.
    pub fn keeps(
        &self,
        request: &Arc<Unanswered>,
        sent: &Arc<OutboundRequest>,
        now_us: u64,
    ) -> bool {
        let mut state = request.0.lock();
        if state.left || self.waiting.load(Ordering::Relaxed) >= self.waiting_max {
            return false;
        }
        self.waiting.fetch_add(1, Ordering::Relaxed);
        state.waiting.push(sent.clone());
        let first = state.waiting.len() == 1;
        drop(state);
        if first {
            let until_us = now_us.saturating_add(ANSWER_LEAVES_MS_MAX * 1_000);
            self.until.lock().push_back((until_us, request.clone()));
        }
        true
    }

    /// The answer has left: what waited for it.
    pub fn left(&self, request: &Unanswered) -> Vec<Arc<OutboundRequest>> {
        let mut state = request.0.lock();
        state.left = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        let before = self.waiting.fetch_sub(waiting.len(), Ordering::Relaxed);
        assert!(
            before >= waiting.len(),
            "{} requests wait for an answer, and {before} for all answers",
            waiting.len()
        );
        waiting
    }

    /// What has waited long enough for an answer that has not left.
    pub fn overdue(&self, now_us: u64) -> Vec<Arc<OutboundRequest>> {
        let mut overdue = Vec::new();
        while let Some(request) = self.next_overdue(now_us) {
            overdue.extend(self.left(&request));
        }
        overdue
    }

    /// The next request whose time is over. Those that were answered meanwhile are forgotten.
    fn next_overdue(&self, now_us: u64) -> Option<Arc<Unanswered>> {
        let mut until = self.until.lock();
        let (until_us, request) = until.front()?;
        let over = *until_us <= now_us || is_answered(request);
        over.then(|| until.pop_front()).flatten().map(|(_, r)| r)
    }

    /// When something has waited long enough next, on the monotonic clock.
    pub fn next_due_us(&self) -> Option<u64> {
        let until = self.until.lock();
        let unanswered = until.iter().find(|(_, request)| !is_answered(request));
        unanswered.map(|(until_us, _)| *until_us)
    }

    /// How much waits for answers to leave.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

fn is_answered(request: &Unanswered) -> bool {
    request.0.lock().left
}
