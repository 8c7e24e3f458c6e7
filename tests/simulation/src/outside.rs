//! Checks by FSPs alone, without the host's state: their messages must agree with each other, between FSPs, and
//! with the money.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::evidence::Evidence;
use crate::host::{LIQUIDITY, OTHER, OTHER_LIQUIDITY, PAYEE, PAYER, POOR, POOR_LIQUIDITY};
use crate::problem::{ACKNOWLEDGED, MONEY, OUTCOME, Problem};
use crate::saying::Saying;
use crate::script::Plan;

/// What one FSP has heard of one transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Heard {
    committed: usize,
    aborted: usize,
    /// Its request has the id of another FSP's request.
    taken: usize,
}

/// The code of an error that says nothing of how a transfer ended: that a question was faster than the
/// request.
const UNKNOWN: &str = "3208";

/// Everything that contradicts itself.
pub fn problems(evidence: &Evidence) -> Vec<Problem> {
    let mut problems = Vec::new();
    let heard = heard(evidence);
    let lost = lost(evidence);
    let mut moved: BTreeMap<&str, i128> = BTreeMap::new();
    for (id, plan) in &evidence.plans {
        let prepare = &plan.prepare;
        let payer = of(&heard, id, &prepare.payer);
        if payer.committed > 0 && payer.aborted > 0 {
            let what = format!(
                "{} hears of transfer {id} that it is committed, and that it is not",
                prepare.payer
            );
            problems.push(Problem::new(OUTCOME, what));
        }
        if was_taken(evidence, plan)
            && payer == Heard::default()
            && !lost.contains(&(id.as_str(), prepare.payer.as_str()))
        {
            let what = format!(
                "{} was told 202 for transfer {id}, and never hears of it",
                prepare.payer
            );
            problems.push(Problem::new(ACKNOWLEDGED, what));
        }
        let fulfilled = evidence
            .journal
            .reservations()
            .get(id)
            .is_some_and(|r| r["state"] == "fulfilled");
        if (payer.committed > 0 && !fulfilled) || (payer.aborted > 0 && fulfilled) {
            let what = format!(
                "{} hears {payer:?} of transfer {id}, whose funds are {}",
                prepare.payer,
                if fulfilled { "moved" } else { "not moved" }
            );
            problems.push(Problem::new(OUTCOME, what));
        }
        if fulfilled {
            *moved.entry(&prepare.payer).or_default() -= i128::from(prepare.cents);
            *moved.entry(&prepare.payee).or_default() += i128::from(prepare.cents);
        }
    }
    balances(evidence, &moved, &mut problems);
    problems
}

fn of(heard: &BTreeMap<(String, String), Heard>, id: &str, fsp: &str) -> Heard {
    let key = (id.to_owned(), fsp.to_owned());
    heard.get(&key).copied().unwrap_or_default()
}

/// What came to each FSP about each transfer.
fn heard(evidence: &Evidence) -> BTreeMap<(String, String), Heard> {
    let mut heard: BTreeMap<(String, String), Heard> = BTreeMap::new();
    for arrival in &evidence.arrivals {
        let request = &arrival.request;
        let mut bases = evidence.callbacks.iter();
        let Some((fsp, path)) =
            bases.find_map(|(base, fsp)| Some((fsp, request.url.strip_prefix(base.as_str())?)))
        else {
            continue;
        };
        let mut steps = path.split('/').skip(1);
        let (Some("transfers"), Some(id)) = (steps.next(), steps.next()) else {
            continue;
        };
        let body = request.body.as_deref().unwrap_or_default();
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        let one = heard.entry((id.to_owned(), fsp.clone())).or_default();
        let code = body["errorInformation"]["errorCode"].as_str();
        match (steps.next(), body["transferState"].as_str(), code) {
            (Some("error"), _, Some("3106")) => one.taken += 1,
            (Some("error"), _, Some(code)) if code != UNKNOWN => one.aborted += 1,
            (None, Some("COMMITTED"), _) => one.committed += 1,
            (None, Some("ABORTED"), _) => one.aborted += 1,
            _ => {}
        }
    }
    heard
}

/// Which FSP had a message about which transfer that the host reports as not delivered.
fn lost(evidence: &Evidence) -> BTreeSet<(&str, &str)> {
    let reports = evidence.journal.reports().values();
    let lost = reports.filter(|report| report["delivered"] == false);
    let lost = lost.filter_map(|report| {
        let id = report["subject"].as_str()?.strip_prefix("transfer:")?;
        Some((id, report["destination"].as_str()?))
    });
    lost.collect()
}

/// Whether the hub took the payer FSP's own request.
fn was_taken(evidence: &Evidence, plan: &Plan) -> bool {
    let participants = [PAYER, PAYEE, POOR, OTHER];
    participants.contains(&plan.prepare.payer.as_str())
        && evidence.messages.iter().any(|message| {
            message.was_taken()
                && message.fsp() == plan.prepare.payer
                && message.draft.saying == Saying::Prepare(plan.prepare.clone())
        })
}

/// Each FSP has its opening balance, less payments, plus receipts.
fn balances(evidence: &Evidence, moved: &BTreeMap<&str, i128>, problems: &mut Vec<Problem>) {
    for (fsp, had) in [
        (PAYER, LIQUIDITY),
        (PAYEE, LIQUIDITY),
        (POOR, POOR_LIQUIDITY),
        (OTHER, OTHER_LIQUIDITY),
    ] {
        let expected = i128::from(had) + moved.get(fsp).copied().unwrap_or_default();
        let id = format!("{fsp}:USD:LIQUIDITY");
        let has = evidence.journal.balance(&id).map(|(balance, _)| balance);
        if has != Some(expected) {
            let what = format!("{fsp} should have {expected} by what was paid, and has {has:?}");
            problems.push(Problem::new(MONEY, what));
        }
    }
}
