//! The load generator: does a piece of [`Work`] again and again and measures it: whole [`Payments`], which
//! payer FSPs are asked for by their control APIs, or [`Prepares`] of transfers.
//!
//! Host, FSPs and generator are meant to be three processes, so that each one's cost is known.
//!
//! - A **closed loop** keeps a number of payments in flight: it finds the highest rate. Its
//!   latencies flatter a system that stalls, since a stalled system is asked less.
//! - An **open loop** begins payments at a fixed rate, independently of their ends. Latency counts from the
//!   instant at which a payment should have begun, so nothing is omitted.
//!
//! The measured window begins after a warm-up. In a closed loop the payments that *end* in the
//! window count; in an open loop those that *should begin* in it, and the window stays open
//! until the last of those that end COMMITTED has ended.

mod account;
mod generator;
mod latency;
mod payments;
mod prepares;
mod report;
mod unit;

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::BaseUrlError;

pub use account::{Account, NAMED_MAX, Unpaid};
pub use generator::run;
pub use latency::Latencies;
pub use payments::Payments;
pub use prepares::Prepares;
pub use report::{BenchResult, Percentiles, ProcessUse};
pub use unit::{Signer, UnitError, in_signatures};

/// What to run.
#[derive(Clone, Debug)]
pub struct BenchSettings {
    /// How payments are begun.
    pub load: Load,
    /// How long to run before measuring.
    pub warm_up: Duration,
    /// How long to measure.
    pub extent: Extent,
    /// Whose CPU time to read over the measured window: name and process id.
    pub processes: Vec<(String, u32)>,
    /// How long one payment may take: what is still under way so long after the window closed is given up.
    pub timeout: Duration,
}

/// The measured unit: payments, or a part of them. Settings, progress and result call each of them a payment.
pub trait Work: Send + Sync + 'static {
    /// Do it once. The error says which one failed, and why.
    fn once(&self) -> impl Future<Output = Result<Paid, Unpaid>> + Send;
}

/// A payment that ended COMMITTED.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Paid {
    /// The time of its last step: from the payer FSP's `POST /transfers` to the callback. None where the whole work
    /// is that step.
    pub transfer: Option<Duration>,
}

/// How payments are begun.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Load {
    /// This many at a time; the next one when one ends.
    #[serde(rename_all = "camelCase")]
    Closed {
        /// Payments in flight.
        concurrency: usize,
    },
    /// This many a second, evenly.
    #[serde(rename_all = "camelCase")]
    Open {
        /// Payments begun per second.
        per_second: u32,
    },
}

/// How long to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// For a time.
    For(Duration),
    /// Until a number of payments have ended.
    Payments(u64),
}

impl Default for BenchSettings {
    /// A closed loop of 64 payments in flight for ten seconds after a warm-up of three.
    fn default() -> Self {
        Self {
            load: Load::Closed { concurrency: 64 },
            warm_up: Duration::from_secs(3),
            extent: Extent::For(Duration::from_secs(10)),
            processes: Vec::new(),
            timeout: crate::limits::DRAIN_TIMEOUT,
        }
    }
}

/// The progress of a run.
#[derive(Debug, Default)]
pub struct Progress {
    /// Payments that ended well, warm-up included.
    pub committed: AtomicU64,
    /// Payments that did not, warm-up included.
    pub failed: AtomicU64,
}

/// Why a benchmark could not run.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The settings describe no run.
    #[error("{0}")]
    Settings(&'static str),
    /// A payer's address is none.
    #[error(transparent)]
    Payer(#[from] BaseUrlError),
    /// A process cannot be watched.
    #[error("the CPU time of process {pid} ({name}) cannot be read")]
    Process {
        /// Its name.
        name: String,
        /// Its id.
        pid: u32,
        /// Why not.
        source: std::io::Error,
    },
}
