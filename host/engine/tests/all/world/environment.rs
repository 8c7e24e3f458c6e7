//! The engine's environment in tests: a network, a clock and randomness that the test controls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use parking_lot::Mutex;
use rialto_engine::network::{Network, OutboundRequest, OutboundResponse, Outcome, Report};
use rialto_engine::{Clock, Entropy, Timestamp};

/// Requests that have left and are not answered.
#[derive(Default)]
pub struct Wire {
    #[allow(clippy::type_complexity, reason = "what the trait gives")]
    pub pending: Mutex<Vec<(Arc<OutboundRequest>, Box<dyn FnOnce(Report) + Send>)>>,
    /// Every request that ever left, by its id.
    pub sent: Mutex<Vec<u64>>,
}

impl Network for Wire {
    fn send(&self, request: Arc<OutboundRequest>, done: Box<dyn FnOnce(Report) + Send>) {
        self.sent.lock().push(request.id);
        self.pending.lock().push((request, done));
    }
}

impl Wire {
    /// Answer the nth request, from 0. Returns whether there was one.
    pub fn answer(&self, nth: usize) -> bool {
        self.answer_in(nth, None)
    }

    /// The same; the request was on its way in a span of its own.
    pub fn answer_in(&self, nth: usize, span: Option<u64>) -> bool {
        let taken = {
            let mut pending = self.pending.lock();
            (nth < pending.len()).then(|| pending.remove(nth))
        };
        let Some((request, done)) = taken else {
            return false;
        };
        done(Report {
            id: request.id,
            correlation: request.correlation.clone(),
            attempts: 1,
            outcome: Outcome::Delivered(OutboundResponse {
                status: 200,
                headers: vec![],
                body: String::new(),
            }),
            span,
        });
        true
    }
}

/// Milliseconds that have passed, all of them told.
#[derive(Default)]
pub struct TestClock(pub AtomicU64, pub Told);

/// What else a clock is told.
#[derive(Default)]
pub struct Told {
    /// By how many milliseconds the wall clock is ahead of the time that has passed.
    pub jump: AtomicI64,
    /// Whether the time of the machine passes too, for tests with real threads.
    pub real: AtomicBool,
}

impl TestClock {
    /// Let the wall clock jump.
    pub fn jump(&self, milliseconds: i64) {
        self.1.jump.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let now = 1_000_000_000 + self.0.load(Ordering::Relaxed);
        Timestamp(now.saturating_add_signed(self.1.jump.load(Ordering::Relaxed)))
    }
    fn monotonic_us(&self) -> u64 {
        let told = self.0.load(Ordering::Relaxed) * 1_000;
        if !self.1.real.load(Ordering::Relaxed) {
            return told;
        }
        static ORIGIN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        let origin = ORIGIN.get_or_init(std::time::Instant::now);
        told + u64::try_from(origin.elapsed().as_micros()).unwrap()
    }
}

pub struct Fixed;

impl Entropy for Fixed {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(7);
    }
}
