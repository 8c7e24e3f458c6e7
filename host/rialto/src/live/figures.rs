//! Figures from the host's own metrics: what has happened between two readings of them, a second, and what is so now.
//!
//! Only metrics of the tables below count. A console and the past of [`super::past`] have the same figures, under the same
//! names as those from a Prometheus ([`super::longer`]).

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

/// Counters whose growth a second is a figure: the metric, the figure's name, and the labels that it keeps.
pub(super) const RATES: [(&str, &str, &[&str]); 3] = [
    (
        "rialto_http_requests_total",
        "requests",
        &["operation", "status"],
    ),
    (
        "rialto_rule_verdicts_total",
        "verdicts",
        &["step", "rule", "verdict", "code"],
    ),
    ("rialto_deliveries_total", "deliveries", &["outcome"]),
];
/// The histogram of which quantiles are figures, by the label.
pub(super) const SECONDS: (&str, &str) = ("rialto_http_request_seconds_bucket", "operation");
/// Its quantiles: the figure's name and the share.
pub(super) const QUANTILES: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];
/// Metrics that are figures as they are, without labels.
pub(super) const GAUGES: [(&str, &str); 19] = [
    ("rialto_turns_active", "turns_active"),
    ("rialto_turns_alive", "turns_alive"),
    ("rialto_turns_uncommitted", "turns_uncommitted"),
    ("rialto_turns_delayed", "turns_delayed"),
    ("rialto_turns_kept", "turns_kept"),
    ("rialto_turns_on_disk", "turns_on_disk"),
    ("rialto_requests_outbound", "requests_outbound"),
    (
        "rialto_requests_outbound_on_disk",
        "requests_outbound_on_disk",
    ),
    ("rialto_reminders_held", "reminders_held"),
    ("rialto_circuits_open", "circuits_open"),
    ("rialto_components_paused", "components_paused"),
    ("rialto_rules_in_quarantine", "rules_in_quarantine"),
    ("rialto_dead_letters_total", "dead_letters"),
    ("rialto_requests_shed_total", "requests_shed"),
    ("rialto_commit_wait_seconds", "commit_wait_seconds"),
    ("rialto_journal_wait_seconds", "journal_wait_seconds"),
    ("rialto_disk_free_bytes", "disk_free_bytes"),
    ("rialto_store_bytes", "store_bytes"),
    ("rialto_live_streams", "live_streams"),
];

/// What a figure is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Series {
    /// Its name.
    pub name: &'static str,
    /// Its labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<&'static str, String>,
}

impl Series {
    /// A figure without labels.
    pub(super) const fn plain(name: &'static str) -> Self {
        Self {
            name,
            labels: BTreeMap::new(),
        }
    }

    /// Whether it is the growth of a counter.
    pub(super) fn is_rate(&self) -> bool {
        RATES.iter().any(|(_, name, _)| *name == self.name)
    }
}

/// A figure with its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it is of.
    #[serde(flatten)]
    pub series: Series,
    /// Its value.
    pub value: f64,
}

/// Counts of a histogram by the buckets' upper bounds, each with those below it.
type Buckets = Vec<(f64, f64)>;

/// A reading of the metrics.
#[derive(Debug, Default)]
pub struct Reading {
    /// When; milliseconds since 1970.
    pub at: u64,
    counters: HashMap<Series, f64>,
    seconds: HashMap<String, Buckets>,
    gauges: Vec<(&'static str, f64)>,
}

impl Reading {
    /// Read `OpenMetrics` text.
    #[must_use]
    pub fn of(text: &str, at: u64) -> Self {
        let mut reading = Self {
            at,
            ..Self::default()
        };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((left, value)) = line.rsplit_once(' ') else {
                continue;
            };
            let Ok(value) = value.parse::<f64>() else {
                continue;
            };
            let (metric, labels) = match left.split_once('{') {
                Some((metric, labels)) => (metric, labels.strip_suffix('}').unwrap_or(labels)),
                None => (left, ""),
            };
            reading.take(metric, labels, value);
        }
        reading
    }

    fn take(&mut self, metric: &str, labels: &str, value: f64) {
        if let Some((_, name)) = GAUGES.iter().find(|(of, _)| *of == metric) {
            self.gauges.push((name, value));
        } else if let Some((_, name, kept)) = RATES.iter().find(|(of, _, _)| *of == metric) {
            let mut series = Series::plain(name);
            for (label, text) in Labels(labels) {
                if let Some(label) = kept.iter().find(|kept| **kept == label) {
                    series.labels.insert(*label, text);
                }
            }
            *self.counters.entry(series).or_default() += value;
        } else if metric == SECONDS.0 {
            let (mut operation, mut bound) = (String::new(), f64::INFINITY);
            for (label, text) in Labels(labels) {
                if label == SECONDS.1 {
                    operation = text;
                } else if label == "le" {
                    bound = text.parse().unwrap_or(f64::INFINITY);
                }
            }
            let buckets = self.seconds.entry(operation).or_default();
            buckets.push((bound, value));
        }
    }

