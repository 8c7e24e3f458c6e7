//! Deliveries that wait for a retry, or for a subscriber that is paused.
//!
//! | A delivery | waits | until |
//! | --- | --- | --- |
//! | failed, its subscriber is not paused | delayed | its next attempt is due |
//! | arrives or failed, its subscriber is paused or draining | kept | it is released as a probe, or in order |
//!
//! They are apart from the queue of ready jobs, so that they keep no request out. They are on disk. Beyond a
//! bound they leave the memory and are read back when they are released. All times are on the monotonic
//! clock, so that a jump of the wall clock neither stalls nor hurries a retry.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ids::{Lsn, Name};
use crate::limits::Limits;
use crate::stimulus::Delivery;
use crate::subscriber::{FailureEffect, Paused, Subscriber, Waiting};
use crate::sync::Mutex;
use crate::time::Timestamp;

/// How many deliveries are released at a time.
const RELEASED_MAX: usize = 512;
/// The pause after a failed read of the store, in microseconds.
const READ_AGAIN_US: u64 = 1_000_000;

/// Why a released delivery waited.
#[derive(Clone, Copy, Debug)]
enum From {
    /// It was delayed.
    Delay,
    /// It was kept; the subscriber's period.
    Kept(u64),
    /// It was kept and is the probe; the subscriber's period.
    Probe(u64),
}

/// A delivery that is released, to be run.
pub(crate) struct Released {
    pub id: u64,
    component: Name,
    pub waiting: Waiting,
    from: From,
}

impl Released {
    /// The period of its subscriber in which it is released, if it was kept.
    pub fn period(&self) -> Option<u64> {
        match self.from {
            From::Delay => None,
            From::Kept(period) | From::Probe(period) => Some(period),
        }
    }
}

/// How many wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub delayed: usize,
    pub kept: usize,
    pub in_memory: usize,
    pub paused: usize,
}

#[derive(Default)]
struct State {
    /// The subscribers that are not well, or have deliveries kept.
    subscribers: BTreeMap<Name, Subscriber>,
    /// Delayed deliveries, by the instant of the next attempt and the delivery's id.
    delayed: BTreeMap<(u64, u64), (Name, Waiting)>,
    /// Waiting deliveries that are in memory.
    in_memory: usize,
    /// When the store may be read again after a failed read; 0 for at once.
    read_again_us: u64,
}

impl State {
    /// Keep a delivery until its subscriber's pause ends and earlier kept deliveries are released.
    fn keep(&mut self, component: &Name, id: u64, waiting: Waiting, limits: &Limits) {
        self.came(&waiting);
        let subscriber = self.subscribers.entry(component.clone());
        let subscriber = subscriber.or_insert_with(Subscriber::draining);
        subscriber.keep(id, waiting, limits);
    }

    fn delay(&mut self, component: &Name, id: u64, waiting: Waiting, due_us: u64) {
        self.came(&waiting);
        let key = (due_us, id);
        let before = self.delayed.insert(key, (component.clone(), waiting));
        assert!(before.is_none(), "the delivery {id} waits twice");
    }

    fn came(&mut self, waiting: &Waiting) {
        self.in_memory += usize::from(waiting.delivery.is_some());
    }

    fn went(&mut self, released: &[Released]) {
        let in_memory = released.iter().filter(|r| r.waiting.delivery.is_some());
        let in_memory = in_memory.count();
        assert!(
            self.in_memory >= in_memory,
            "{in_memory} deliveries in memory are let go of {} that wait there",
            self.in_memory
        );
        self.in_memory -= in_memory;
    }
}

/// All deliveries that wait.
#[derive(Default)]
pub(crate) struct WaitingDeliveries {
    state: Mutex<State>,
    /// The number of `subscribers`, to be read without the lock.
    watched: AtomicUsize,
}

impl WaitingDeliveries {
    /// Whether a delivery that is to run must be kept for its subscriber.
    pub fn keeps(&self, component: &Name, id: u64, released: Option<u64>) -> bool {
        if self.watched.load(Ordering::Acquire) == 0 {
            return false;
        }
        let state = self.state.lock();
        let subscriber = state.subscribers.get(component);
        subscriber.is_some_and(|subscriber| subscriber.keeps(id, released))
    }

