//! The account of many payments, while rules are swapped, the host is killed and a neighbour is slow. Each payment is
//! followed to its end. For one that did not end COMMITTED, the account names the missing message and its side, from
//! the host's history.

mod missing;
mod trouble;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use rialto_manifest::Manifest;
use rialto_manifest::operator::FIRST_OPERATOR;
use rialto_simulator::bench::{self, BenchSettings, Extent, NAMED_MAX, Payments, Progress};
use rialto_simulator::client::HttpClient;
use serde_json::{Value, json};

use super::neighbour::{self, Health};
use super::stage::{runtime, scene, start};
use super::{Bench, place};
use crate::cli::load;
use crate::client::Client;
use crate::out;
use missing::missing;
use trouble::{Happened, kill, serve, swap};

/// The longest time of one payment: longer than its three waits for a callback.
const PAYMENT_TIMEOUT: Duration = Duration::from_secs(180);
/// Payments that failed and are named in the table.
const SHOWN_MAX: usize = 100;
/// How often an FSP tries to deliver a callback: enough for a host to restart.
const CALLBACK_ATTEMPTS: u32 = 9;

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Make this many payments and account for each, instead of measuring: how many began, how they ended, and which
    /// message was missing on which side of those that failed
    #[arg(long, value_name = "PAYMENTS", conflicts_with_all = ["jws", "neighbour", "payers", "state"])]
    account: Option<u64>,
    /// Meanwhile, swap the scheme's first rule at this interval
    #[arg(long, value_name = "SECONDS", requires = "account", value_parser = clap::value_parser!(u64).range(1..))]
    swap_every: Option<u64>,
    /// Meanwhile, kill the host and start it again at this interval
    #[arg(long, value_name = "SECONDS", requires = "account", value_parser = clap::value_parser!(u64).range(1..))]
    kill_every: Option<u64>,
    /// Meanwhile, make payments to a third FSP that answers after 30 seconds
    #[arg(long, requires = "account")]
    slow_neighbour: bool,
}

impl Options {
    /// The number of payments to account for, if any.
    pub const fn payments(&self) -> Option<u64> {
        self.account
    }
}

/// Makes payments in a copy of the scheme and prints their outcomes. Returns 1 if one has no end, or failed without an
/// explanation.
pub(super) fn account(
    bench: &Bench,
    given: &Manifest,
    temporary: &Path,
    payments: u64,
) -> anyhow::Result<u8> {
    let folder = temporary.join("scheme");
    place::copy_on_free_ports(given, &folder)?;
    let beside = bench.accounting.slow_neighbour.then_some(Health::Slow);
    if beside.is_some() {
        neighbour::move_in(given, &folder)?;
    }
    let Some(manifest) = load(&folder)? else {
        return Ok(2);
    };
    let state = temporary.join("state");
    place::take_compiled(given, &state, &state)?;
    let fsps_file = temporary.join("fsps.json");
    let parties = bench.fsps(
        &manifest,
        &fsps_file,
        &super::Secrets::default(),
        &super::tls::Applications::new(),
    )?;
    try_callbacks_longer(&fsps_file)?;

    let host = Arc::new(Mutex::new(Some(serve(&folder, &state)?)));
    let _fsps = start(
        Command::new(std::env::current_exe()?)
            .args(["simulate", "--no-record"])
            .arg(&folder)
            .arg("--settings")
            .arg(&fsps_file),
    )?;
    let scene = scene(&manifest, &parties)?;
    let work = Payments::new(
        std::slice::from_ref(&scene.payer),
        &scene.payments,
        PAYMENT_TIMEOUT,
    )?;
    let settings = BenchSettings {
        warm_up: Duration::ZERO,
        extent: Extent::Payments(payments),
        timeout: PAYMENT_TIMEOUT,
        ..bench.settings()
    };
    let runtime = runtime()?;
    scene.associate(&runtime, &HttpClient::new(PAYMENT_TIMEOUT))?;
    let paying = beside.map(|health| {
        let paying = neighbour::keep_paying(&manifest, health, &scene.payer, &scene.currency);
        runtime.block_on(paying)
    });
    let paying = paying.transpose()?;

    let happened = Arc::new(Happened::default());
    let mut troubles = Vec::new();
    if let Some(every) = bench.accounting.swap_every {
        troubles.push(swap(&manifest, &folder, &state, every, &happened)?);
    }
    if let Some(every) = bench.accounting.kill_every {
        troubles.push(kill(&folder, &state, every, &host, &happened));
    }
    let ran = runtime.block_on(bench::run(
        &settings,
        Arc::new(work),
        Arc::<Progress>::default(),
    ));
    for trouble in troubles {
        trouble.end()?;
    }
    if let Some(paying) = paying {
        paying.abort();
    }
    let ran = ran?;
    let account = ran.account;
    let client = Client::of(&state, FIRST_OPERATOR)?;
    let mut explained = Vec::new();
    let mut reasons = BTreeMap::<String, u64>::new();
    let mut unexplained = account.failed.values().sum::<u64>() - account.unpaid.len() as u64;
    for unpaid in &account.unpaid {
        let missing = missing(&client, unpaid)?;
        unexplained += u64::from(missing.is_none());
        let missing = missing.unwrap_or_else(|| "unknown".to_owned());
        *reasons.entry(missing.clone()).or_default() += 1;
        explained.push(json!({ "payment": unpaid, "missing": missing }));
    }
    let told = json!({
        "begun": account.begun,
        "committed": account.committed,
        "unended": account.unended,
        "failed": account.failed,
        "p50_ms": ran.latency.p50_ms,
        "p99_ms": ran.latency.p99_ms,
        "missing": reasons,
        "unexplained": unexplained,
        "swaps": happened.swaps.load(Ordering::Relaxed),
        "kills": happened.kills.load(Ordering::Relaxed),
        "unpaid": explained,
    });
    tell(&told, bench.json)?;
    Ok(u8::from(
        account.committed == 0 || account.unended + unexplained > 0,
    ))
}

fn tell(told: &Value, json: bool) -> anyhow::Result<()> {
    if json {
        out::line(told)?;
        return Ok(());
    }
    let mut shown = told.clone();
    let unpaid = shown["unpaid"].take();
    if let Some(figures) = shown.as_object_mut() {
        figures.remove("unpaid");
    }
    super::figures::print_table(&shown)?;
    for one in unpaid.as_array().into_iter().flatten().take(SHOWN_MAX) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let payment = &one["payment"];
        out::line(format_args!(
            "{}: quote {:?}, transfer {:?}: {} ({})",
            text(&payment["reason"]),
            text(&payment["quoteId"]),
            text(&payment["transferId"]),
            text(&one["missing"]),
            text(&payment["description"]),
        ))?;
    }
    if unpaid.as_array().is_some_and(|all| all.len() > SHOWN_MAX) {
        out::note(format_args!(
            "only the first {SHOWN_MAX} are named; --json names the first {NAMED_MAX}"
        ));
    }
    Ok(())
}

/// FSPs that wait for a restarting host.
fn try_callbacks_longer(file: &Path) -> anyhow::Result<()> {
    let mut all: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    for settings in &mut all {
        settings["callbackAttempts"] = CALLBACK_ATTEMPTS.into();
    }
    std::fs::write(file, serde_json::to_string(&all)?)?;
    Ok(())
}
