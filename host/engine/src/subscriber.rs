//! The state of a subscriber, a component that deliveries go to.
//!
//! | From | What happens | To |
//! | --- | --- | --- |
//! | (unknown) | a delivery fails | failing |
//! | (unknown) | a delivery is kept for it | draining |
//! | failing, draining | deliveries about enough subjects from enough senders fail without a success between | paused |
//! | failing | a delivery is kept for it | draining |
//! | failing, draining | a delivery succeeds and none is kept | (unknown) |
//! | paused | a probe fails | paused; the next probe comes after a longer pause |
//! | paused | any delivery succeeds | draining |
//! | draining | no kept delivery and no failure is left | (unknown) |
//!
//! While a subscriber is paused, its deliveries are kept in the order in which they came. One of them at a
//! time is tried; it is called a probe. While it drains, kept deliveries are released in order, a few at a
//! time. One poison message pauses no subscriber, because other deliveries succeed between its attempts.
//! Deliveries of one sender alone pause none either.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::ids::{Lsn, Name, TurnId};
use crate::limits::Limits;
use crate::origin::Origin;
use crate::stimulus::{Cause, Delivery};
use crate::time::Timestamp;

/// A delivery that waits for a retry, or for its subscriber.
pub(crate) struct Waiting {
    pub turn: TurnId,
    /// Failures so far.
    pub attempts: u32,
    /// When the first failure was, on the monotonic clock.
    pub failing_since_us: u64,
    /// The delivery is on disk when the log is committed up to this position.
    pub lsn: Lsn,
    /// Its origin, as far as known.
    pub origin: Origin,
    from: u64,
    about: u64,
    /// None if it left the memory; it is read back from the store when it is released.
    pub delivery: Option<Arc<Delivery>>,
}

impl Waiting {
    pub fn new(delivery: Arc<Delivery>, origin: Origin, turn: TurnId, lsn: Lsn) -> Self {
        Self {
            turn,
            attempts: 0,
            failing_since_us: 0,
            lsn,
            from: from(&delivery),
            about: about(&delivery),
            origin,
            delivery: Some(delivery),
        }
    }

    /// Whether it may leave the memory: only an event that is on disk may. Reminders are in memory anyway.
    pub fn may_leave(&self, committed: Lsn) -> bool {
        let event = |delivery: &Arc<Delivery>| delivery.cause == Cause::Event;
        self.delivery.as_ref().is_some_and(event) && self.lsn <= committed
    }
}

fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A hash of the sender that caused a delivery: the client, or else the trace.
fn from(delivery: &Delivery) -> u64 {
    match &delivery.origin.sender {
        Some(sender) => hash(sender),
        None => hash(delivery.trace.id),
    }
}

/// A hash of what a delivery is about: its first subject, or else itself.
fn about(delivery: &Delivery) -> u64 {
    match delivery.subjects.first() {
        Some(subject) => hash(subject),
        None => hash(delivery.id),
    }
}

/// Failures since the last success.
#[derive(Default)]
struct Streak {
    subjects: HashSet<u64>,
    senders: HashSet<u64>,
    error: String,
}

/// The state of a subscriber. The module's table has the changes.
enum State {
    /// Some deliveries failed since the last success.
    Failing,
    /// Only probes are tried.
    Paused(Pause),
    /// Kept deliveries are released.
    Draining,
}

struct Pause {
    since: Timestamp,
    since_us: u64,
    /// The delivery that is being tried, by its id.
    probing: Option<u64>,
    /// When the next probe is due.
    next_us: u64,
    /// The pause between two probes.
    pause_us: u64,
    last_us: u64,
    probes: u32,
    /// Probes by the hash of their sender.
    probed: HashMap<u64, u32>,
    /// Probes by delivery id. A delivery that fails comes back as another [`Waiting`].
    tried: HashMap<u64, u32>,
}

