//! The result of a benchmark.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::{Account, Latencies, Load};
use crate::cpu::CpuUse;
use crate::time::milliseconds;

/// The result of a run. All figures but the account are of the measured window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchResult {
    /// How payments were begun.
    pub load: Load,
    /// The outcomes of all payments, also outside the window.
    #[serde(skip)]
    pub account: Account,
    /// Payments that ended COMMITTED.
    pub payments: u64,
    /// Payments that did not.
    pub failed: u64,
    /// How many failed for which reason.
    pub failures: BTreeMap<String, u64>,
    /// How long the window was, in seconds.
    pub seconds: f64,
    /// Payments that ended COMMITTED, per second.
    pub payments_per_second: f64,
    /// Latencies of the payments that ended COMMITTED.
    #[serde(flatten)]
    pub latency: Percentiles,
    /// Those of their last step alone: from `POST /transfers` to the callback. None where the work has no steps.
    pub transfer: Option<Percentiles>,
    /// Payments that ended COMMITTED in each whole second of the window.
    pub per_second: Vec<u64>,
    /// The CPU time of the watched processes.
    pub cpu: Vec<ProcessUse>,
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50_ms: f64,
    /// 95 per cent are not above it.
    pub p95_ms: f64,
    /// 99 per cent are not above it.
    pub p99_ms: f64,
    /// 99.9 per cent are not above it.
    pub p999_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// The mean.
    pub mean_ms: f64,
}

impl Percentiles {
    pub(super) fn of(latencies: &Latencies) -> Self {
        let at = |per_mille| milliseconds(latencies.per_mille(per_mille));
        Self {
            p50_ms: at(500),
            p95_ms: at(950),
            p99_ms: at(990),
            p999_ms: at(999),
            max_ms: milliseconds(latencies.max()),
            mean_ms: milliseconds(latencies.mean()),
        }
    }
}

/// What one process used.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessUse {
    /// The name that it was given.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// CPU milliseconds for each payment that ended COMMITTED; zero if none did.
    pub ms_per_payment: f64,
    /// All of it.
    #[serde(flatten)]
    pub cpu: CpuUse,
}

impl fmt::Display for BenchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.load {
            Load::Closed { concurrency } => {
                writeln!(f, "closed loop, {concurrency} payments in flight")?;
            }
            Load::Open { per_second } => {
                writeln!(f, "open loop, {per_second} payments a second")?;
            }
        }
        writeln!(
            f,
            "{} payments in {:.1} s: {:.1} payments a second, {} failed",
            self.payments, self.seconds, self.payments_per_second, self.failed
        )?;
        let latency = &self.latency;
        writeln!(
            f,
            "latency: p50 {:.1} ms, p95 {:.1} ms, p99 {:.1} ms, p99.9 {:.1} ms, max {:.1} ms",
            latency.p50_ms, latency.p95_ms, latency.p99_ms, latency.p999_ms, latency.max_ms
        )?;
        for (reason, count) in &self.failures {
            writeln!(f, "failed {count} times: {reason}")?;
        }
        for process in &self.cpu {
            let cpu = &process.cpu;
            writeln!(
                f,
                "{}: {:.2} cores, {:.3} CPU ms a payment",
                process.name, cpu.cores, process.ms_per_payment
            )?;
            let mut groups: Vec<_> = cpu.groups.iter().collect();
            groups.sort_by(|one, two| two.1.total_cmp(one.1));
            for (group, seconds) in groups {
                let share = if cpu.seconds > 0.0 {
                    seconds / cpu.seconds * 100.0
                } else {
                    0.0
                };
                writeln!(f, "    {group:<16} {seconds:>8.2} s {share:>5.1} %")?;
            }
        }
        Ok(())
    }
}
