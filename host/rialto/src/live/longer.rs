//! Figures from before the last two hours, from the Prometheus that `rialto.toml` names.
//!
//! The queries are fixed: a caller chooses the time alone. The time and the bytes of an answer have bounds, and few are
//! asked for at a time, so that nobody makes the host a proxy or a weight on Prometheus.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use rialto_manifest::operator::Console;
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::figures::{GAUGES, QUANTILES, RATES, SECONDS, Series, round};
use super::past::{Course, Line};

/// The timeout for making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The time for all queries of an answer.
const WITHIN: Duration = Duration::from_secs(10);
/// Bytes of an answer to one query that are read.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// Answers that are asked for at a time.
const AT_A_TIME: usize = 2;
/// Series of one query; further ones are counted.
const SERIES_MAX: usize = 256;
/// The shortest time over which growth is measured, in seconds. Prometheus needs some readings in it.
const GROWTH_SECONDS_MIN: u64 = 120;

/// The Prometheus.
pub struct Longer {
    base: String,
    /// The label that the metrics must have, with a comma; empty for any.
    job: String,
    client: Client<HttpConnector, Full<Bytes>>,
    permits: Semaphore,
}

/// Why there are no such figures.
#[derive(Debug, thiserror::Error)]
#[error("Prometheus: {0}")]
pub struct Away(String);

/// What is asked of Prometheus: the query, and what its series are.
struct Query {
    text: String,
    /// The figure's name; none if the series' own name says it.
    name: Option<&'static str>,
    labels: &'static [&'static str],
}

#[derive(Deserialize)]
struct Answer {
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    metric: BTreeMap<String, String>,
    values: Vec<(f64, String)>,
}

impl Longer {
    /// The one that the operator's document names.
    #[must_use]
    pub fn new(console: &Console) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let base = console.prometheus.to_string();
        let job = console.job.as_ref();
        Self {
            base: base.trim_end_matches('/').to_owned(),
            // A name has no character that would end a label.
            job: job.map_or_else(String::new, |job| format!("job=\"{job}\",")),
            client: Client::builder(TokioExecutor::new()).build(connector),
            permits: Semaphore::new(AT_A_TIME),
        }
    }

    /// The figures of the last so many seconds up to an instant, in at most so many points.
    ///
    /// # Errors
    /// When Prometheus does not answer well, or not in time.
    pub async fn course(&self, now_ms: u64, seconds: u64, points: usize) -> Result<Course, Away> {
        let every = seconds.div_ceil(points.max(1) as u64).max(1);
        let end = now_ms / 1_000 / every * every;
        let start = end.saturating_sub(every * (seconds / every).saturating_sub(1));
        let asking = async {
            let _permit = self
                .permits
                .acquire()
                .await
                .map_err(|e| Away(e.to_string()))?;
            let mut course = Course {
                from: "prometheus",
                every_ms: every * 1_000,
                longer: true,
                at: (start..=end)
                    .step_by(usize::try_from(every).unwrap_or(usize::MAX))
                    .map(|at| at * 1_000)
                    .collect(),
                series: Vec::new(),
                left_out: 0,
            };
            for query in queries(&self.job, every.max(GROWTH_SECONDS_MIN)) {
                let found = self.ask(&query.text, (start, end, every)).await?;
                add(&mut course, &query, found, (start, every));
            }
            course
                .series
                .sort_by(|one, other| one.series.cmp(&other.series));
            Ok(course)
        };
        let answered = tokio::time::timeout(WITHIN, asking).await;
        let late = || Err(Away(format!("no answer within {} s", WITHIN.as_secs())));
        answered.unwrap_or_else(|_| late())
    }

    async fn ask(
        &self,
        query: &str,
        (start, end, every): (u64, u64, u64),
    ) -> Result<Vec<Found>, Away> {
        let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
        let form = format!("query={query}&start={start}&end={end}&step={every}");
        let request = Request::post(format!("{}/api/v1/query_range", self.base))
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(form)))
            .map_err(|e| Away(e.to_string()))?;
        let answered = self.client.request(request).await;
        let (head, body) = answered
            .map_err(|e| Away(format!("{}: {e}", self.base)))?
            .into_parts();
        let body = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
        let body = body.map_err(|e| Away(e.to_string()))?.to_bytes();
        if head.status != StatusCode::OK {
            return Err(Away(format!("{} answered {}", self.base, head.status)));
        }
        let answer: Result<Answer, _> = serde_json::from_slice(&body);
        let answer = answer.map_err(|e| Away(format!("{} answered {e}", self.base)))?;
        Ok(answer.data.result)
    }
}

