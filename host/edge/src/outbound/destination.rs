//! One destination, with what is bounded for it alone: its connections and its circuit. And what
//! operators see of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use super::OutboundLimits;
use super::breaker::{Admission, Breaker, Circuit};

/// A host and port that requests go to.
pub(super) struct Destination {
    name: String,
    slots: Semaphore,
    slots_max: usize,
    circuit: Mutex<Known>,
    news: Notify,
    requests: AtomicUsize,
}

struct Known {
    breaker: Breaker,
    last_failure: Option<String>,
}

/// A request's leave to be sent: a connection of its own, as long as this value is kept.
pub(super) struct Leave<'a> {
    _slot: SemaphorePermit<'a>,
    probe: bool,
    destination: &'a Destination,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        // All others wait for what becomes of a probe: one that told nothing has met nobody.
        if self.probe {
            let destination = self.destination;
            destination.missed(self, "the attempt broke off");
        }
    }
}

/// Why a request is not sent now.
pub(super) enum Held {
    /// Its time was up.
    Late,
    /// Nobody is there, and it does not wait. The sentence says since when and why.
    Away(String),
}

/// What operators see of a destination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DestinationStatus {
    /// Host and port.
    pub destination: String,
    /// `closed`: requests are sent; `open`: they wait, for nobody is there; `probing`: one is sent to see.
    pub circuit: String,
    /// Attempts in a row that met nobody.
    pub failures: u32,
    /// Milliseconds until the next attempt, while the circuit is open.
    pub tried_again_in_ms: u64,
    /// Requests in memory that have not ended, those under way included.
    pub requests: usize,
    /// Those that are under way.
    pub under_way: usize,
    /// Why the last attempt that met nobody did not.
    pub last_failure: Option<String>,
}

impl Destination {
    pub fn new(name: &str, limits: &OutboundLimits) -> Self {
        Self {
            name: name.to_owned(),
            slots: Semaphore::new(limits.connections_per_destination),
            slots_max: limits.connections_per_destination,
            circuit: Mutex::new(Known {
                breaker: Breaker::new(limits.breaker),
                last_failure: None,
            }),
            news: Notify::new(),
            requests: AtomicUsize::new(0),
        }
    }

    /// Count a request as long as the answer is kept.
    pub fn count(&self) -> Counted<'_> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Counted(&self.requests)
    }

    /// Wait until a request may be sent, but not longer than `left`; one that does not wait for
    /// somebody who is away is told at once.
    pub async fn leave(&self, left: Duration, waits: bool) -> Result<Leave<'_>, Held> {
        let until = Instant::now() + left;
        loop {
            // Before it looks, so that no news come in between unheard.
            let news = self.news.notified();
            if let Admission::Wait(pause) = self.look(waits)? {
                let pause = pause.min(until.saturating_duration_since(Instant::now()));
                if pause.is_zero() {
                    return Err(Held::Late);
                }
                let _ = tokio::time::timeout(pause, news).await;
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            let slot = tokio::time::timeout(left, self.slots.acquire()).await;
            let Ok(Ok(slot)) = slot else {
                return Err(Held::Late);
            };
            // The circuit may have opened while it waited for a connection.
            match self.circuit.lock().breaker.admit(Instant::now()) {
                Admission::Wait(_) => {}
                admitted => {
                    return Ok(Leave {
                        _slot: slot,
                        probe: admitted == Admission::Probe,
                        destination: self,
                    });
                }
            }
        }
    }

    /// What a request may do now: nothing is decided by it.
    fn look(&self, waits: bool) -> Result<Admission, Held> {
        let known = self.circuit.lock();
        let admission = known.breaker.look(Instant::now());
        if waits || !matches!(admission, Admission::Wait(_)) {
            return Ok(admission);
        }
        Err(Held::Away(format!(
            "{} attempts in a row met nobody, the last one: {}",
            known.breaker.failures(),
            known.last_failure.as_deref().unwrap_or("unknown")
        )))
    }

    /// Somebody is there.
    pub fn met(&self, leave: &mut Leave<'_>) {
        leave.probe = false;
        if self.circuit.lock().breaker.met() {
            tracing::info!(destination = self.name, "it answers again");
            self.news.notify_waiters();
        }
    }

    /// Nobody is there.
    pub fn missed(&self, leave: &mut Leave<'_>, reason: &str) {
        let probe = std::mem::take(&mut leave.probe);
        let mut known = self.circuit.lock();
        let opened = known.breaker.missed(Instant::now(), probe, rand::random());
        known.last_failure = Some(reason.to_owned());
        let failures = known.breaker.failures();
        drop(known);
        if opened {
            if !probe {
                tracing::warn!(
                    destination = self.name,
                    failures,
                    reason,
                    "nobody is there; requests to it wait"
                );
            }
            // They wait for a pause now, no longer for the probe.
            self.news.notify_waiters();
        }
    }

    /// What operators see.
    pub fn status(&self) -> DestinationStatus {
        let known = self.circuit.lock();
        let pause = known.breaker.tried_again_in(Instant::now()).as_millis();
        DestinationStatus {
            destination: self.name.clone(),
            circuit: match known.breaker.circuit() {
                Circuit::Closed => "closed",
                Circuit::Open => "open",
                Circuit::Probing => "probing",
            }
            .to_owned(),
            failures: known.breaker.failures(),
            tried_again_in_ms: u64::try_from(pause).unwrap_or(u64::MAX),
            requests: self.requests.load(Ordering::Relaxed),
            under_way: self.slots_max - self.slots.available_permits().min(self.slots_max),
            last_failure: known.last_failure.clone(),
        }
    }
}

/// A request that has not ended.
pub(super) struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
