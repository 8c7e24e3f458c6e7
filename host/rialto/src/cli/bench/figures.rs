//! The figures of a benchmark: the host's counters and the bytes that it wrote, read at both ends of the window, and
//! divided by the number of payments.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rialto_manifest::Manifest;
use rialto_simulator::bench::{self, BenchResult, BenchSettings, Progress, Work};
use serde_json::{Value, json};

use super::database;
use crate::host::OPERATORS;
use crate::out;

/// Reads the host's own counters and what it wrote, at the window's ends.
pub(super) struct Sampler {
    metrics: String,
    pid: u32,
}

#[derive(Clone, Debug)]
struct Sample {
    at: Instant,
    counters: std::collections::HashMap<String, f64>,
    bytes_written: f64,
    database_cpu_ms: f64,
}

impl Sampler {
    pub fn new(manifest: &Manifest, pid: u32) -> anyhow::Result<Self> {
        let metrics = Self::url(manifest, "/metrics")?;
        Ok(Self { metrics, pid })
    }

    /// The URL of a path of a host's operators' listener.
    pub fn url(manifest: &Manifest, path: &str) -> anyhow::Result<String> {
        let mut listeners = manifest.operator().listeners.iter();
        let (_, listener) = listeners
            .find(|(name, _)| name.as_str() == OPERATORS)
            .context("the scheme has no `operators` listener")?;
        Ok(format!("http://{}{path}", listener.address.socket()))
    }

    async fn sample(&self) -> anyhow::Result<Sample> {
        let text = crate::client::fetch(&self.metrics).await?;
        let pairs = text.lines().filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        });
        let io = std::fs::read_to_string(format!("/proc/{}/io", self.pid)).unwrap_or_default();
        let written = io.lines().find_map(|l| l.strip_prefix("write_bytes: "));
        Ok(Sample {
            at: Instant::now(),
            counters: pairs.collect(),
            bytes_written: written.and_then(|w| w.parse().ok()).unwrap_or_default(),
            database_cpu_ms: database::cpu_ms(),
        })
    }
}

impl Sample {
    /// Reads a counter without labels. Returns an error if there is none: a default would look like a measured zero.
    fn counter(&self, name: &str) -> anyhow::Result<f64> {
        let full = format!("rialto_{name}_total");
        let value = self.counters.get(&full).copied();
        value.with_context(|| format!("the host has no counter `{full}`"))
    }
}

/// A run, with the counters before and after it.
pub(super) struct Measured {
    result: BenchResult,
    before: Sample,
    after: Sample,
}

/// Runs it, with a progress bar on request.
pub(super) async fn run(
    settings: &BenchSettings,
    work: Arc<impl Work>,
    show: bool,
    sampler: &Sampler,
) -> anyhow::Result<Measured> {
    let progress = Arc::new(Progress::default());
    let bar = indicatif::ProgressBar::new_spinner();
    if !show {
        bar.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    let watched = progress.clone();
    let shown = bar.clone();
    let watcher = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let committed = watched.committed.load(Ordering::Relaxed);
            let failed = watched.failed.load(Ordering::Relaxed);
            shown.set_message(format!("{committed} payments, {failed} failed"));
            shown.tick();
        }
    });
    // The window begins after the warm-up; the counters are read a little around it and are put
    // in relation to all payments between the two readings.
    let first = sampler.sample().await?;
    let result = bench::run(settings, work, progress.clone()).await?;
    let last = sampler.sample().await?;
    watcher.abort();
    bar.finish_and_clear();
    Ok(Measured {
        result,
        before: first,
        after: last,
    })
}