/// A component that is paused, as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paused {
    /// The component.
    pub component: Name,
    /// When the pause began.
    pub since: Timestamp,
    /// Deliveries that are kept, in memory or on disk.
    pub kept: usize,
    /// Probes since then.
    pub probes: u32,
    /// Milliseconds until the next probe; none while one runs.
    pub next_probe_ms: Option<u64>,
    /// The last failure, in words.
    pub error: String,
}

/// The effect of a failure on a subscriber.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FailureEffect {
    /// Its state stays.
    None,
    /// It is paused from now on.
    Paused {
        /// The number of subjects of the failures.
        subjects: usize,
        /// The number of senders of the failures.
        senders: usize,
    },
    /// It was paused before.
    AlreadyPaused,
}

/// A subscriber that is not well, or has deliveries kept for it.
pub(crate) struct Subscriber {
    state: State,
    streak: Streak,
    /// The last success, on the monotonic clock. A delivery that failed before it and fails again does not
    /// count: others succeeded between.
    well_us: u64,
    /// Counts the pauses. A delivery that was released before the last pause is kept again.
    pub period: u64,
    /// Deliveries that are kept, by their ids, in the order in which they came.
    pub kept: BTreeMap<u64, Waiting>,
}

impl Subscriber {
    pub fn failing(well_us: u64) -> Self {
        Self {
            state: State::Failing,
            streak: Streak::default(),
            well_us,
            period: 1,
            kept: BTreeMap::new(),
        }
    }

    /// A subscriber without failures, with deliveries kept for it.
    pub fn draining() -> Self {
        Self {
            state: State::Draining,
            ..Self::failing(0)
        }
    }

    /// Whether there is nothing to remember of it: no pause, no failure, nothing kept.
    pub fn is_well(&self) -> bool {
        let quiet = self.kept.is_empty() && self.streak.subjects.is_empty();
        quiet && !matches!(self.state, State::Paused(_))
    }

    pub fn is_paused(&self) -> bool {
        matches!(self.state, State::Paused(_))
    }

    pub fn is_draining(&self) -> bool {
        matches!(self.state, State::Draining) && !self.kept.is_empty()
    }

    /// Whether a delivery that is to run now must be kept. `released` is the period in which it was released
    /// before.
    pub fn keeps(&self, id: u64, released: Option<u64>) -> bool {
        let released = released == Some(self.period);
        match &self.state {
            State::Failing => false,
            State::Paused(pause) => !(released && pause.probing == Some(id)),
            State::Draining => !released && !self.kept.is_empty(),
        }
    }

    /// Keep a delivery.
    pub fn keep(&mut self, id: u64, waiting: Waiting, limits: &Limits) {
        if let State::Paused(pause) = &self.state {
            assert!(
                pause.probing != Some(id),
                "the delivery {id} is kept while it is being tried"
            );
        }
        if let State::Paused(pause) = &mut self.state
            && !pause.probed.contains_key(&waiting.from)
        {
            // A sender without a probe yet: its deliveries may succeed.
            let soon = pause.last_us + limits.probe_initial_ms.saturating_mul(1_000);
            pause.next_us = pause.next_us.min(soon);
        }
        if matches!(self.state, State::Failing) {
            self.state = State::Draining;
        }
        let before = self.kept.insert(id, waiting);
        assert!(before.is_none(), "the delivery {id} is kept twice");
    }

