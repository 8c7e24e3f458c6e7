//! Compares the messages to FSPs with the model's.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::Evidence;
use crate::model::Model;
use crate::problem::{Problem, TOLD};
use crate::told::{self, Notice};

/// Deliveries that a transfer's document keeps.
const KEPT: usize = 16;

/// How long an answer is worth delivering from when it leaves, by the settings' defaults, in milliseconds:
/// however long the hub took with it, and however often it ended meanwhile.
const ANSWER_MS: u64 = 30_000;

/// Whether a message was delivered; none if the host never learnt.
type Delivered = Option<bool>;

/// Messages that are not matched yet: the texts by transfer, cause and FSP.
type Open = BTreeMap<(String, u64, String), BTreeMap<String, Vec<Delivered>>>;

/// Each FSP gets exactly the model's messages, each once.
pub fn told(evidence: &Evidence, model: &Model, problems: &mut Vec<Problem>) {
    let mut open = Open::new();
    for sent in evidence.sent() {
        let deadline = sent.request.policy.deadline.0;
        let worth = if sent.request.method == "POST" {
            // It stays reserved until it expires, and so long it is tried.
            expiration(model, &sent.about)
        } else {
            sent.made_at + ANSWER_MS
        };
        if deadline != worth {
            let what = format!(
                "{} {} is tried until {deadline}, and is worth it until {worth}",
                sent.request.method, sent.path
            );
            problems.push(Problem::new(TOLD, what));
        }
        let text = told::of_request(sent.request, sent.path, sent.to, &evidence.messages);
        let key = (sent.about, told::cause(sent.request), sent.to.to_owned());
        let texts = open.entry(key).or_default();
        texts.entry(text).or_default().push(sent.delivered);
    }
    for notice in &model.notices {
        let what = expected(&mut open, notice);
        problems.extend(what.map(|what| Problem::new(TOLD, what)));
    }
    for ((about, cause, to), texts) in open {
        for (text, more) in texts {
            for _ in more {
                let what = format!(
                    "{to} is told of transfer {about}: {text} (because of message {cause}), and should not be"
                );
                problems.push(Problem::new(TOLD, what));
            }
        }
    }
}

fn expiration(model: &Model, id: &str) -> u64 {
    let transfer = model.transfers.get(id);
    transfer.map_or(u64::MAX, |transfer| transfer.prepare.expiration)
}

/// Matches one notice. Returns its problem.
fn expected(open: &mut Open, notice: &Notice) -> Option<String> {
    let Notice {
        cause, about, to, ..
    } = notice;
    let texts = open.entry((about.clone(), *cause, to.clone())).or_default();
    let mut take = |text: &str| texts.get_mut(text)?.pop();
    let missing = |text: &str| {
        Some(format!(
            "{to} should be told of transfer {about}: {text} (because of message {cause}), and is not"
        ))
    };
    let text = notice.told.to_string();
    match (take(&text), &notice.instead) {
        (None, _) => missing(&text),
        (Some(None), _) => Some(format!("nobody knows what became of {notice:?}")),
        (Some(Some(false)), Some(instead)) => {
            // What could not be forwarded the hub says itself.
            let text = instead.to_string();
            match take(&text) {
                None => missing(&text),
                Some(_) => None,
            }
        }
        (Some(Some(_)), _) => None,
    }
}

/// Each message's outcome is stored with its transfer.
pub fn kept(evidence: &Evidence, model: &Model, problems: &mut Vec<Problem>) {
    let mut expected = reports(evidence, model);
    for (id, document) in evidence.journal.transfers() {
        let kept = document["deliveries"].as_array();
        let kept = kept.cloned().unwrap_or_default();
        let mut expected = expected.remove(id).unwrap_or_default();
        // Of two that look the same the one that must be there is found first.
        expected.sort_by_key(|(_, may_miss)| *may_miss);
        for delivery in &kept {
            let text = |name: &str| delivery[name].as_str().unwrap_or_default();
            let line = format!(
                "{} {} {} {}",
                text("destination"),
                text("method"),
                text("path"),
                delivery["delivered"]
            );
            match expected.iter().position(|(known, _)| *known == line) {
                Some(place) => drop(expected.remove(place)),
                None => {
                    let what = format!("transfer {id} keeps a delivery that was none: {line}");
                    problems.push(Problem::new(TOLD, what));
                }
            }
        }
        // The oldest go when there are many.
        let missing = expected.iter().find(|(_, may_miss)| !may_miss);
        if let Some((line, _)) = missing.filter(|_| kept.len() < KEPT) {
            let what = format!("transfer {id} does not keep what became of {line}");
            problems.push(Problem::new(TOLD, what));
        }
    }
}

/// Operators see the outcome of each message that needed a second attempt.
pub fn reported(evidence: &Evidence, problems: &mut Vec<Problem>) {
    let line = |to: &str, method: &str, path: &str, delivered: bool, attempts: u64| {
        format!("{to} {method} {path} {delivered} {attempts}")
    };
    let sent = evidence.sent();
    let trouble = sent
        .iter()
        .filter(|sent| sent.delivered == Some(false) || sent.attempts > 1);
    let mut expected: Vec<String> = trouble
        .map(|sent| {
            let (method, delivered) = (&sent.request.method, sent.delivered.unwrap_or_default());
            line(sent.to, method, sent.path, delivered, sent.attempts.into())
        })
        .collect();
    let reports = evidence.journal.reports();
    let mut found: Vec<String> = reports
        .values()
        .filter_map(|report| {
            let path = report["path"].as_str()?;
            let (to, method) = (report["destination"].as_str()?, report["method"].as_str()?);
            let (delivered, attempts) = (report["delivered"].as_bool()?, &report["attempts"]);
            let is_about_transfer = path.starts_with("/transfers");
            is_about_transfer.then(|| {
                line(
                    to,
                    method,
                    path,
                    delivered,
                    attempts.as_u64().unwrap_or_default(),
                )
            })
        })
        .collect();
    expected.sort();
    found.sort();
    if found != expected {
        let known: BTreeSet<&String> = expected.iter().collect();
        let seen: BTreeSet<&String> = found.iter().collect();
        let what = format!(
            "{} reports of messages that did not go through at once, {} are kept; they differ in {:?}",
            expected.len(),
            found.len(),
            known.symmetric_difference(&seen).collect::<Vec<_>>()
        );
        problems.push(Problem::new(TOLD, what));
    }
}

/// By transfer, what was delivered to its FSPs or not; and whether it may be missing, because there was
/// no transfer yet that could keep it.
fn reports(evidence: &Evidence, model: &Model) -> BTreeMap<String, Vec<(String, bool)>> {
    let unrecorded: BTreeSet<(&str, u64)> = model
        .notices
        .iter()
        .filter(|notice| notice.is_unrecorded)
        .map(|notice| (notice.about.as_str(), notice.cause))
        .collect();
    let mut reports: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
    for sent in evidence.sent() {
        let Some(transfer) = model.transfers.get(&sent.about) else {
            continue;
        };
        let prepare = &transfer.prepare;
        if sent.to != prepare.payer && sent.to != prepare.payee {
            continue;
        }
        let may_miss = unrecorded.contains(&(sent.about.as_str(), told::cause(sent.request)));
        let delivered = sent.delivered.unwrap_or_default();
        let line = format!(
            "{} {} {} {delivered}",
            sent.to, sent.request.method, sent.path
        );
        reports
            .entry(sent.about)
            .or_default()
            .push((line, may_miss));
    }
    reports
}