/// The figures as one JSON object.
pub(super) fn figures(measured: &Measured) -> anyhow::Result<Value> {
    let Measured {
        result,
        before,
        after,
    } = measured;
    let delta = |name: &str| anyhow::Ok(after.counter(name)? - before.counter(name)?);
    // All payments between the two samples, warm-up included.
    let requests = |s: &Sample| -> f64 {
        let of = s.counters.iter();
        of.filter(|(name, _)| {
            name.starts_with("rialto_http_requests_total{")
                && name.contains("operation=\"requestTransfer\"")
        })
        .map(|(_, value)| value)
        .sum()
    };
    let all = (requests(after) - requests(before)).max(1.0);
    let commits = delta("commits")?;
    let cpu = |name: &str| {
        let process = result.cpu.iter().find(|p| p.name == name);
        process.map_or(0.0, |p| p.ms_per_payment)
    };
    let shares = shares(result, delta("http_json_nanoseconds")?, all);
    let elapsed = after.at.duration_since(before.at).as_secs_f64();
    // Only builds with debug assertions count them.
    let counted = |name: &str| delta(name).ok().map(|count| count / all);
    Ok(json!({
        "payments": result.payments,
        "failed": result.failed,
        "failures": result.failures,
        "payments_per_second": result.payments_per_second,
        "p50_ms": result.latency.p50_ms,
        "p95_ms": result.latency.p95_ms,
        "p99_ms": result.latency.p99_ms,
        "p999_ms": result.latency.p999_ms,
        "max_ms": result.latency.max_ms,
        "transfer_p50_ms": result.transfer.map(|transfer| transfer.p50_ms),
        "transfer_p99_ms": result.transfer.map(|transfer| transfer.p99_ms),
        "host_cpu_ms_per_payment": cpu("host"),
        "fsp_cpu_ms_per_payment": cpu("fsps"),
        "generator_cpu_ms_per_payment": cpu("generator"),
        "passing_cpu_ms_per_payment": cpu("passing"),
        "database_cpu_ms_per_payment": (after.database_cpu_ms - before.database_cpu_ms) / all,
        "bytes_written_per_payment": (after.bytes_written - before.bytes_written) / all,
        "commits_per_second": commits / elapsed,
        "turns_per_commit": delta("turns_committed")? / commits.max(1.0),
        "turns_per_payment": delta("turns_executed")? / all,
        "documents_per_payment": delta("documents_written")? / all,
        "conflicts_per_payment": delta("turn_conflicts")? / all,
        "allocations_per_payment": counted("allocations"),
        "allocated_bytes_per_payment": counted("allocated_bytes"),
        "host_share": shares,
        "load": result.load,
        "seconds": result.seconds,
        "per_second": result.per_second,
    }))
}

/// The conditions of the measurement: the machine's cores, and how busy they were before.
pub(super) fn conditions() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|l| l.parse::<f64>().ok());
    json!({ "cores": cores, "load_average_before": load })
}

/// The share of the host's CPU time by what it was used for, from its threads' names.
fn shares(result: &BenchResult, json_ns: f64, all: f64) -> Value {
    let Some(host) = result.cpu.iter().find(|p| p.name == "host") else {
        return Value::Null;
    };
    let total = host.cpu.seconds.max(f64::MIN_POSITIVE);
    let group = |names: &[&str]| -> f64 {
        let groups = host.cpu.groups.iter();
        groups
            .filter(|(name, _)| names.iter().any(|n| name.starts_with(n)))
            .map(|(_, seconds)| seconds / total)
            .sum()
    };
    let json = json_ns / 1e9 / all * result.payments as f64 / total;
    let http = group(&["http", "tokio"]) - json;
    let storage = group(&["store", "commit"]);
    let components = group(&["turn"]);
    json!({
        "http": http,
        "json": json,
        "components": components,
        "storage": storage,
        "other": 1.0 - http - json - storage - components,
    })
}

/// One figure a line.
pub(super) fn print_table(figures: &Value) -> Result<(), out::Unwritten> {
    let mut lines = Vec::new();
    add_lines("", figures, &mut lines);
    for line in lines {
        out::line(format_args!("{line}"))?;
    }
    Ok(())
}

/// The lines of a figure, or of all members of an object, under dotted names.
fn add_lines(name: &str, figure: &Value, lines: &mut Vec<String>) {
    let text = match figure {
        Value::Object(within) if !within.is_empty() => {
            for (key, figure) in within {
                let dot = if name.is_empty() { "" } else { "." };
                add_lines(&format!("{name}{dot}{key}"), figure, lines);
            }
            return;
        }
        Value::Array(list) => {
            let each: Vec<String> = list.iter().map(Value::to_string).collect();
            each.join(" ")
        }
        Value::Number(n) if n.is_f64() => {
            format!("{:>12.3}", n.as_f64().unwrap_or_default())
        }
        Value::Number(n) => format!("{n:>8}"),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Object(_) | Value::Null => "none".to_owned(),
    };
    lines.push(format!("{name:<30} {text}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_figure() {
        let figures = json!({
            "payments": 39603,
            "payments_per_second": 2639.4251,
            "failures": {},
            "host_share": {"http": 0.1, "json": 0.25},
            "of": "prepares",
            "per_second": [28, 29],
            "signed": false,
        });
        let mut lines = Vec::new();
        add_lines("", &figures, &mut lines);
        let expected = [
            "payments                       39603",
            "payments_per_second                2639.425",
            "failures                       none",
            "host_share.http                       0.100",
            "host_share.json                       0.250",
            "of                             prepares",
            "per_second                     28 29",
            "signed                         no",
        ];
        assert_eq!(lines, expected);
    }
}
