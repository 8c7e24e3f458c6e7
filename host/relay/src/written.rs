//! Answers that something waits for until the client has them.
//!
//! In one host, a request to a client that follows the client's own answer leaves when the answer was written
//! ([`AnswerGuard`]). Here another host writes it. So the host that serves keeps the guard under a number that goes along with
//! the answer, and the other one says when it has written it. A connection that ends, or a host that says nothing, holds
//! nothing up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rialto_edge::AnswerGuard;

/// How long the host that serves waits for the other one's word.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// The guards of one connection's answers.
#[derive(Default)]
pub(crate) struct Unwritten(Mutex<Guards>);

#[derive(Default)]
struct Guards {
    last: u64,
    waiting: BTreeMap<u64, AnswerGuard>,
}

impl Unwritten {
    /// Keep a guard for a while. Returns its number.
    pub fn keep(self: &Arc<Self>, guard: AnswerGuard) -> u64 {
        let number = {
            let mut guards = self.0.lock();
            guards.last += 1;
            let number = guards.last;
            guards.waiting.insert(number, guard);
            number
        };
        let own = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(WAIT_MAX).await;
            if let Some(own) = own.upgrade() {
                own.written(number);
            }
        });
        number
    }

    /// The answer with this number was written.
    pub fn written(&self, number: u64) {
        let guard = self.0.lock().waiting.remove(&number);
        // The drop runs the engine's code, so it is outside the lock.
        drop(guard);
    }
}
