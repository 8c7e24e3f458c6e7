//! Circuit breaker: when a destination is left alone, and when it is tried again.
//!
//! **Signal.** One attempt after another that meets nobody: no connection, a broken one, no answer in
//! time, or a gateway that says so itself (502, 503, 504). Any other answer is a sign of life, also a
//! refusal: a message that an FSP cannot take says nothing about the next one.
//!
//! **Order.** So many failures in a row open the circuit. While it is open nothing is sent; whoever
//! would rather wait waits, and whoever has somebody waiting for an answer gives up at once. After a
//! pause one request goes as a probe, and all others wait for what becomes of it. If it meets
//! nobody the circuit stays open for a pause twice as long, up to the longest; each is cut by a random
//! part of up to a quarter, so that many hosts do not come back together. A sign of life closes it,
//! whoever saw it: attempts that were under way when it opened count for that, and for nothing else.
//!
//! **First start.** Closed, with no failures: a destination that was away before a restart is met
//! again at the price of a few attempts.
//!
//! **Recovery.** Closed again, requests go in the order in which they came for a connection.

use std::time::{Duration, Instant};

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// Attempts in a row that meet nobody.
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
    /// Be sent, and tell whether anybody is there.
    Probe,
    /// Wait for news, for so long at most.
    Wait(Duration),
}

/// Whether requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// They are.
    Closed,
    /// They are not.
    Open,
    /// One is, to see whether anybody is there.
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
    /// Attempts in a row that met nobody.
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

    /// What a request may do now, if it were to ask.
    pub fn look(&self, now: Instant) -> Admission {
        match self.state {
            State::Closed => Admission::Go,
            State::Open { until } if until <= now => Admission::Probe,
            State::Open { until } => Admission::Wait(until - now),
            // News of the probe come earlier.
            State::Probing => Admission::Wait(self.policy.pause_max),
        }
    }

    /// What a request may do now. A probe must be followed by its `met` or `missed`.
    pub fn admit(&mut self, now: Instant) -> Admission {
        let admission = self.look(now);
        if admission == Admission::Probe {
            self.state = State::Probing;
        }
        admission
    }

    /// Somebody is there. Answers whether that is news.
    pub fn met(&mut self) -> bool {
        let news = !matches!(self.state, State::Closed);
        *self = Self::new(self.policy);
        news
    }

    /// Nobody was there; `share` (0 to 1) draws how much of the pause is kept. Answers whether the
    /// circuit is open from now on.
    pub fn missed(&mut self, now: Instant, probe: bool, share: f64) -> bool {
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

    /// Whether requests are sent.
    pub const fn circuit(&self) -> Circuit {
        match self.state {
            State::Closed => Circuit::Closed,
            State::Open { .. } => Circuit::Open,
            State::Probing => Circuit::Probing,
        }
    }

    /// Attempts in a row that met nobody.
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
        assert!(!breaker.missed(now, false, 1.0));
        assert!(!breaker.missed(now, false, 1.0));
        assert!(breaker.missed(now, false, 1.0), "the third in a row");
        breaker
    }

    #[test]
    fn so_many_failures_in_a_row_open_it_and_a_sign_of_life_between_them_does_not_let_them() {
        let now = Instant::now();
        let mut breaker = Breaker::new(POLICY);
        for _ in 0..10 {
            assert!(!breaker.missed(now, false, 1.0));
            assert!(!breaker.missed(now, false, 1.0));
            assert!(!breaker.met(), "it was closed");
        }
        assert_eq!(breaker.admit(now), Admission::Go);
        assert_eq!(
            opened(now).admit(now),
            Admission::Wait(Duration::from_secs(1))
        );
    }

    #[test]
    fn one_request_goes_after_the_pause_and_the_others_wait_for_it() {
        let now = Instant::now();
        let mut breaker = opened(now);
        let later = now + Duration::from_secs(1);
        assert_eq!(breaker.admit(later), Admission::Probe);
        assert_eq!(breaker.admit(later), Admission::Wait(POLICY.pause_max));
        assert!(breaker.met());
        assert_eq!(breaker.admit(later), Admission::Go);
        assert_eq!(breaker.circuit(), Circuit::Closed);
        assert_eq!(breaker.failures(), 0);
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew_after_a_sign_of_life() {
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
            assert!(breaker.missed(now, true, 1.0));
        }
        now += POLICY.pause_max;
        assert_eq!(breaker.admit(now), Admission::Probe);
        assert!(breaker.met());
        for _ in 0..3 {
            breaker.missed(now, false, 0.0);
        }
        assert_eq!(breaker.tried_again_in(now), Duration::from_millis(750));
    }

    #[test]
    fn attempts_from_before_neither_prolong_a_pause_nor_end_a_probe_but_a_sign_of_life_counts() {
        let now = Instant::now();
        let mut breaker = opened(now);
        assert!(!breaker.missed(now + Duration::from_millis(900), false, 1.0));
        let later = now + Duration::from_secs(1);
        assert_eq!(breaker.admit(later), Admission::Probe);
        assert!(!breaker.missed(later, false, 1.0), "it was not the probe");
        assert_eq!(breaker.circuit(), Circuit::Probing);
        assert!(breaker.met(), "one from before has an answer");
        assert_eq!(breaker.admit(later), Admission::Go);
        assert!(
            !breaker.missed(later, true, 1.0),
            "the probe itself ends late"
        );
    }
}