    /// What has happened since another reading, and what is so at this one.
    #[must_use]
    pub fn since(&self, before: &Self) -> Vec<Figure> {
        let seconds = self.at.saturating_sub(before.at).max(1) as f64 / 1_000.0;
        let rates = self.counters.iter().map(|(series, now)| {
            let grown = now - before.counters.get(series).copied().unwrap_or_default();
            Figure {
                series: series.clone(),
                value: round(grown.max(0.0) / seconds),
            }
        });
        let mut figures: Vec<Figure> = rates.collect();
        for (operation, now) in &self.seconds {
            let grown = grown(before.seconds.get(operation), now);
            for (name, share) in QUANTILES {
                let Some(value) = quantile(&grown, share) else {
                    continue;
                };
                let mut series = Series::plain(name);
                series.labels.insert(SECONDS.1, operation.clone());
                figures.push(Figure {
                    series,
                    value: round(value),
                });
            }
        }
        let gauges = self.gauges.iter();
        figures.extend(gauges.map(|(name, value)| Figure {
            series: Series::plain(name),
            value: *value,
        }));
        figures.sort_by(|one, other| one.series.cmp(&other.series));
        figures
    }
}

/// What has come into the buckets since.
fn grown(before: Option<&Buckets>, now: &Buckets) -> Buckets {
    let earlier = |at: usize| before.and_then(|all| all.get(at)).map_or(0.0, |b| b.1);
    let all = now.iter().enumerate();
    all.map(|(at, (bound, total))| (*bound, total - earlier(at)))
        .collect()
}

/// A quantile, with equal steps within a bucket; none if nothing has come.
fn quantile(buckets: &Buckets, share: f64) -> Option<f64> {
    let all = buckets.last().map_or(0.0, |last| last.1);
    if all <= 0.0 {
        return None;
    }
    let rank = share * all;
    let (mut bound, mut below) = (0.0, 0.0);
    for &(upper, total) in buckets {
        if total >= rank && total > below {
            if upper.is_infinite() {
                return Some(bound);
            }
            return Some(bound + (upper - bound) * (rank - below) / (total - below));
        }
        (bound, below) = (upper, total);
    }
    Some(bound)
}

/// A value with six digits behind the point: microseconds.
pub(super) fn round(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The labels of a line: `a="b",c="d"`.
struct Labels<'a>(&'a str);

impl<'a> Iterator for Labels<'a> {
    type Item = (&'a str, String);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = self.0.split_once("=\"")?;
        let mut text = String::new();
        let mut escaped = false;
        for (at, c) in rest.char_indices() {
            match c {
                'n' if escaped => text.push('\n'),
                _ if escaped => text.push(c),
                '\\' => {}
                '"' => {
                    let left = &rest[at + 1..];
                    self.0 = left.strip_prefix(',').unwrap_or(left);
                    return Some((name, text));
                }
                _ => text.push(c),
            }
            escaped = c == '\\' && !escaped;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "# TYPE rialto_http_requests counter\n\
        rialto_http_requests_total{operation=\"ask\",status=\"202\"} 10\n\
        rialto_http_request_seconds_bucket{le=\"0.1\",operation=\"ask\"} 10\n\
        rialto_http_request_seconds_bucket{le=\"0.2\",operation=\"ask\"} 10\n\
        rialto_http_request_seconds_bucket{le=\"+Inf\",operation=\"ask\"} 10\n\
        rialto_turns_alive 7\nrialto_unknown 1\n# EOF\n";
    const AFTER: &str = "rialto_http_requests_total{operation=\"ask\",status=\"202\"} 14\n\
        rialto_http_requests_total{operation=\"ask\",status=\"400\"} 2\n\
        rialto_http_request_seconds_bucket{le=\"0.1\",operation=\"ask\"} 12\n\
        rialto_http_request_seconds_bucket{le=\"0.2\",operation=\"ask\"} 14\n\
        rialto_http_request_seconds_bucket{le=\"+Inf\",operation=\"ask\"} 14\n\
        rialto_deliveries_total{destination=\"a\",outcome=\"delivered\"} 2\n\
        rialto_deliveries_total{destination=\"b\",outcome=\"delivered\"} 4\n\
        rialto_turns_alive 3\n";

    fn figures() -> BTreeMap<String, f64> {
        let before = Reading::of(BEFORE, 1_000);
        let all = Reading::of(AFTER, 3_000).since(&before);
        let named = |one: Figure| {
            let labels: Vec<String> = one.series.labels.into_values().collect();
            let name = [vec![one.series.name.to_owned()], labels].concat();
            (name.join(" "), one.value)
        };
        all.into_iter().map(named).collect()
    }

    #[test]
    fn growth_is_a_second_and_the_rest_is_now() {
        let all = figures();
        assert_eq!(all["requests ask 202"], 2.0);
        assert_eq!(all["requests ask 400"], 1.0);
        assert_eq!(all["deliveries delivered"], 3.0);
        assert_eq!(all["turns_alive"], 3.0);
        assert!(!all.keys().any(|name| name.contains("unknown")), "{all:?}");
    }

    #[test]
    fn quantiles_are_of_what_came_between() {
        let all = figures();
        assert_eq!(all["p50 ask"], 0.1);
        assert!((all["p99 ask"] - 0.198).abs() < 1e-6, "{all:?}");
        let same = Reading::of(AFTER, 5_000).since(&Reading::of(AFTER, 3_000));
        assert!(same.iter().all(|one| one.series.name != "p50"), "{same:?}");
    }

    #[test]
    fn labels_may_have_every_character() {
        let text =
            "rialto_rule_verdicts_total{step=\"a, b=\\\"}\",rule=\"\\\\n\\n\",code=\"x y\"} 3\n";
        let reading = Reading::of(text, 0);
        let (series, value) = reading
            .counters
            .iter()
            .next()
            .unwrap_or_else(|| panic!("none"));
        assert_eq!(*value, 3.0);
        assert_eq!(series.labels["step"], "a, b=\"}");
        assert_eq!(series.labels["rule"], "\\n\n");
        assert_eq!(series.labels["code"], "x y");
    }
}
