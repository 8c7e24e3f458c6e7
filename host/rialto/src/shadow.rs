//! Candidates in the shadow of rules: they judge what was committed, out of the path of requests, and change nothing.
//!
//! The committer hands receipts that are on disk to a bounded queue, and never waits. One thread judges their inputs again
//! by the candidate of the release that is current, within the candidate's share of one processor, and counts the
//! differences. Of some differences it keeps a receipt, marked as one of a shadow. What there is no room or no processor
//! time for is left out and counted. A candidate with which the host's own code panics is switched off. Nothing of this outlives the host but these receipts: `rialto release backtest` can
//! judge all requests later.

mod budget;
pub mod report;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use parking_lot::Mutex;
use rialto_components::release::{BoundRule, BoundShadow};
use rialto_components::rules::{self, InForce, Outcome};
use rialto_components::{Digest, Release, Runtime, Unjudgeable};
use rialto_engine::store::Receipt;
use rialto_engine::time::SystemEntropy;
use rialto_engine::{Clock, Engine, Entropy as _, ReceiptObserver, fatal};
use serde_json::Value;

use crate::audit::Audit;
use crate::backtest::facets::Facets;
use crate::backtest::figures::{Decision, Example, Figures, Request};
use crate::canaries::{self, HostCanaries};
use crate::quarantines;
use crate::rule_states::RuleStates;
use crate::shares;
use crate::suspensions::Suspended;

use budget::Budget;
use report::{ShadowReport, Skipped};

/// Receipts that wait for the thread: more than a group of a busy host has.
const QUEUE: usize = 4_096;
/// The receipts that are kept of one candidate's differences: the first ones after a release has become current.
const KEPT_MAX: u64 = 1_000;
/// How soon the thread notices the host's end, and how often it writes down what has become of canaries and quarantines.
const LOOK: Duration = Duration::from_millis(100);
/// How long receipts are gathered before they are judged. Nobody waits for these verdicts, and a thread that wakes after each
/// commit takes processors from payments.
const GATHER: Duration = Duration::from_millis(20);
/// The most groups of differing outcomes of one candidate. Further ones are counted in one.
const GROUPS_MAX: usize = 2_000;

/// A candidate of the current release, by its step, the rule that it shadows, and what it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    step: String,
    rule: String,
    in_force: [Digest; 2],
    candidate: String,
    judging: [Digest; 2],
}

/// What a candidate has done.
struct Judged {
    since: u64,
    release: u64,
    figures: Figures,
    skipped: Skipped,
    kept: u64,
    budget: Budget,
    /// Whether the host's own code has panicked with it: it judges no more.
    is_off: bool,
}

/// What the thread hears.
enum Heard {
    /// A receipt is on disk.
    Receipt(Box<Receipt>),
    /// The host ends.
    End,
}

/// The candidates in the shadow of a running host's rules.
pub struct Shadows {
    runtime: Arc<Runtime>,
    clock: Arc<dyn Clock>,
    sender: SyncSender<Heard>,
    /// Receipts that had no room in the queue.
    full: AtomicU64,
    /// Receipts that name people, and are encrypted.
    encrypted: AtomicU64,
    /// The candidates that decide in the place of rules.
    canaries: Arc<HostCanaries>,
    /// Whether the host ends.
    ends: AtomicBool,
    /// What the thread takes receipts from, until it is started; then the thread.
    receiver: Mutex<Option<Receiver<Heard>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    judged: Mutex<BTreeMap<Key, Judged>>,
}

