//! Simulated time and chance: a clock that the run moves, and randomness from a seed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use rialto_engine::{Clock, Entropy, Timestamp};

/// When every simulation begins: 2026-01-01, in milliseconds since 1970.
pub const BEGINNING: u64 = 1_767_225_600_000;

/// A clock that stands still until it is moved. It outlives the hosts that read it.
#[derive(Debug)]
pub struct SimClock(AtomicU64);

impl Default for SimClock {
    fn default() -> Self {
        Self(AtomicU64::new(BEGINNING))
    }
}

impl SimClock {
    /// Milliseconds since 1970.
    pub fn millis(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Let time go on.
    pub fn advance(&self, millis: u64) {
        self.0.fetch_add(millis, Ordering::Relaxed);
    }

    /// Let time go on until then, if that is to come.
    pub fn advance_to(&self, millis: u64) {
        self.0.fetch_max(millis, Ordering::Relaxed);
    }
}

impl Clock for SimClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.millis())
    }

    fn monotonic_us(&self) -> u64 {
        (self.millis() - BEGINNING) * 1_000
    }
}

/// Randomness for the host, from a seed.
#[derive(Debug)]
pub struct SimEntropy(Mutex<SmallRng>);

impl SimEntropy {
    /// What this seed gives.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(SmallRng::seed_from_u64(seed)))
    }
}

impl Entropy for SimEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().fill_bytes(bytes);
    }
}

/// An instant as FSPIOP's `DateTime`.
pub fn date_time(millis: u64) -> String {
    let instant = i64::try_from(millis)
        .ok()
        .and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok())
        .unwrap_or(jiff::Timestamp::MAX);
    instant.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// An instant as HTTP's `Date`.
pub fn http_date(millis: u64) -> String {
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_as_the_api_wants_them() {
        assert_eq!(date_time(BEGINNING + 7), "2026-01-01T00:00:00.007Z");
        assert_eq!(http_date(BEGINNING), "Thu, 01 Jan 2026 00:00:00 GMT");
    }
}
