//! The threads that call a remote provider, so that nobody else waits for it.
//!
//! A turn must not wait, and a slow provider must not take the threads of another. So each remote provider has
//! threads and a queue of its own. Both have a bound: what comes beyond it, or waits longer than one call may
//! last, is refused.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::contained::contained;
use crate::error::KeyError;
use crate::provider::Provider;

/// Calls that may wait, for each that runs.
const WAITING_PER_CALL_MAX: usize = 32;

/// A call. It gets the reason if it is refused.
pub(crate) type Call = Box<dyn FnOnce(Option<KeyError>) + Send>;

struct Waiting {
    /// Since when it waits. None for one that is never refused for load.
    since: Option<Instant>,
    call: Call,
}

/// The threads of one provider. They start when there is something to do, and end with this value.
pub(crate) struct Callers(Arc<Queue>);

struct Queue {
    name: String,
    threads_max: usize,
    patience: Duration,
    state: Mutex<State>,
    /// Notified when a call comes, and when nobody has the queue any more.
    changed: Condvar,
    /// Notified when a call has ended.
    ended: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    threads: usize,
    /// Threads that wait for a call.
    idle: usize,
    /// Calls that have not ended.
    running: usize,
    takes: Takes,
    /// Whether nobody has the queue any more.
    is_left: bool,
}

/// Which calls are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Takes {
    #[default]
    All,
    /// The host stops: only calls that take back what another one has made.
    Undoing,
    Nothing,
}

impl State {
    /// Calls that have not ended.
    fn left(&self) -> usize {
        self.waiting.len() + self.running
    }
}

impl Callers {
    /// No thread yet.
    pub fn of(name: &str, provider: &dyn Provider) -> Self {
        Self(Arc::new(Queue {
            name: name.to_owned(),
            threads_max: provider.calls_at_once().max(1),
            patience: provider.timeout(),
            state: Mutex::default(),
            changed: Condvar::new(),
            ended: Condvar::new(),
        }))
    }

    /// Take no more calls, and wait until those that are there have ended, but not beyond this instant. Returns how
    /// many have not.
    pub fn close(&self, deadline: Instant) -> usize {
        let mut state = self.0.state.lock();
        if state.takes == Takes::All {
            state.takes = Takes::Undoing;
        }
        while state.left() > 0 {
            if self.0.ended.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.takes = Takes::Nothing;
        state.left()
    }

    /// Run a call on a thread, or refuse it here.
    pub fn submit(&self, call: Call) {
        let since = Some(Instant::now());
        self.run_or_refuse(Waiting { since, call });
    }

    /// Run a call on a thread, however many wait, because it takes back what another one has made.
    pub fn submit_always(&self, call: Call) {
        self.run_or_refuse(Waiting { since: None, call });
    }

    fn run_or_refuse(&self, waiting: Waiting) {
        if let Err((call, why)) = self.enqueue(waiting) {
            let name = &self.0.name;
            call(Some(KeyError::ProviderAway(format!(
                "the provider `{name}` {why}"
            ))));
        }
    }

    fn enqueue(&self, new: Waiting) -> Result<(), (Call, String)> {
        let mut state = self.0.state.lock();
        let is_taken = match state.takes {
            Takes::All => true,
            Takes::Undoing => new.since.is_none(),
            Takes::Nothing => false,
        };
        if !is_taken {
            return Err((
                new.call,
                "is not called any more: the host stops".to_owned(),
            ));
        }
        let waiting_max = self.0.threads_max * WAITING_PER_CALL_MAX;
        if state.waiting.len() >= waiting_max && new.since.is_some() {
            return Err((new.call, format!("has {waiting_max} calls that wait")));
        }
        // Each idle thread takes one of the waiting calls.
        if state.idle <= state.waiting.len() && state.threads < self.0.threads_max {
            let queue = self.0.clone();
            let thread = std::thread::Builder::new().name(format!("keys-{}", self.0.name));
            match thread.spawn(move || queue.serve()) {
                Ok(_) => state.threads += 1,
                Err(error) if state.threads == 0 => {
                    return Err((new.call, format!("has no thread: {error}")));
                }
                Err(error) => {
                    tracing::warn!(provider = self.0.name, %error, "no more threads for calls of a provider of keys")
                }
            }
        }
        state.waiting.push_back(new);
        self.0.changed.notify_one();
        Ok(())
    }
}

impl Drop for Callers {
    /// The last reference may be on one of the threads, so none of them is waited for.
    fn drop(&mut self) {
        self.0.state.lock().is_left = true;
        self.0.changed.notify_all();
    }
}

impl Queue {
    fn serve(&self) {
        while let Some(Waiting { since, call }) = self.next() {
            let late = since.is_some_and(|since| since.elapsed() > self.patience);
            let refused = late.then(|| {
                KeyError::ProviderAway(format!(
                    "the provider `{}` had no free session for {} ms",
                    self.name,
                    self.patience.as_millis()
                ))
            });
            // A call contains the panics of its provider and tells its caller. Here are those of what follows.
            let _told = contained(&self.name, || {
                call(refused);
                Ok(())
            });
            self.state.lock().running -= 1;
            self.ended.notify_all();
        }
    }

    fn next(&self) -> Option<Waiting> {
        let mut state = self.state.lock();
        loop {
            if let Some(call) = state.waiting.pop_front() {
                state.running += 1;
                return Some(call);
            }
            if state.is_left {
                state.threads -= 1;
                return None;
            }
            state.idle += 1;
            self.changed.wait(&mut state);
            state.idle -= 1;
        }
    }
}