impl ReceiptObserver for Shadows {
    fn committed(&self, receipts: &[Receipt]) {
        let has_any = self
            .runtime
            .current()
            .is_some_and(|now| now.has_candidates());
        if !has_any {
            return;
        }
        for receipt in receipts {
            let heard = Heard::Receipt(Box::new(receipt.clone()));
            if let Err(TrySendError::Full(_)) = self.sender.try_send(heard) {
                self.full.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

impl Shadows {
    /// The candidates of the releases of a runtime. Nothing is judged before [`Self::start`].
    #[must_use]
    pub fn new(
        runtime: Arc<Runtime>,
        canaries: Arc<HostCanaries>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let (sender, receiver) = sync_channel(QUEUE);
        Arc::new(Self {
            runtime,
            clock,
            sender,
            full: AtomicU64::new(0),
            encrypted: AtomicU64::new(0),
            canaries,
            ends: AtomicBool::new(false),
            receiver: Mutex::new(Some(receiver)),
            thread: Mutex::default(),
            judged: Mutex::default(),
        })
    }

    /// Start the thread that judges, for all receipts of an engine from now on, until [`Self::stop`]. It also writes down
    /// which canaries were held back, and which quarantines have begun and ended, and has operators told of these and of
    /// suspensions. Only the first call has an effect.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn start(
        self: &Arc<Self>,
        engine: &Engine,
        audit: &Arc<Audit>,
        (suspended, states): (&Arc<Suspended>, &Arc<RuleStates>),
    ) -> anyhow::Result<()> {
        let Some(receiver) = self.receiver.lock().take() else {
            return Ok(());
        };
        let (own, its_engine, audit) = (self.clone(), engine.clone(), audit.clone());
        let (suspended, states) = (suspended.clone(), states.clone());
        let thread = std::thread::Builder::new()
            .name("shadow".to_owned())
            .spawn(move || {
                let write_down = || {
                    own.write_down(&audit, &states);
                    suspended.tell(&states, &audit);
                };
                own.follow(&its_engine, &receiver, write_down);
            });
        *self.thread.lock() = Some(thread.context("starting the thread of shadows")?);
        engine.observe_receipts(self.clone());
        Ok(())
    }

    /// Have the thread end, and wait for it. It has the engine until then.
    pub fn stop(&self) {
        self.ends.store(true, Ordering::Relaxed);
        // It wakes the thread. One that has a full queue is awake.
        let _ = self.sender.try_send(Heard::End);
        if let Some(thread) = self.thread.lock().take() {
            // It contains panics of what it runs; its own would have ended the process.
            let _ = thread.join();
        }
    }

    /// Judges receipts until the host's end.
    fn follow(&self, engine: &Engine, told: &Receiver<Heard>, write_down: impl Fn()) {
        // At the usual priority: it takes locks that payments take too. What bounds it is each candidate's share.
        let ends = || self.ends.load(Ordering::Relaxed);
        let mut written = None::<Instant>;
        let mut write_down_in_time = || {
            if written.is_none_or(|at| at.elapsed() >= LOOK) {
                write_down();
                written = Some(Instant::now());
            }
        };
        while !ends() {
            write_down_in_time();
            let first = match told.recv_timeout(LOOK) {
                Ok(Heard::Receipt(first)) => first,
                Err(RecvTimeoutError::Timeout) => continue,
                Ok(Heard::End) | Err(RecvTimeoutError::Disconnected) => break,
            };
            std::thread::sleep(GATHER);
            let more = told.try_iter().map_while(|told| match told {
                Heard::Receipt(receipt) => Some(receipt),
                Heard::End => None,
            });
            let gathered = std::iter::once(first).chain(more);
            for receipt in gathered.take(QUEUE).take_while(|_| !ends()) {
                self.judge(engine, &receipt);
                write_down_in_time();
            }
        }
        write_down();
    }

    /// Write down which canaries were held back, and which quarantines have begun and ended, and have operators told.
    fn write_down(&self, audit: &Audit, states: &RuleStates) {
        self.canaries.write_down(audit);
        self.canaries
            .tell(self.runtime.current().as_deref(), states);
        let now = self.clock.now().0;
        quarantines::write_down(self.runtime.quarantines(), audit, states, now);
    }

    /// What the candidates of the current release have judged so far.
    #[must_use]
    pub fn reports(&self) -> Vec<ShadowReport> {
        let Some(release) = self.runtime.current() else {
            return Vec::new();
        };
        let now = self.clock.now().0;
        let for_all = Skipped {
            queue: self.full.load(Ordering::Relaxed),
            encrypted: self.encrypted.load(Ordering::Relaxed),
            ..Skipped::default()
        };
        // Copied under the lock, and added up without it: the thread that judges needs the lock.
        let all: Vec<_> = candidates(&release)
            .map(|(step, bound, shadow)| {
                let key = Key::of(&release, step, bound, shadow);
                let copied = self.judged.lock().get(&key).map(Judged::told);
                (key, shadow, copied)
            })
            .collect();
        let all = all.into_iter().map(|(key, shadow, told)| {
            let member = &release.members[shadow.bound.member];
            ShadowReport::of(
                &key.rule,
                shadow,
                member,
                told.map(|told| (told, now)),
                for_all,
            )
        });
        all.collect()
    }

    /// Judge a receipt's input by the candidate in the shadow of its rule, if there is one.
    fn judge(&self, engine: &Engine, receipt: &Receipt) {
        let Some(release) = self.runtime.current() else {
            return;
        };
        let begun = budget::thread_cpu();
        // Most receipts are of other rules, and need not be read. An encrypted one says of no rule that it is its own.
        let is_encrypted = receipt.body.starts_with("{\"sealed\":");
        let mut looked_at = candidates(&release)
            .map(|(_, bound, _)| release.members[bound.member].digest)
            .chain(canaries::all(&release).map(|(_, _, canary)| canary.digest));
        let names_one = looked_at.any(|digest| receipt.body.contains(&digest.to_string()));
        if !names_one && !is_encrypted {
            return;
        }
        // One that is encrypted has another body. It is not judged, because its differences could not be kept.
        let Ok(filed) = serde_json::from_str::<rules::Receipt>(&receipt.body) else {
            self.encrypted.fetch_add(1, Ordering::Relaxed);
            return;
        };
        let is_of_rule = filed.shadow.is_none() && filed.last_good_for.is_none();
        // A failure after which the last good release decided is no decision.
        let is_decision = !filed.verdict.leaves_it_to_last_good();
        if filed.quarantined || filed.what_if || !is_of_rule || !is_decision {
            return;
        }
        if filed.canary.is_some() {
            let compared = fatal::contained(|| self.canaries.compare(&release, &filed));
            if let Err(panic) = compared {
                tracing::error!(step = %filed.step, rule = %filed.rule, "the host panicked while it compared a canary with its rule: {panic}");
            }
            return;
        }
        let in_force = candidates(&release).find(|(step, bound, _)| {
            let member = &release.members[bound.member];
            **step == *filed.step
                && member.digest == filed.digest
                && bound.settings_digest == filed.settings_digest
        });
        let Some((step, bound, shadow)) = in_force else {
            return;
        };
        let key = Key::of(&release, step, bound, shadow);
        let mut judged = self.judged.lock();
        // Candidates that are gone are forgotten when the first receipt of another release comes.
        if judged.values().any(|of| of.release != release.number) {
            judged.retain(|known, _| {
                candidates(&release)
                    .any(|(step, bound, shadow)| *known == Key::of(&release, step, bound, shadow))
            });
            judged
                .values_mut()
                .for_each(|of| of.release = release.number);
        }
        let of = judged.entry(key).or_insert_with(|| Judged {
            since: self.clock.now().0,
            release: release.number,
            figures: Figures::with_groups(GROUPS_MAX),
            skipped: Skipped::default(),
            kept: 0,
            budget: Budget::new(shadow.cpu),
            is_off: false,
        });
        of.budget.set_share(shadow.cpu);
        if !is_chosen(&filed.subject, shadow.share) {
            of.skipped.share += 1;
            return;
        }
        if of.is_off {
            of.skipped.without_verdict += 1;
            return;
        }
        if !of.budget.has_some() {
            of.skipped.budget += 1;
            return;
        }
        drop(judged);
        let judging = fatal::contained(|| verdict(&release, shadow, &filed));
        let verdict = judging.unwrap_or_else(|panic| Verdict {
            facets: Facets::default(),
            judged: Err(Unjudged::Panicked(panic.to_string())),
        });
        let used = budget::thread_cpu().saturating_sub(begun);
        self.count(
            engine,
            &release,
            (step, bound, shadow),
            (receipt.id, &filed),
            verdict,
            used,
        );
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "a verdict is told with all that it belongs to"
    )]
    fn count(
        &self,
        engine: &Engine,
        release: &Release,
        (step, bound, shadow): (&str, &BoundRule, &BoundShadow),
        (id, filed): (u64, &rules::Receipt),
        verdict: Verdict,
        used: std::time::Duration,
    ) {
        let member = &release.members[shadow.bound.member];
        let rule = &*release.members[bound.member].identity.name;
        let candidate = &*member.identity.name;
        let mut judged = self.judged.lock();
        let Some(of) = judged.get_mut(&Key::of(release, step, bound, shadow)) else {
            return;
        };
        of.budget.use_up(used);
        let request = Request {
            example: Example {
                receipt: id,
                subject: filed.subject.clone(),
            },
            step,
            facets: verdict.facets,
        };
        let (outcome, fuel) = match verdict.judged {
            Ok(judged) => judged,
            Err(Unjudged::Misfit(why)) => return of.figures.misfit(&request, &why),
            Err(Unjudged::Uncounted(why)) => return of.figures.uncounted(&request, &why),
            Err(Unjudged::Prevented(why)) => {
                of.skipped.without_verdict += 1;
                return of.figures.failed(&request, candidate, &why, true);
            }
            Err(Unjudged::Panicked(why)) => {
                of.is_off = true;
                of.skipped.without_verdict += 1;
                tracing::error!(
                    step,
                    candidate,
                    "the host panicked with a candidate in the shadow of a rule, which is off until the next start: {why}"
                );
                let why = format!("the host panicked, and the candidate is off: {why}");
                return of.figures.failed(&request, candidate, &why, true);
            }
        };
        of.figures.used_before(step, candidate, filed.fuel);
        of.figures.used(&request, candidate, fuel);
        if let Outcome::Failed { reason, .. } = &outcome {
            of.figures.failed(&request, candidate, reason, false);
        }
        // Both have the name of the rule in force: a refusal is the same by whichever of the two.
        let decision = |outcome: &Outcome| Decision::of(std::iter::once((rule, outcome)));
        let (before, after) = (decision(&filed.verdict), decision(&outcome));
        let differs = !before.tells_the_same(&after);
        of.figures.decided(&request, before, after);
        if differs && of.kept < KEPT_MAX {
            of.kept += 1;
            drop(judged);
            keep(engine, release, shadow, (id, filed), outcome, fuel);
        }
    }
}

impl Key {
    fn of(release: &Release, step: &str, bound: &BoundRule, shadow: &BoundShadow) -> Self {
        let member = &release.members[bound.member];
        let candidate = &release.members[shadow.bound.member];
        Self {
            step: step.to_owned(),
            rule: member.identity.name.to_string(),
            in_force: [member.digest, bound.settings_digest],
            candidate: candidate.identity.name.to_string(),
            judging: [candidate.digest, shadow.bound.settings_digest],
        }
    }
}

/// The candidates of a release: the step, the rule in force, and its shadow.
fn candidates(release: &Release) -> impl Iterator<Item = (&str, &BoundRule, &BoundShadow)> {
    let rules = release.steps.iter();
    let rules = rules.flat_map(|(step, rules)| rules.iter().map(move |bound| (&**step, bound)));
    rules.filter_map(|(step, bound)| Some((step, bound, bound.shadow.as_deref()?)))
}

/// Whether a request is among a share of all, in millionths. The same one always is.
fn is_chosen(subject: &str, share: u32) -> bool {
    shares::is_in(&Digest::of(subject).bytes(), share)
}

/// Why a candidate has no verdict.
enum Unjudged {
    Misfit(String),
    Uncounted(String),
    Prevented(String),
    Panicked(String),
}

impl Judged {
    /// What is told of it.
    fn told(&self) -> Told {
        Told {
            since: self.since,
            figures: self.figures.clone(),
            skipped: self.skipped,
            kept: self.kept,
        }
    }
}

/// What is told of a candidate.
struct Told {
    since: u64,
    figures: Figures,
    skipped: Skipped,
    kept: u64,
}

/// A candidate's verdict with its fuel, and what the input is about.
struct Verdict {
    facets: Facets,
    judged: Result<(Outcome, u64), Unjudged>,
}

fn verdict(release: &Release, shadow: &BoundShadow, filed: &rules::Receipt) -> Verdict {
    let input: Value = serde_json::from_str(filed.input.get()).unwrap_or_default();
    let facets = Facets::of(&input);
    let member = &release.members[shadow.bound.member];
    let judged = member.judge_stored(&shadow.bound, &filed.subject, filed.input.get());
    let judged = match judged {
        Err(Unjudgeable::Misfit(misfit)) => Err(Unjudged::Misfit(misfit.to_string())),
        Err(uncounted @ Unjudgeable::Uncounted { .. }) => {
            Err(Unjudged::Uncounted(uncounted.to_string()))
        }
        Ok(judged) => {
            let outcome = shadow.bound.outcome(judged.outcome);
            let outcome = outcome.map_err(|(_, reason)| Unjudged::Prevented(reason));
            outcome.map(|outcome| (outcome, judged.fuel))
        }
    };
    Verdict { facets, judged }
}

/// Keeps a receipt of a candidate's verdict that differs.
fn keep(
    engine: &Engine,
    release: &Release,
    shadow: &BoundShadow,
    (id, filed): (u64, &rules::Receipt),
    outcome: Outcome,
    fuel: u64,
) {
    let member = &release.members[shadow.bound.member];
    let said = member.description.as_ref();
    let receipt = rules::Receipt {
        rule: member.identity.name.clone(),
        rule_version: said.map(|said| said.version.clone()).unwrap_or_default(),
        digest: member.digest,
        settings_digest: shadow.bound.settings_digest,
        // Which has the candidate; the verdict in force may be of the one before.
        release: release.number,
        verdict: outcome,
        fuel,
        fuel_limit: member.limits.fuel.unwrap_or_default(),
        memory_limit: member.limits.memory_bytes as u64,
        scheme_digest: Some(release.scheme_digest),
        took_us: 0,
        flagged: false,
        decided: Some(false),
        branches: Vec::new(),
        canary: None,
        shadow: Some(InForce {
            rule: filed.rule.clone(),
            digest: filed.digest,
            verdict: filed.verdict.clone(),
            receipt: id,
        }),
        // Its own: whoever has the salt of one receipt is not to guess fields of the other.
        salt: rules::salted(engine.logs_receipts(), |bytes| SystemEntropy.fill(bytes)),
        ..filed.clone()
    };
    let now = engine.now();
    match receipt.written(now) {
        // The host ends: there is nobody to tell.
        Ok(written) => drop(engine.keep_receipt(now, &receipt.subject, written)),
        Err(error) => tracing::warn!(%error, "a receipt of a shadow cannot be written down"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_of_requests_is_chosen_by_what_they_are_about() {
        for (share, least, most) in [
            (1_000_000, 10_000, 10_000),
            (100_000, 850, 1_150),
            (100, 0, 6),
        ] {
            let chosen = (0..10_000)
                .filter(|n| is_chosen(&format!("order:{n}"), share))
                .count();
            assert!((least..=most).contains(&chosen), "{share}: {chosen}");
        }
        assert_eq!(is_chosen("order:7", 500_000), is_chosen("order:7", 500_000));
    }
}
