//! Backtest: the rules of a candidate judge inputs again that were judged before, and the outcomes are compared.
//!
//! A request at a step has the receipts of all rules that judged it, so what is compared is what the step decided: a rule
//! that is new, gone or asked in another order counts too. Nothing is written, and no host is needed. One thread reads;
//! the others judge, as many as the machine has processors.

pub mod facets;
pub mod figures;
pub mod jobs;
pub mod report;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::Context as _;
use parking_lot::Mutex;
use rialto_components::rules::{self, Outcome};
use rialto_components::{Digest, Release, Unjudgeable};
use rialto_engine::store::Receipt;
use rialto_store::ReceiptPages;
use serde_json::Value;

use self::facets::Facets;
use self::figures::{Decision, Example, Figures, Request};
use crate::personal_data::OpenedReceipt;

/// The receipts at the end of a batch whose requests may have further ones, because turns run side by side.
const HELD: usize = 8_192;
/// The batches that wait for a thread.
const BATCHES: usize = 4;

/// Which requests are judged again.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only those of this step.
    pub step: Option<String>,
    /// Only those in which this participant pays or is paid.
    pub participant: Option<String>,
    /// Only those with an amount in this currency.
    pub currency: Option<String>,
    /// They are judged by the rules that are effective at this instant, in milliseconds since 1970.
    pub as_of: u64,
}

impl Selection {
    fn wants(&self, facets: &Facets) -> bool {
        let participant = self.participant.as_ref();
        let currency = self.currency.as_ref();
        participant.is_none_or(|wanted| facets.names(wanted))
            && currency.is_none_or(|wanted| {
                let amount = facets.amount.as_ref();
                amount.is_some_and(|amount| amount.currency == *wanted)
            })
    }
}

/// How far a backtest is.
#[derive(Debug, Default)]
pub struct Progress {
    /// Verdicts so far.
    pub verdicts: AtomicU64,
    /// The instant of the receipts that are being read, in milliseconds since 1970.
    pub at: AtomicU64,
    /// Whether nobody wants it any more.
    given_up: AtomicBool,
}

impl Progress {
    /// Have it end soon, without figures of any use.
    pub fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Whether nobody wants it any more.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }
}

/// Judge the requests of a reader's receipts again. `open` reads a receipt that may be encrypted.
///
/// # Errors
/// When the receipts cannot be read, or it was given up.
pub fn run(
    candidate: &Release,
    receipts: &mut dyn ReceiptPages,
    open: &(dyn Fn(Receipt) -> OpenedReceipt + Sync),
    selection: &Selection,
    (threads, progress): (usize, &Progress),
) -> anyhow::Result<Figures> {
    let (batches, taken) = sync_channel::<Vec<Receipt>>(BATCHES);
    let taken = Arc::new(Mutex::new(taken));
    let judge = |taken: Arc<Mutex<Receiver<Vec<Receipt>>>>| {
        let mut figures = Figures::default();
        while let Some(batch) = next(&taken) {
            if progress.is_given_up() {
                continue;
            }
            let before = figures.verdicts;
            let batch = Batch::read(batch, open, &mut figures);
            batch.judge(candidate, selection, (&mut figures, progress));
            let judged = figures.verdicts - before;
            progress.verdicts.fetch_add(judged, Ordering::Relaxed);
        }
        figures
    };
    thread::scope(|scope| {
        let threads = (0..threads.max(1)).map(|_| {
            let taken = taken.clone();
            scope.spawn(move || judge(taken))
        });
        let threads: Vec<_> = threads.collect();
        // Only the threads have it now: when all of them have panicked, sending fails.
        drop(taken);
        let read = read(receipts, &batches, progress);
        drop(batches);
        let mut sum = Figures::default();
        for thread in threads {
            let figures = thread.join();
            sum.merge(figures.map_err(|_| anyhow::anyhow!("a thread that judges has panicked"))?);
        }
        read.context("reading the receipts")?;
        Ok(sum)
    })
}

fn next(batches: &Mutex<Receiver<Vec<Receipt>>>) -> Option<Vec<Receipt>> {
    batches.lock().recv().ok()
}

/// Reads all receipts in batches that have all receipts of each request.
fn read(
    receipts: &mut dyn ReceiptPages,
    batches: &SyncSender<Vec<Receipt>>,
    progress: &Progress,
) -> anyhow::Result<()> {
    let mut waiting: Vec<Receipt> = Vec::new();
    let mut is_judged = true;
    receipts.visit_while(&mut |page| {
        if progress.is_given_up() {
            return false;
        }
        if let Some(last) = page.last() {
            progress.at.store(last.at.0, Ordering::Relaxed);
        }
        waiting.extend(page);
        is_judged = batches.send(complete(&mut waiting)).is_ok();
        is_judged
    })?;
    anyhow::ensure!(!progress.is_given_up(), "it was given up");
    // Their joins tell more.
    anyhow::ensure!(is_judged, "no thread judges any more");
    let _ = batches.send(waiting);
    Ok(())
}

/// Takes out the receipts of requests that are complete: none of the last receipts is about the same.
fn complete(waiting: &mut Vec<Receipt>) -> Vec<Receipt> {
    let first = waiting.len().saturating_sub(HELD);
    let open: HashSet<_> = waiting[first..]
        .iter()
        .map(|one| one.subject.clone())
        .collect();
    let all = std::mem::take(waiting);
    let (open, complete) = all
        .into_iter()
        .partition(|receipt| open.contains(&receipt.subject));
    *waiting = open;
    complete
}

