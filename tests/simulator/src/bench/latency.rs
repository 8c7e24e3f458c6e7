//! Latencies: every one is kept, so that percentiles are exact.

use std::time::Duration;

/// A collection of latencies.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    sorted_us: Vec<u64>,
}

impl Latencies {
    /// Takes latencies in microseconds, in any order.
    pub fn new(mut us: Vec<u64>) -> Self {
        us.sort_unstable();
        Self { sorted_us: us }
    }

    /// The smallest latency that at least this share of all (in per mille) does not exceed:
    /// nearest rank. Zero if there are none.
    pub fn per_mille(&self, per_mille: u64) -> Duration {
        let count = self.sorted_us.len() as u64;
        let rank = (count * per_mille.min(1000)).div_ceil(1000).max(1);
        let place = usize::try_from(rank - 1).unwrap_or(usize::MAX);
        Duration::from_micros(self.sorted_us.get(place).copied().unwrap_or(0))
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.sorted_us.last().copied().unwrap_or(0))
    }

    /// The mean.
    pub fn mean(&self) -> Duration {
        let count = self.sorted_us.len() as u64;
        let sum: u64 = self.sorted_us.iter().sum();
        Duration::from_micros(sum.checked_div(count).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let latencies = Latencies::new((1..=100).rev().collect());
        let us = |per_mille| latencies.per_mille(per_mille).as_micros();
        assert_eq!(
            (us(500), us(950), us(990), us(999), us(1000)),
            (50, 95, 99, 100, 100)
        );
        assert_eq!(us(0), 1);
        assert_eq!(latencies.max().as_micros(), 100);
        assert_eq!(latencies.mean().as_micros(), 50);
    }

    #[test]
    fn no_latencies_are_no_trouble() {
        let none = Latencies::default();
        assert_eq!(none.per_mille(990), Duration::ZERO);
        assert_eq!((none.max(), none.mean()), (Duration::ZERO, Duration::ZERO));
    }
}
