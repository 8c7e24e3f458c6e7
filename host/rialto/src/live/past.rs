//! The figures of the last two hours, in memory: a sample each six seconds, of a bounded number of series.

use std::collections::{HashMap, VecDeque};

use serde::Serialize;

use super::figures::{Figure, Series, round};

/// The time between two samples, in milliseconds. Figures are told three times as often, and at each sample: a reader that
/// has samples and adds what was told after the newest one counts nothing twice.
pub const EVERY_MS: u64 = 6_000;
/// How many samples are kept: two hours.
const SAMPLES: usize = 1_200;
/// The most series: about 1.5 MB. Series that come later are left out.
const SERIES_MAX: usize = 256;

/// What has been.
#[derive(Debug, Default)]
pub struct Past {
    at: VecDeque<u64>,
    /// Of each series a value for each sample; NaN where there was none.
    series: HashMap<Series, VecDeque<f32>>,
    left_out: u64,
}

/// Figures over time, as they are sent.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Course {
    /// Where they are from: `memory`, or `prometheus`.
    pub from: &'static str,
    /// The time between two points, in milliseconds.
    pub every_ms: u64,
    /// Whether there are figures from before the last two hours.
    pub longer: bool,
    /// When each point is; milliseconds since 1970.
    pub at: Vec<u64>,
    /// What there was.
    pub series: Vec<Line>,
    /// How many figures had no room.
    pub left_out: u64,
}

/// A figure over time.
#[derive(Debug, PartialEq, Serialize)]
pub struct Line {
    /// What it is of.
    #[serde(flatten)]
    pub series: Series,
    /// A value for each point; none where nothing is known.
    pub values: Vec<Option<f64>>,
}

impl Past {
    /// Keep a sample.
    pub fn keep(&mut self, at: u64, figures: Vec<Figure>) {
        let before = self.at.len();
        self.at.push_back(at);
        for Figure { series, value } in figures {
            let is_new = !self.series.contains_key(&series);
            if is_new && self.series.len() >= SERIES_MAX {
                self.left_out += 1;
                continue;
            }
            // A counter that was not there had counted nothing.
            let earlier = if series.is_rate() { 0.0 } else { f32::NAN };
            let values = self.series.entry(series).or_insert_with(|| {
                let mut values = VecDeque::with_capacity(SAMPLES + 1);
                values.resize(before, earlier);
                values
            });
            // A series occurs once in a sample.
            if values.len() == before {
                values.push_back(value as f32);
            }
        }
        for values in self.series.values_mut() {
            values.resize(before + 1, f32::NAN);
        }
        if self.at.len() > SAMPLES {
            self.at.pop_front();
            for values in self.series.values_mut() {
                values.pop_front();
            }
            self.series
                .retain(|_, values| values.iter().any(|value| !value.is_nan()));
        }
    }

    /// The last so many milliseconds, in at most so many points. A point is the mean of its samples.
    #[must_use]
    pub fn course(&self, last_ms: u64, points: usize, longer: bool) -> Course {
        let newest = self.at.back().copied().unwrap_or_default();
        let oldest = newest.saturating_sub(last_ms);
        let first = self.at.partition_point(|at| *at < oldest);
        let samples = self.at.len() - first;
        let each = samples.div_ceil(points.max(1)).max(1);
        // The newest point is whole: what is too much is left out of the oldest one.
        let starts = || (first..self.at.len()).rev().step_by(each);
        let mut ends: Vec<usize> = starts().collect();
        ends.reverse();
        let mean = |values: &VecDeque<f32>, end: usize| {
            let from = (end + 1).saturating_sub(each).max(first);
            let known = values.range(from..=end).filter(|value| !value.is_nan());
            let (sum, n) = known.fold((0.0, 0_u32), |(sum, n), v| (sum + f64::from(*v), n + 1));
            (n > 0).then(|| round(sum / f64::from(n)))
        };
        let lines = self.series.iter().map(|(series, values)| Line {
            series: series.clone(),
            values: ends.iter().map(|end| mean(values, *end)).collect(),
        });
        let mut series: Vec<Line> = lines.collect();
        series.retain(|line| line.values.iter().any(Option::is_some));
        series.sort_by(|one, other| one.series.cmp(&other.series));
        Course {
            from: "memory",
            every_ms: EVERY_MS * each as u64,
            longer,
            at: ends.iter().map(|end| self.at[*end]).collect(),
            series,
            left_out: self.left_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(name: &'static str, value: f64) -> Figure {
        Figure {
            series: Series::plain(name),
            value,
        }
    }

    #[test]
    fn two_hours_stay_and_no_more() {
        let mut past = Past::default();
        for n in 0..SAMPLES as u64 + 10 {
            past.keep(n * EVERY_MS, vec![figure("turns_alive", n as f64)]);
        }
        let all = past.course(u64::MAX, usize::MAX, false);
        assert_eq!(all.at.len(), SAMPLES);
        assert_eq!(all.at[0], 10 * EVERY_MS);
        assert_eq!(all.series[0].values[0], Some(10.0));
    }

    #[test]
    fn a_point_is_the_mean_of_its_samples_and_what_is_unknown_stays_so() {
        let mut past = Past::default();
        past.keep(6_000, vec![figure("turns_alive", 1.0)]);
        past.keep(12_000, vec![figure("turns_alive", 3.0), figure("p50", 0.5)]);
        past.keep(18_000, vec![figure("turns_alive", 5.0)]);
        past.keep(24_000, vec![figure("turns_alive", 7.0)]);
        let course = past.course(u64::MAX, 2, false);
        assert_eq!((course.every_ms, course.at), (12_000, vec![12_000, 24_000]));
        assert_eq!(course.series[0].series.name, "p50");
        assert_eq!(course.series[0].values, [Some(0.5), None]);
        assert_eq!(course.series[1].values, [Some(2.0), Some(6.0)]);
        let last = past.course(6_000, 100, false);
        assert_eq!(last.at, [18_000, 24_000]);
        assert_eq!(last.series.len(), 1, "{last:?}");
    }

    #[test]
    fn a_counter_that_was_not_there_had_counted_nothing() {
        let mut past = Past::default();
        past.keep(6_000, vec![figure("turns_alive", 1.0)]);
        past.keep(12_000, vec![figure("verdicts", 0.5)]);
        let course = past.course(u64::MAX, 1, false);
        assert_eq!(course.series[1].series.name, "verdicts");
        assert_eq!(course.series[1].values, [Some(0.25)]);
    }

    #[test]
    fn series_without_end_have_no_room() {
        let mut past = Past::default();
        let labelled = |n: usize| {
            let mut one = figure("requests", 1.0);
            one.series.labels.insert("operation", n.to_string());
            one
        };
        past.keep(0, (0..SERIES_MAX + 5).map(labelled).collect());
        assert_eq!(past.series.len(), SERIES_MAX);
        assert_eq!(past.course(u64::MAX, 1, false).left_out, 5);
        assert_eq!(past.course(u64::MAX, 1, false).series.len(), SERIES_MAX);
    }
}