/// A receipt with its id.
type Filed = (u64, rules::Receipt);

/// The receipts of a batch, request by request, the rules in the order in which they were asked.
struct Batch(Vec<Vec<Filed>>);

impl Batch {
    fn read(
        receipts: Vec<Receipt>,
        open: &dyn Fn(Receipt) -> OpenedReceipt,
        figures: &mut Figures,
    ) -> Self {
        let mut places: HashMap<(String, String, Digest), usize> = HashMap::new();
        let mut requests: Vec<Vec<Filed>> = Vec::new();
        for receipt in receipts {
            let opened = open(receipt);
            if !opened.is_readable {
                figures.sealed += 1;
                continue;
            }
            let id = opened.receipt.id;
            let Ok(receipt) = serde_json::from_str::<rules::Receipt>(&opened.receipt.body) else {
                figures.unreadable += 1;
                continue;
            };
            // They are no decisions of a rule: one in a shadow, a canary that failed, one of a draft, and one of a rule in
            // quarantine.
            let is_void = receipt.canary.as_ref().is_some_and(|canary| canary.is_void);
            if receipt.shadow.is_some() || is_void || receipt.what_if {
                continue;
            }
            let key = (
                receipt.subject.clone(),
                receipt.step.to_string(),
                receipt.input_digest,
            );
            let place = *places.entry(key).or_insert_with(|| {
                requests.push(Vec::new());
                requests.len() - 1
            });
            requests[place].push((id, receipt));
        }
        // What a quarantine has decided no rule has: such a request cannot be compared.
        requests.retain(|request| {
            let is_compared = !request.iter().any(|(_, receipt)| receipt.quarantined);
            figures.quarantined += u64::from(!is_compared);
            is_compared
        });
        for request in &mut requests {
            request.sort_by_key(|(id, _)| *id);
        }
        Self(requests)
    }

    fn judge(
        self,
        candidate: &Release,
        selection: &Selection,
        (figures, progress): (&mut Figures, &Progress),
    ) {
        for receipts in &self.0 {
            if progress.is_given_up() {
                return;
            }
            // A batch has no request without a receipt.
            let Some((id, first)) = receipts.first() else {
                continue;
            };
            let step = selection.step.as_deref();
            if step.is_some_and(|wanted| wanted != &*first.step) {
                continue;
            }
            let Ok(input) = serde_json::from_str::<Value>(first.input.get()) else {
                figures.unreadable += receipts.len() as u64;
                continue;
            };
            let facets = Facets::of(&input);
            if !selection.wants(&facets) {
                continue;
            }
            let request = Request {
                example: Example {
                    receipt: *id,
                    subject: first.subject.clone(),
                },
                step: &first.step,
                facets,
            };
            judge(
                (candidate, selection.as_of),
                &request,
                receipts,
                &input,
                figures,
            );
        }
    }
}

fn judge(
    (candidate, as_of): (&Release, u64),
    request: &Request<'_>,
    receipts: &[Filed],
    input: &Value,
    figures: &mut Figures,
) {
    let subject = &request.example.subject;
    let verdicts = match candidate.judge_step((request.step, as_of), subject, input) {
        Ok(verdicts) => verdicts,
        Err(Unjudgeable::Misfit(misfit)) => return figures.misfit(request, &misfit.to_string()),
        Err(uncounted @ Unjudgeable::Uncounted { .. }) => {
            return figures.uncounted(request, &uncounted.to_string());
        }
    };
    for (_, receipt) in receipts {
        figures.used_before(request.step, &receipt.rule, receipt.fuel);
    }
    for verdict in &verdicts {
        let rule = &*verdict.member.identity.name;
        figures.used(request, rule, verdict.fuel);
        match &verdict.outcome {
            Ok(Outcome::Failed { reason, .. }) => figures.failed(request, rule, reason, false),
            Err(reason) => return figures.failed(request, rule, reason, true),
            Ok(_) => {}
        }
    }
    let before = receipts.iter().map(|(_, one)| (&*one.rule, &one.verdict));
    let after = verdicts.iter().filter_map(|verdict| {
        let outcome = verdict.outcome.as_ref().ok()?;
        Some((&*verdict.member.identity.name, outcome))
    });
    figures.decided(request, Decision::of(before), Decision::of(after));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_engine::Timestamp;

    #[test]
    fn requests_are_complete_before_they_are_judged() {
        // Two receipts of each request, 7,000 receipts apart.
        let of = |id: u64| Receipt {
            id,
            subject: format!("order:{}", id % 7_000).into(),
            at: Timestamp(0),
            body: "".into(),
        };
        let mut waiting = Vec::new();
        let mut batches: Vec<Vec<Receipt>> = Vec::new();
        for page in 0..10 {
            waiting.extend((page * 1_400..(page + 1) * 1_400).map(of));
            batches.push(complete(&mut waiting));
        }
        batches.push(waiting);
        let count: usize = batches.iter().map(Vec::len).sum();
        assert_eq!(count, 14_000);
        for batch in batches {
            let subjects: HashSet<_> = batch.iter().map(|one| one.subject.clone()).collect();
            assert_eq!(batch.len(), 2 * subjects.len());
        }
    }
}
