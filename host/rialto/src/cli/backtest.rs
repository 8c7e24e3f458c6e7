//! `rialto release backtest`: what a folder's rules would have decided.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget};
use rialto_components::{Digest, Release};
use rialto_engine::Timestamp;
use rialto_telemetry::logs::{self, Format};

use super::{instants, load, operator_of, rules_alone, show, stored_in};
use crate::backtest::report::{Candidate, Report};
use crate::backtest::{self, Progress, Selection};
use crate::personal_data::{OpenedReceipt, Reader};
use crate::{out, words};

/// Reads the receipts of a store's file and of its archives, with or without a running host, at the lowest priority.
#[derive(Debug, clap::Args)]
pub(super) struct Backtest {
    /// The folder with the new scheme.
    scheme: PathBuf,
    /// Judge what was judged from this instant on, such as 2026-01-31T09:00:00Z, or for so long, such as `30 days`.
    #[arg(long, value_name = "TIME", default_value = "30 days", value_parser = instants::past)]
    since: u64,
    /// Judge what was judged before this instant. Without it, all until now.
    #[arg(long, value_name = "TIME", value_parser = instants::past)]
    until: Option<u64>,
    /// Judge only the requests of one step, such as transfer-prepare-check.
    #[arg(long)]
    step: Option<String>,
    /// Judge only the requests in which this participant pays or is paid.
    #[arg(long, value_name = "ID")]
    participant: Option<String>,
    /// Judge only the requests with an amount in this currency.
    #[arg(long, value_name = "CODE")]
    currency: Option<String>,
    /// Judge by the rules that are effective at this instant. Without it, now.
    #[arg(long, value_name = "TIME", value_parser = instants::past)]
    as_of: Option<u64>,
    /// The number of verdicts at a time. Without it, as many as the machine has processors.
    #[arg(long, value_name = "NUMBER")]
    threads: Option<usize>,
    /// Write the report to this file, which must not exist, and print its digest.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the report as one JSON object.
    #[arg(long)]
    json: bool,
    /// The scheme's folder whose store has the receipts. Without it, the new scheme's.
    #[arg(long, value_name = "DIR", env = "RIALTO_SCHEME")]
    at: Option<PathBuf>,
    /// The folder of the store. Without it, the folder that rialto.toml names.
    #[arg(long, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
}

impl Backtest {
    pub fn run(self) -> anyhow::Result<u8> {
        logs::start("component=off", Format::Text)?;
        let until = self.until.unwrap_or_else(instants::now);
        if self.since >= until {
            bail!(
                "--since is {}, and --until is not later",
                words::instant(self.since)
            );
        }
        if let Some(file) = &self.out {
            let folder = file
                .parent()
                .filter(|folder| !folder.as_os_str().is_empty());
            if file.exists() {
                bail!("{} exists: name a new file", file.display());
            }
            if folder.is_some_and(|folder| !folder.is_dir()) {
                bail!("there is no folder for {}: make it first", file.display());
            }
        }
        let Some(manifest) = load(&self.scheme)? else {
            return Ok(2);
        };
        let threads = self
            .threads
            .map_or_else(thread::available_parallelism, |n| {
                Ok(n.try_into().unwrap_or(std::num::NonZero::<usize>::MIN))
            });
        let threads = threads
            .context("asking for the number of processors")?
            .get();
        let rules = match rules_alone::prepare(&manifest, threads)? {
            Ok(rules) => rules,
            Err(problems) => {
                show(&problems);
                return Ok(2);
            }
        };
        if let Some(step) = &self.step {
            let mut steps: Vec<&str> = rules.release.steps.keys().map(|step| &**step).collect();
            steps.sort_unstable();
            if !steps.contains(&step.as_str()) {
                out::note(format_args!(
                    "the new scheme binds no rule to `{step}` (it has {}): what was refused there would be allowed",
                    steps.join(", ")
                ));
            }
        }
        let at = self.at.as_ref().unwrap_or(&self.scheme);
        let people = Reader::open(&operator_of(at)?, at)?;
        let (since, before) = (Timestamp(self.since), Timestamp(until));
        let stored = stored_in(at, self.state.as_deref())?;
        let mut receipts = stored.receipts(since, before)?;
        // Where a host serves from this machine, payments go first.
        let _ = rustix::process::nice(19);
        let selection = Selection {
            step: self.step.clone(),
            participant: self.participant.clone(),
            currency: self.currency.clone(),
            as_of: self.as_of.unwrap_or_else(instants::now),
        };
        if self.as_of.is_none() {
            tell_later(&rules.release, selection.as_of);
        }
        let progress = Arc::new(Progress::default());
        let shown = Shown::start(progress.clone());
        let begun = Instant::now();
        let open = |receipt| match &people {
            Some(people) => people.receipt(receipt),
            None => OpenedReceipt::plain(receipt),
        };
        let figures = backtest::run(
            &rules.release,
            &mut *receipts,
            &open,
            &selection,
            (threads, &progress),
        );
        let took = begun.elapsed();
        shown.end();
        let period = (self.since, until);
        let candidate = Candidate::release(&rules.release);
        let report = Report::of(candidate, period, &selection, figures?, receipts.unread());
        self.tell(&report, took)
    }

    fn tell(&self, report: &Report, took: Duration) -> anyhow::Result<u8> {
        let bytes = report.bytes()?;
        let digest = Digest::of(&bytes);
        if self.json {
            out::json(report)?;
        } else {
            out::text(words::backtest(report, took, words::colours()))?;
        }
        if let Some(file) = &self.out {
            if !rialto_files::make_once(file, &[&bytes])? {
                bail!(
                    "{} was made by somebody else meanwhile: the report was not written",
                    file.display()
                );
            }
            out::note(format_args!("{} has the report: {digest}", file.display()));
        }
        Ok(0)
    }
}

/// Say that rules with another time are left out.
fn tell_later(release: &Release, now: u64) {
    let bound = release.steps.values().flatten();
    let later: BTreeSet<&str> = bound
        .filter(|bound| !bound.effective.covers(now))
        .map(|bound| &*bound.identity.name)
        .collect();
    if !later.is_empty() {
        let later: Vec<&str> = later.into_iter().collect();
        out::note(format_args!(
            "not effective now, and so not asked: {}; --as-of judges by another instant",
            later.join(", ")
        ));
    }
}

/// What a terminal shows meanwhile; nothing elsewhere.
struct Shown {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Shown {
    fn start(progress: Arc<Progress>) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let watched = ends.clone();
        let bar = ProgressBar::new_spinner();
        if !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let thread = thread::spawn(move || {
            while !watched.load(Ordering::Relaxed) {
                let verdicts = progress.verdicts.load(Ordering::Relaxed);
                let at = words::instant(progress.at.load(Ordering::Relaxed));
                bar.set_message(format!("{} verdicts, until {at}", HumanCount(verdicts)));
                bar.tick();
                thread::park_timeout(Duration::from_millis(200));
            }
            bar.finish_and_clear();
        });
        Self { ends, thread }
    }

    fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        // It only draws.
        let _ = self.thread.join();
    }
}