    /// Note a failed delivery. `first_us` is its first failure.
    pub fn failed(
        &mut self,
        delivery: &Delivery,
        first_us: u64,
        reason: &str,
        now: (Timestamp, u64),
        limits: &Limits,
    ) -> FailureEffect {
        /// Subjects beyond this are not counted.
        const COUNTED_MAX: usize = 1_024;
        reason.clone_into(&mut self.streak.error);
        if self.streak.subjects.len() < COUNTED_MAX && first_us >= self.well_us {
            self.streak.subjects.insert(about(delivery));
            self.streak.senders.insert(from(delivery));
        }
        if let State::Paused(pause) = &mut self.state {
            if pause.probing == Some(delivery.id) {
                // The pause between probes grows when each sender had a probe.
                let untried = |waiting: &Waiting| !pause.probed.contains_key(&waiting.from);
                if !self.kept.values().any(untried) {
                    let longest = limits.probe_max_ms.saturating_mul(1_000);
                    pause.pause_us = pause.pause_us.saturating_mul(2).min(longest);
                }
                pause.ended(now.1);
            }
            return FailureEffect::AlreadyPaused;
        }
        let (subjects, senders) = (self.streak.subjects.len(), self.streak.senders.len());
        if subjects < limits.pause_subjects || senders < limits.pause_senders {
            return FailureEffect::None;
        }
        let pause_us = limits.probe_initial_ms.saturating_mul(1_000);
        self.period += 1;
        self.state = State::Paused(Pause {
            since: now.0,
            since_us: now.1,
            probing: None,
            next_us: now.1 + pause_us,
            pause_us,
            last_us: now.1,
            probes: 0,
            probed: HashMap::new(),
            tried: HashMap::new(),
        });
        FailureEffect::Paused { subjects, senders }
    }

    /// Note a probe without a result: it had a conflict, or its reminder no longer exists.
    pub fn inconclusive(&mut self, id: u64, now_us: u64) {
        if let State::Paused(pause) = &mut self.state
            && pause.probing == Some(id)
        {
            pause.ended(now_us);
        }
    }

    /// Note a success. Returns the length of the pause in microseconds, if this ends one.
    pub fn succeeded(&mut self, now_us: u64) -> Option<u64> {
        self.streak = Streak::default();
        self.well_us = now_us;
        let State::Paused(pause) = &self.state else {
            return None;
        };
        let took_us = now_us.saturating_sub(pause.since_us);
        self.state = State::Draining;
        Some(took_us)
    }

    /// When the next probe is due, if one is to come.
    pub fn next_probe_us(&self) -> Option<u64> {
        match &self.state {
            State::Paused(pause) if pause.probing.is_none() && !self.kept.is_empty() => {
                Some(pause.next_us)
            }
            _ => None,
        }
    }

    /// Take the next probe. It is the oldest delivery about its subject, so that each subject stays in order.
    /// Its sender had the fewest probes, so that one sender's bad messages do not keep the subscriber paused.
    pub fn probe(&mut self) -> Option<(u64, Waiting)> {
        let State::Paused(pause) = &mut self.state else {
            return None;
        };
        assert!(
            pause.probing.is_none(),
            "a delivery is to be tried while {:?} is",
            pause.probing
        );
        let mut subjects = HashSet::new();
        let oldest = self
            .kept
            .iter()
            .filter(|(_, waiting)| subjects.insert(waiting.about));
        let chosen = oldest.min_by_key(|(id, waiting)| {
            let probed = pause.probed.get(&waiting.from).copied().unwrap_or(0);
            let tried = pause.tried.get(id).copied().unwrap_or(0);
            (probed, tried, **id)
        });
        let id = *chosen?.0;
        let waiting = self.kept.remove(&id)?;
        *pause.probed.entry(waiting.from).or_default() += 1;
        *pause.tried.entry(id).or_default() += 1;
        pause.probes += 1;
        pause.probing = Some(id);
        assert!(
            pause.probed.len() <= pause.probes as usize,
            "{} senders had {} probes",
            pause.probed.len(),
            pause.probes
        );
        Some((id, waiting))
    }

    /// As operators see it, if it is paused.
    pub fn shown(&self, component: &Name, now_us: u64) -> Option<Paused> {
        let State::Paused(pause) = &self.state else {
            return None;
        };
        let left_ms = pause.next_us.saturating_sub(now_us) / 1_000;
        Some(Paused {
            component: component.clone(),
            since: pause.since,
            kept: self.kept.len(),
            probes: pause.probes,
            next_probe_ms: pause.probing.is_none().then_some(left_ms),
            error: self.streak.error.clone(),
        })
    }
}

impl Pause {
    fn ended(&mut self, now_us: u64) {
        self.probing = None;
        self.last_us = now_us;
        self.next_us = now_us + self.pause_us;
    }
}
