//! The processor time of a candidate: a share of one processor, with what a short burst needs.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// The most that is saved up, as time of the whole share.
const SAVED_MAX: Duration = Duration::from_millis(200);

/// A budget that fills with time and is used up by work.
pub(super) struct Budget {
    /// In millionths of one processor.
    share: u32,
    saved: Duration,
    /// What was used beyond it.
    owed: Duration,
    last: Instant,
}

impl Budget {
    pub fn new(share: u32) -> Self {
        Self {
            share,
            saved: part(SAVED_MAX, share),
            owed: Duration::ZERO,
            last: Instant::now(),
        }
    }

    /// Give it another share, if it has another one now. What was used beyond the old one stays owed.
    pub fn set_share(&mut self, share: u32) {
        if share != self.share {
            self.share = share;
            self.saved = self.saved.min(part(SAVED_MAX, share));
        }
    }

    /// Whether there is time for another verdict.
    pub fn has_some(&mut self) -> bool {
        let now = Instant::now();
        self.fill(now.duration_since(self.last));
        self.last = now;
        self.owed.is_zero() && !self.saved.is_zero()
    }

    fn fill(&mut self, passed: Duration) {
        let more = part(passed, self.share);
        let paid = more.min(self.owed);
        self.owed -= paid;
        let most = part(SAVED_MAX, self.share);
        self.saved = (self.saved + (more - paid)).min(most);
    }

    /// Use some of it up, also what is not there.
    pub fn use_up(&mut self, used: Duration) {
        let from_saved = used.min(self.saved);
        self.saved -= from_saved;
        self.owed += used - from_saved;
    }
}

fn part(whole: Duration, share: u32) -> Duration {
    let nanoseconds = whole.as_nanos() * u128::from(share) / 1_000_000;
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

/// Processor time of this thread.
pub(super) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_is_used_up_and_fills_with_time() {
        let mut budget = Budget::new(100_000);
        assert_eq!(budget.saved, Duration::from_millis(20));
        budget.use_up(Duration::from_millis(15));
        assert_eq!(budget.saved, Duration::from_millis(5));
        // What was used beyond it is paid back first.
        budget.use_up(Duration::from_millis(15));
        assert_eq!(
            (budget.saved, budget.owed),
            (Duration::ZERO, Duration::from_millis(10))
        );
        budget.fill(Duration::from_millis(50));
        assert_eq!(
            (budget.saved, budget.owed),
            (Duration::ZERO, Duration::from_millis(5))
        );
        budget.fill(Duration::from_millis(100));
        assert_eq!(
            (budget.saved, budget.owed),
            (Duration::from_millis(5), Duration::ZERO)
        );
        budget.fill(Duration::from_secs(100));
        assert_eq!(budget.saved, Duration::from_millis(20));
        // Another release gives it less.
        budget.set_share(10_000);
        assert_eq!(budget.saved, Duration::from_millis(2));
        budget.use_up(Duration::from_millis(3));
        budget.fill(Duration::from_millis(100));
        assert_eq!(
            (budget.saved, budget.owed),
            (Duration::ZERO, Duration::ZERO)
        );
    }
}
