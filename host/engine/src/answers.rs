//! Sends an answer before the outbound requests that its request causes.
//!
//! A client that gets a callback before the answer to its request may not know what the callback is about.
//! The engine does not know which client is at which destination. So all outbound requests of the chain
//! that began with a request wait for its answer ([`Engine::submit_answered`](crate::Engine::submit_answered)).
//! They wait until the answer was written, the connection is gone, or [`ANSWER_LEAVES_MS_MAX`] is over.
//! Nothing else waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::engine::WeakEngine;
use crate::fatal::Critical;
use crate::limits::ANSWER_LEAVES_MS_MAX;
use crate::network::OutboundRequest;
use crate::sync::{AtomicUsize, Mutex};

/// A request whose answer is not written yet.
#[derive(Default)]
pub(crate) struct Unanswered(Mutex<State>);

#[derive(Default)]
struct State {
    /// Whether the answer was written, or nothing waits for it any more.
    left: bool,
    /// The outbound requests that wait for it, in the order of their commit. All are on disk.
    waiting: Vec<Arc<OutboundRequest>>,
}

impl std::fmt::Debug for Unanswered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unanswered")
    }
}

/// An answer that is being written. Its drop says that it was written, or never will be. Then the outbound
/// requests that waited for it are sent.
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
        // The requests are on disk and must be sent, whatever happens to the thread that drops this.
        let _critical = Critical::begin();
        if let Some(engine) = self.engine.get() {
            for request in engine.shared.answers.left(&self.request) {
                engine.send_out(request);
            }
        }
    }
}

/// The outbound requests that wait, for all answers.
pub(crate) struct Answers {
    /// The requests for whose answers something waits, with the instant at which the wait ends, the next first.
    until: Mutex<VecDeque<(u64, Arc<Unanswered>)>>,
    /// How many outbound requests wait in all.
    waiting: AtomicUsize,
    waiting_max: usize,
}

impl Answers {
    /// None that wait. Beyond `waiting_max`, outbound requests do not wait.
    pub fn new(waiting_max: usize) -> Self {
        Self {
            until: Mutex::default(),
            waiting: AtomicUsize::new(0),
            waiting_max,
        }
    }

    /// Whether an outbound request waits for this answer. Otherwise it may be sent now.
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

    /// Note that the answer was written. Returns the outbound requests that waited for it.
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

    /// The outbound requests whose wait is over although the answer was not written.
    pub fn overdue(&self, now_us: u64) -> Vec<Arc<OutboundRequest>> {
        let mut overdue = Vec::new();
        while let Some(request) = self.next_overdue(now_us) {
            overdue.extend(self.left(&request));
        }
        overdue
    }

    /// The next request whose wait is over. Drops requests that were answered meanwhile.
    fn next_overdue(&self, now_us: u64) -> Option<Arc<Unanswered>> {
        let mut until = self.until.lock();
        let (until_us, request) = until.front()?;
        let over = *until_us <= now_us || is_answered(request);
        over.then(|| until.pop_front()).flatten().map(|(_, r)| r)
    }

    /// When the next wait is over, on the monotonic clock.
    pub fn next_due_us(&self) -> Option<u64> {
        let until = self.until.lock();
        let unanswered = until.iter().find(|(_, request)| !is_answered(request));
        unanswered.map(|(until_us, _)| *until_us)
    }

    /// How many outbound requests wait for answers.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

fn is_answered(request: &Unanswered) -> bool {
    request.0.lock().left
}