/// All queries. `job` goes before other labels; growth is measured over so many seconds.
fn queries(job: &str, over: u64) -> Vec<Query> {
    let mut all = Vec::new();
    for (metric, name, labels) in RATES {
        let by = labels.join(",");
        all.push(Query {
            text: format!("sum by ({by}) (rate({metric}{{{job}}}[{over}s]))"),
            name: Some(name),
            labels,
        });
    }
    let (metric, label) = SECONDS;
    for (name, share) in QUANTILES {
        all.push(Query {
            text: format!(
                "histogram_quantile({share}, sum by ({label},le) (rate({metric}{{{job}}}[{over}s])))"
            ),
            name: Some(name),
            labels: &[SECONDS.1],
        });
    }
    let names: Vec<&str> = GAUGES.iter().map(|(metric, _)| *metric).collect();
    all.push(Query {
        text: format!(
            "sum by (__name__) ({{{job}__name__=~\"{}\"}})",
            names.join("|")
        ),
        name: None,
        labels: &[],
    });
    all
}

/// Add what was found to a course.
fn add(course: &mut Course, query: &Query, found: Vec<Found>, (start, every): (u64, u64)) {
    for (at, found) in found.into_iter().enumerate() {
        if at >= SERIES_MAX {
            course.left_out += 1;
            continue;
        }
        let own = || {
            let metric = found.metric.get("__name__")?;
            let gauge = GAUGES.iter().find(|(of, _)| of == metric)?;
            Some(gauge.1)
        };
        let Some(name) = query.name.or_else(own) else {
            continue;
        };
        let mut series = Series::plain(name);
        for label in query.labels {
            let text = found.metric.get(*label).cloned().unwrap_or_default();
            series.labels.insert(*label, text);
        }
        let mut values = vec![None; course.at.len()];
        for (at, value) in &found.values {
            let Some(point) = (*at as u64).checked_sub(start).map(|since| since / every) else {
                continue;
            };
            let value = value.parse::<f64>().ok().filter(|value| value.is_finite());
            if let Some(place) = values.get_mut(point as usize) {
                *place = value.map(round);
            }
        }
        course.series.push(Line { series, values });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn queries_name_the_job_and_nothing_of_the_caller() {
        let all = queries("job=\"a-host\",", 120);
        assert_eq!(
            all[0].text,
            "sum by (operation,status) (rate(rialto_http_requests_total{job=\"a-host\",}[120s]))"
        );
        assert!(
            all[5]
                .text
                .starts_with("sum by (__name__) ({job=\"a-host\",__name__=~\"rialto_")
        );
        let any = queries("", 120);
        assert!(any[0].text.contains("rialto_http_requests_total{}[120s]"));
    }

    #[test]
    fn answer_is_put_at_its_points() {
        let answer = r#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"operation":"ask","status":"202"},"values":[[100,"1.5"],[120,"NaN"],[130,"2"]]},
            {"metric":{"__name__":"rialto_secret"},"values":[[100,"1"]]}]}}"#;
        let found: Answer = serde_json::from_str(answer).unwrap();
        let mut course = Course {
            from: "prometheus",
            every_ms: 10_000,
            longer: true,
            at: vec![100_000, 110_000, 120_000, 130_000],
            series: Vec::new(),
            left_out: 0,
        };
        let all = queries("", 60);
        add(&mut course, &all[0], found.data.result, (100, 10));
        assert_eq!(course.series[0].values, [Some(1.5), None, None, Some(2.0)]);
        assert_eq!(course.series[0].series.labels["status"], "202");
        let found: Answer = serde_json::from_str(answer).unwrap();
        let before = course.series.len();
        add(&mut course, &all[5], found.data.result, (100, 10));
        assert_eq!(course.series.len(), before, "only known metrics count");
    }
}
