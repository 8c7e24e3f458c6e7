//! Time and randomness as the engine sees them.

use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize};

/// An instant: UTC, milliseconds since 1970.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(pub u64);

impl Add<u64> for Timestamp {
    type Output = Timestamp;
    fn add(self, milliseconds: u64) -> Timestamp {
        Timestamp(self.0.saturating_add(milliseconds))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The engine's source of time.
pub trait Clock: Send + Sync + 'static {
    /// Now, in UTC.
    fn now(&self) -> Timestamp;
    /// Microseconds since an arbitrary point; never goes back.
    fn monotonic_us(&self) -> u64;
}

/// The engine's source of randomness.
pub trait Entropy: Send + Sync + 'static {
    /// Fill with random bytes.
    fn fill(&self, bytes: &mut [u8]);
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    origin: std::time::Instant,
}

#[allow(
    clippy::disallowed_methods,
    reason = "the one place that reads the machine's clock"
)]
impl Default for SystemClock {
    fn default() -> Self {
        Self {
            origin: std::time::Instant::now(),
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "the one place that reads the machine's clock"
)]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn monotonic_us(&self) -> u64 {
        u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

/// The machine's randomness.
#[derive(Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        rand::fill(bytes);
    }
}