    /// Keep a delivery for its subscriber. It is released at the next look if the subscriber is well by now.
    pub fn keep(&self, component: &Name, id: u64, waiting: Waiting, limits: &Limits) {
        self.with(|state| state.keep(component, id, waiting, limits));
    }

    /// Note a failed delivery. `first_us` is its first failure.
    pub fn failed(
        &self,
        delivery: &Delivery,
        first_us: u64,
        reason: &str,
        now: (Timestamp, u64),
        limits: &Limits,
    ) -> FailureEffect {
        self.with(|state| {
            let component = &delivery.component;
            let subscriber = state.subscribers.entry(component.clone());
            // A subscriber that is not known was well until now: only first failures count.
            let subscriber = subscriber.or_insert_with(|| Subscriber::failing(now.1));
            let effect = subscriber.failed(delivery, first_us, reason, now, limits);
            assert!(
                subscriber.is_paused() == (effect != FailureEffect::None),
                "{component} is paused after a failure: {}, and was told so: {effect:?}",
                subscriber.is_paused()
            );
            if matches!(effect, FailureEffect::Paused { .. }) {
                // Its delayed deliveries are kept from now on.
                let due = std::mem::take(&mut state.delayed);
                for ((due_us, id), (of, waiting)) in due {
                    if of == *component {
                        subscriber.keep(id, waiting, limits);
                    } else {
                        state.delayed.insert((due_us, id), (of, waiting));
                    }
                }
            }
            effect
        })
    }

    /// Note the end of a delivery that says nothing about its subscriber. Returns whether that is paused.
    pub fn inconclusive(&self, component: &Name, id: u64, now_us: u64) -> FailureEffect {
        if self.watched.load(Ordering::Acquire) == 0 {
            return FailureEffect::None;
        }
        let mut state = self.state.lock();
        let Some(subscriber) = state.subscribers.get_mut(component) else {
            return FailureEffect::None;
        };
        subscriber.inconclusive(id, now_us);
        if subscriber.is_paused() {
            FailureEffect::AlreadyPaused
        } else {
            FailureEffect::None
        }
    }

    /// Note a success. If it ends a pause, returns its length in microseconds and the number of kept
    /// deliveries.
    pub fn succeeded(&self, component: &Name, now_us: u64) -> Option<(u64, usize)> {
        if self.watched.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.with(|state| {
            let subscriber = state.subscribers.get_mut(component)?;
            let paused_us = subscriber.succeeded(now_us);
            assert!(
                !subscriber.is_paused(),
                "{component} is paused after a success"
            );
            let kept = subscriber.kept.len();
            if subscriber.is_well() {
                state.subscribers.remove(component);
            }
            paused_us.map(|us| (us, kept))
        })
    }

    /// Delay a failed delivery until this instant, or keep it if its subscriber is paused.
    pub fn delay(&self, component: &Name, id: u64, waiting: Waiting, due_us: u64, limits: &Limits) {
        self.with(|state| {
            let subscriber = state.subscribers.get(component);
            if subscriber.is_some_and(Subscriber::is_paused) {
                state.keep(component, id, waiting, limits);
            } else {
                state.delay(component, id, waiting, due_us);
            }
        });
    }

