//! The circuit breaker of a destination.
//!
//! An attempt *fails* if it does not reach the destination: no connection, a broken one, no answer in time,
//! or a gateway's 502, 503 or 504. Any other answer is a *success*, also a refusal: a message that an FSP
//! refuses says nothing about the next one.
//!
//! | State | What happens | Next state |
//! | --- | --- | --- |
//! | closed: requests are sent | `failures` attempts in a row fail | open |
//! | open: requests wait or give up | the pause ends and a request asks | probing |
//! | probing: one request is sent, all others wait | the probe fails | open, with a pause twice as long |
//! | open, probing | any attempt succeeds | closed |
//!
//! - A pause is at most `pause_max`. A random part of up to a quarter is cut off, so that many hosts do not
//!   return at the same moment.
//! - Attempts that were under way when the circuit opened can close it, and do nothing else.
//! - A restart begins with a closed circuit and no failures.
//! - When the circuit closes, requests get connections in the order in which they asked.

use std::time::{Duration, Instant};

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Failed attempts in a row that open the circuit.
    pub failures: u32,
    /// How long the first pause is.
    pub pause: Duration,
    /// How long the longest one is.
    pub pause_max: Duration,
}

/// What a request may do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Be sent.
    Go,
    /// Be sent as the probe.
    Probe,
    /// Wait for a change of the circuit, at most this long.
    Wait(Duration),
}

/// The state of a circuit as operators see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// Requests are sent.
    Closed,
    /// No request is sent.
    Open,
    /// One request is sent as a probe.
    Probing,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Closed,
    Open { until: Instant },
    Probing,
}

/// The circuit to one destination.
#[derive(Debug)]
pub(super) struct Breaker {
    policy: BreakerPolicy,
    state: State,
    /// Failed attempts in a row.
    failures: u32,
    /// The next pause.
    pause: Duration,
}

impl Breaker {
    pub fn new(policy: BreakerPolicy) -> Self {
        Self {
            policy,
            state: State::Closed,
            failures: 0,
            pause: policy.pause,
        }
    }

    /// What a request may do now. Changes nothing.
    pub fn look(&self, now: Instant) -> Admission {
        match self.state {
            State::Closed => Admission::Go,
            State::Open { until } if until <= now => Admission::Probe,
            State::Open { until } => Admission::Wait(until - now),
            // The end of the probe comes earlier.
            State::Probing => Admission::Wait(self.policy.pause_max),
        }
    }

    /// What a request may do now. A probe must be followed by its `reached` or `not_reached`.
    pub fn admit(&mut self, now: Instant) -> Admission {
        let admission = self.look(now);
        if admission == Admission::Probe {
            self.state = State::Probing;
        }
        admission
    }

    /// Note a success. Returns whether it closes the circuit.
    pub fn reached(&mut self) -> bool {
        let news = !matches!(self.state, State::Closed);
        *self = Self::new(self.policy);
        news
    }

    /// Note a failure. `share` (0 to 1, random) says how much of the pause's last quarter is kept. Returns
    /// whether it opens the circuit.
    pub fn not_reached(&mut self, now: Instant, probe: bool, share: f64) -> bool {
        self.failures = self.failures.saturating_add(1);
        let opens = match self.state {
            State::Closed => self.failures >= self.policy.failures,
            State::Probing => probe,
            State::Open { .. } => false,
        };
        if opens {
            let pause = self.pause.mul_f64(0.75 + 0.25 * share.clamp(0.0, 1.0));
            self.state = State::Open { until: now + pause };
            self.pause = (self.pause * 2).min(self.policy.pause_max);
        }
        opens
    }

    /// The state as operators see it.
    pub const fn circuit(&self) -> Circuit {
        match self.state {
            State::Closed => Circuit::Closed,
            State::Open { .. } => Circuit::Open,
            State::Probing => Circuit::Probing,
        }
    }

    /// Failed attempts in a row.
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// How long until the next attempt, while the circuit is open.
    pub fn tried_again_in(&self, now: Instant) -> Duration {
        match self.state {
            State::Open { until } => until.saturating_duration_since(now),
            State::Closed | State::Probing => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: BreakerPolicy = BreakerPolicy {
        failures: 3,
        pause: Duration::from_secs(1),
        pause_max: Duration::from_secs(3),
    };

    fn opened(now: Instant) -> Breaker {
        let mut breaker = Breaker::new(POLICY);
        assert!(!breaker.not_reached(now, false, 1.0));
        assert!(!breaker.not_reached(now, false, 1.0));
        assert!(breaker.not_reached(now, false, 1.0), "the third in a row");
        breaker
    }

    #[test]
    fn failures_open_the_circuit_only_without_a_success_between() {
        let now = Instant::now();
        let mut breaker = Breaker::new(POLICY);
        for _ in 0..10 {
            assert!(!breaker.not_reached(now, false, 1.0));
            assert!(!breaker.not_reached(now, false, 1.0));
            assert!(!breaker.reached(), "it was closed");
        }
        assert_eq!(breaker.admit(now), Admission::Go);
        assert_eq!(
            opened(now).admit(now),
            Admission::Wait(Duration::from_secs(1))
        );
    }

    #[test]
    fn one_probe_is_sent_after_the_pause() {
        let now = Instant::now();
        let mut breaker = opened(now);
        let later = now + Duration::from_secs(1);
        assert_eq!(breaker.admit(later), Admission::Probe);
        assert_eq!(breaker.admit(later), Admission::Wait(POLICY.pause_max));
        assert!(breaker.reached());
        assert_eq!(breaker.admit(later), Admission::Go);
        assert_eq!(breaker.circuit(), Circuit::Closed);
        assert_eq!(breaker.failures(), 0);
    }

    #[test]
    fn pauses_double_up_to_a_maximum_until_a_success() {
        let mut now = Instant::now();
        let mut breaker = opened(now);
        for seconds in [1, 2, 3, 3] {
            assert_eq!(
                breaker.tried_again_in(now),
                Duration::from_secs(seconds),
                "the pause that is next"
            );
            now += Duration::from_secs(seconds);
            assert_eq!(breaker.admit(now), Admission::Probe);
            assert!(breaker.not_reached(now, true, 1.0));
        }
        now += POLICY.pause_max;
        assert_eq!(breaker.admit(now), Admission::Probe);
        assert!(breaker.reached());
        for _ in 0..3 {
            breaker.not_reached(now, false, 0.0);
        }
        assert_eq!(breaker.tried_again_in(now), Duration::from_millis(750));
    }

    #[test]
    fn earlier_attempts_can_only_close_the_circuit() {
        let now = Instant::now();
        let mut breaker = opened(now);
        assert!(!breaker.not_reached(now + Duration::from_millis(900), false, 1.0));
        let later = now + Duration::from_secs(1);
        assert_eq!(breaker.admit(later), Admission::Probe);
        assert!(
            !breaker.not_reached(later, false, 1.0),
            "it was not the probe"
        );
        assert_eq!(breaker.circuit(), Circuit::Probing);
        assert!(breaker.reached(), "one from before has an answer");
        assert_eq!(breaker.admit(later), Admission::Go);
        assert!(
            !breaker.not_reached(later, true, 1.0),
            "the probe itself ends late"
        );
    }
}
