//! Metrics of releases that come into force at an instant.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use rialto_engine::Clock;

use super::scheduled::Ahead;

use crate::one_metric::gauge;

/// Reports the next scheduled release when metrics are read. It reads no store.
pub struct ScheduledCollector {
    pub(super) ahead: Arc<Ahead>,
    pub(super) clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for ScheduledCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ScheduledCollector")
    }
}

/// A gauge's name, its help, and its value.
type Row = (&'static str, &'static str, i64);

impl ScheduledCollector {
    /// What there is to report. Two gauges are there only while a release is scheduled.
    fn rows(&self) -> Vec<Row> {
        let shown = self.ahead.shown();
        let count = i64::try_from(shown.map_or(0, |shown| shown.count)).unwrap_or(i64::MAX);
        let help = "Releases that come into force later";
        let mut rows = vec![("scheduled_releases", help, count)];
        if let Some(shown) = shown {
            let instant = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
            // Rounded down, so that it is 0 at the instant and below 0 when it has passed.
            let left = instant(shown.from.0).saturating_sub(instant(self.clock.now().0));
            rows.push((
                "scheduled_release_seconds",
                "Seconds until the next scheduled release comes into force; below 0 if it should have",
                left.div_euclid(1_000),
            ));
            rows.push((
                "scheduled_release_ready",
                "Whether the next scheduled release is prepared",
                i64::from(shown.is_ready),
            ));
        }
        rows
    }
}

impl Collector for ScheduledCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for (name, help, value) in self.rows() {
            gauge(&mut encoder, name, help, value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rialto_engine::Timestamp;

    use super::*;

    /// A clock that stands.
    struct Still(u64);

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp(self.0)
        }

        fn monotonic_us(&self) -> u64 {
            0
        }
    }

    fn rows(now: u64, next: Option<(u64, u64)>) -> Vec<(&'static str, i64)> {
        let ahead = Arc::new(Ahead::default());
        ahead.set(next.map(|(number, from)| (number, Timestamp(from))), 2);
        let clock = Arc::new(Still(now));
        let rows = ScheduledCollector { ahead, clock }.rows();
        rows.into_iter()
            .map(|(name, _, value)| (name, value))
            .collect()
    }

    #[test]
    fn next_scheduled_release_is_reported_with_its_time() {
        assert_eq!(rows(5_000, None), [("scheduled_releases", 0)]);
        for (now, left) in [
            (5_000, 5),
            (5_001, 4),
            (10_000, 0),
            (10_001, -1),
            (12_000, -2),
        ] {
            let wanted = [
                ("scheduled_releases", 2),
                ("scheduled_release_seconds", left),
                ("scheduled_release_ready", 0),
            ];
            assert_eq!(rows(now, Some((3, 10_000))), wanted, "{now}");
        }
    }
}
