//! The time of each part of a verb, as a table at its end.

use std::time::{Duration, Instant};

/// Parts and their times, in the order in which they were run.
#[derive(Debug, Default)]
pub struct Times(Vec<(String, Duration)>);

impl Times {
    /// Runs a part, and records its time, even if it fails.
    pub fn part<T>(&mut self, name: &str, run: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let outcome = run();
        self.0.push((name.to_owned(), began.elapsed()));
        outcome
    }

    /// The table: one line per part, and their sum.
    pub fn table(&self) -> String {
        let sum = self.0.iter().map(|(_, time)| *time).sum();
        let all = self.0.iter().map(|(name, time)| (name.as_str(), *time));
        let lines = all.chain([("in all", sum)]);
        lines
            .map(|(name, time)| format!("time: {:>5}  {name}\n", minutes(time)))
            .collect()
    }
}

/// Minutes and seconds, as `12:05`.
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_a_line_with_a_final_sum() {
        let times = Times(vec![
            ("build".into(), Duration::from_secs(725)),
            ("tests".into(), Duration::from_millis(9_999)),
        ]);
        let table = "time: 12:05  build\ntime:  0:09  tests\ntime: 12:14  in all\n";
        assert_eq!(times.table(), table);
    }

    #[test]
    fn a_part_is_noted_though_it_failed() {
        let mut times = Times::default();
        let outcome: Result<(), &str> = times.part("lints", || Err("no"));
        assert_eq!(outcome, Err("no"));
        assert!(times.table().contains("lints"));
    }
}
