//! One destination: its connection slots, its circuit breaker, and the status that operators see.

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
    circuit: Mutex<CircuitState>,
    changed: Notify,
    requests: AtomicUsize,
}

struct CircuitState {
    breaker: Breaker,
    last_failure: Option<String>,
}

/// The permit to send a request. It keeps one of the destination's connection slots until it is dropped.
pub(super) struct SendPermit<'a> {
    _slot: SemaphorePermit<'a>,
    probe: bool,
    destination: &'a Destination,
}

impl Drop for SendPermit<'_> {
    fn drop(&mut self) {
        // All other requests wait for the outcome of a probe. A probe without one counts as a failure.
        if self.probe {
            let destination = self.destination;
            destination.not_reached(self, "the attempt broke off");
        }
    }
}

/// Why a request was not sent.
pub(super) enum NotSent {
    /// Its deadline passed before it could be sent.
    Late,
    /// The circuit is open, and the request does not wait for it. The text says since when and why.
    Away(String),
}

/// The status of a destination as operators see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DestinationStatus {
    /// Host and port.
    pub destination: String,
    /// `closed`: requests are sent; `open`: requests wait; `probing`: one request is sent as a probe.
    pub circuit: String,
    /// Attempts in a row that did not reach the destination.
    pub failures: u32,
    /// Milliseconds until the next attempt, while the circuit is open.
    pub tried_again_in_ms: u64,
    /// Requests in memory that have not ended, those under way included.
    pub requests: usize,
    /// Those that are under way.
    pub under_way: usize,
    /// Why the last attempt that did not reach the destination failed.
    pub last_failure: Option<String>,
}

impl Destination {
    pub fn new(name: &str, limits: &OutboundLimits) -> Self {
        Self {
            name: name.to_owned(),
            slots: Semaphore::new(limits.connections_per_destination),
            slots_max: limits.connections_per_destination,
            circuit: Mutex::new(CircuitState {
                breaker: Breaker::new(limits.breaker),
                last_failure: None,
            }),
            changed: Notify::new(),
            requests: AtomicUsize::new(0),
        }
    }

    /// Count a request until the returned value is dropped.
    pub fn count(&self) -> Counted<'_> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Counted(&self.requests)
    }

    /// Wait until a request may be sent, at most for `left`. With `waits` false, an open circuit is an error
    /// at once.
    pub async fn acquire(&self, left: Duration, waits: bool) -> Result<SendPermit<'_>, NotSent> {
        let until = Instant::now() + left;
        loop {
            // Before it looks, so that no change is missed.
            let changed = self.changed.notified();
            if let Admission::Wait(pause) = self.look(waits)? {
                let pause = pause.min(until.saturating_duration_since(Instant::now()));
                if pause.is_zero() {
                    return Err(NotSent::Late);
                }
                let _ = tokio::time::timeout(pause, changed).await;
                continue;
            }
            let left = until.saturating_duration_since(Instant::now());
            let slot = tokio::time::timeout(left, self.slots.acquire()).await;
            let Ok(Ok(slot)) = slot else {
                return Err(NotSent::Late);
            };
            // The circuit may have opened while it waited for a connection.
            match self.circuit.lock().breaker.admit(Instant::now()) {
                Admission::Wait(_) => {}
                admitted => {
                    return Ok(SendPermit {
                        _slot: slot,
                        probe: admitted == Admission::Probe,
                        destination: self,
                    });
                }
            }
        }
    }

    /// What the breaker would admit now. Changes nothing.
    fn look(&self, waits: bool) -> Result<Admission, NotSent> {
        let known = self.circuit.lock();
        let admission = known.breaker.look(Instant::now());
        if waits || !matches!(admission, Admission::Wait(_)) {
            return Ok(admission);
        }
        Err(NotSent::Away(format!(
            "{} attempts in a row met nobody, the last one: {}",
            known.breaker.failures(),
            known.last_failure.as_deref().unwrap_or("unknown")
        )))
    }

    /// Note that an attempt reached the destination.
    pub fn reached(&self, permit: &mut SendPermit<'_>) {
        permit.probe = false;
        if self.circuit.lock().breaker.reached() {
            tracing::info!(destination = self.name, "the destination answers again");
            self.changed.notify_waiters();
        }
    }

    /// Note that an attempt did not reach the destination.
    pub fn not_reached(&self, permit: &mut SendPermit<'_>, reason: &str) {
        let probe = std::mem::take(&mut permit.probe);
        let mut known = self.circuit.lock();
        let opened = known
            .breaker
            .not_reached(Instant::now(), probe, rand::random());
        known.last_failure = Some(reason.to_owned());
        let failures = known.breaker.failures();
        drop(known);
        if opened {
            if !probe {
                tracing::warn!(
                    destination = self.name,
                    failures,
                    reason,
                    "the destination cannot be reached; requests to it wait"
                );
            }
            // They wait for a pause now, no longer for the probe.
            self.changed.notify_waiters();
        }
    }

    /// The status as operators see it.
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

/// Counts a request that has not ended.
pub(super) struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