    /// Take the deliveries that are to run now: probes that are due, and, as far as there is `room`, delayed
    /// deliveries that are due and kept ones of draining subscribers.
    pub fn release(&self, now_us: u64, room: usize) -> Vec<Released> {
        self.with(|state| {
            let mut released = Vec::new();
            if state.read_again_us > now_us {
                return released;
            }
            let room = room.min(RELEASED_MAX);
            for (component, subscriber) in &mut state.subscribers {
                let due = subscriber.next_probe_us().is_some_and(|at| at <= now_us);
                let probe = due.then(|| subscriber.probe()).flatten();
                released.extend(probe.map(|(id, waiting)| Released {
                    id,
                    component: component.clone(),
                    waiting,
                    from: From::Probe(subscriber.period),
                }));
            }
            while released.len() < room
                && let Some(first) = state.delayed.first_entry()
                && first.key().0 <= now_us
            {
                let ((_, id), (component, waiting)) = first.remove_entry();
                released.push(Released {
                    id,
                    component,
                    waiting,
                    from: From::Delay,
                });
            }
            for (component, subscriber) in &mut state.subscribers {
                while released.len() < room && subscriber.is_draining() {
                    let Some((id, waiting)) = subscriber.kept.pop_first() else {
                        break;
                    };
                    released.push(Released {
                        id,
                        component: component.clone(),
                        waiting,
                        from: From::Kept(subscriber.period),
                    });
                }
            }
            state
                .subscribers
                .retain(|_, subscriber| !subscriber.is_well());
            state.went(&released);
            released
        })
    }

    /// Put released deliveries back because the store could not be read.
    pub fn put_back(&self, released: Vec<Released>, now_us: u64, limits: &Limits) {
        self.with(|state| {
            state.read_again_us = now_us + READ_AGAIN_US;
            for again in released {
                let (component, id) = (&again.component, again.id);
                let subscriber = state.subscribers.get_mut(component);
                let paused = subscriber.is_some_and(|subscriber| {
                    subscriber.inconclusive(id, now_us);
                    subscriber.is_paused()
                });
                match again.from {
                    From::Delay if !paused => state.delay(component, id, again.waiting, now_us),
                    _ => state.keep(component, id, again.waiting, limits),
                }
            }
        });
    }

    /// Remove deliveries beyond this bound from memory, those that are released last first.
    pub fn trim(&self, max: usize, committed: Lsn) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let mut over = state.in_memory.saturating_sub(max);
        if over == 0 {
            return;
        }
        let kept = state.subscribers.values_mut();
        let kept = kept.flat_map(|subscriber| subscriber.kept.values_mut().rev());
        let delayed = state.delayed.values_mut().rev().map(|(_, waiting)| waiting);
        for waiting in kept.chain(delayed) {
            if over == 0 {
                return;
            }
            if waiting.may_leave(committed) {
                assert!(
                    state.in_memory > 0,
                    "the delivery of turn {} leaves the memory, and none is counted there",
                    waiting.turn
                );
                waiting.delivery = None;
                state.in_memory -= 1;
                over -= 1;
            }
        }
    }

    /// When `release` next has something to do, on the monotonic clock.
    pub fn next_due_us(&self) -> Option<u64> {
        let state = self.state.lock();
        let delayed = state.delayed.first_key_value().map(|((due, _), _)| *due);
        let subscribers = state.subscribers.values();
        let theirs = subscribers.filter_map(|subscriber| {
            if subscriber.is_draining() {
                Some(0)
            } else {
                subscriber.next_probe_us()
            }
        });
        theirs
            .chain(delayed)
            .min()
            .map(|due| due.max(state.read_again_us))
    }

    pub fn counts(&self) -> Counts {
        let state = self.state.lock();
        let subscribers = state.subscribers.values();
        let counts = Counts {
            delayed: state.delayed.len(),
            kept: subscribers.clone().map(|s| s.kept.len()).sum(),
            in_memory: state.in_memory,
            paused: subscribers.filter(|s| s.is_paused()).count(),
        };
        assert!(
            counts.in_memory <= counts.delayed + counts.kept,
            "{} deliveries that wait are in memory, and {} and {} wait",
            counts.in_memory,
            counts.delayed,
            counts.kept
        );
        counts
    }

    /// The subscribers that are paused, in the order of their names.
    pub fn paused(&self, now_us: u64) -> Vec<Paused> {
        let state = self.state.lock();
        let all = state.subscribers.iter();
        let mut paused: Vec<Paused> = all
            .filter_map(|(component, subscriber)| subscriber.shown(component, now_us))
            .collect();
        paused.sort_by(|a, b| a.component.cmp(&b.component));
        paused
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let done = change(&mut state);
        self.watched
            .store(state.subscribers.len(), Ordering::Release);
        done
    }
}
