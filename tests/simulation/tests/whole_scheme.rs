//! From a seed: two hundred transfers in any order with everything that FSPs and crashes do to them, and
//! what must always hold.
//!
//! `RIALTO_SEED=n` runs one seed and shows what happened; `RIALTO_SEEDS=n` runs that many.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeMap;
use std::sync::Arc;

use rialto_engine::history::{Ended, Step};
use rialto_simulation::journal::Documents;
use rialto_simulation::judgement::problems;
use rialto_simulation::problem::{
    ACKNOWLEDGED, AUTHORITY, LIMITS, MONEY, OUTCOME, STATE, TOLD, TURNS,
};
use rialto_simulation::saying::Answer;
use rialto_simulation::{Evidence, Sim, Stage};
use serde_json::json;

/// Seeds of an ordinary run.
const SEEDS: u64 = 5;
/// Problems that a failure shows.
const SHOWN: usize = 12;

/// What happens in an ordinary run: kinds of payments, each with an end that it comes to.
const HAPPENS: [&str; 18] = [
    "plain: COMMITTED",
    "plain: FAILED 4001",
    "plain: FAILED 4200",
    "plain: REJECTED 3303",
    "reserved: COMMITTED",
    "reserved: REJECTED 3303",
    "declined: REJECTED 5104",
    "wrong fulfilment: REJECTED 3100",
    "late: REJECTED 3303",
    "never: REJECTED 3303",
    "expired on arrival: REJECTED 3303",
    "unknown payee: FAILED 3203",
    "unknown payer: nothing",
    "no quote: FAILED 3205",
    "other amount: FAILED 3100",
    "in another's name: nothing",
    "reused quote: FAILED 3100",
    "reused quote: COMMITTED",
];

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

fn run(stage: &Stage, seed: u64) -> Evidence {
    let evidence = Sim::run(stage, seed).unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    println!("seed {seed}: {}", evidence.summary());
    evidence
}

fn hold(seed: u64, evidence: &Evidence) {
    let found = problems(evidence);
    let shown = found.iter().take(SHOWN);
    let shown: String = shown.map(|problem| format!("\n{problem}")).collect();
    let count = found.len();
    assert!(
        found.is_empty(),
        "seed {seed}: {count} problems, among them{shown}"
    );
}

#[test]
fn whatever_happens_when_the_invariants_hold_and_each_fsp_is_told_what_the_state_says() {
    let stage = Stage::new().unwrap();
    if let Some(seed) = number("RIALTO_SEED") {
        let evidence = run(&stage, seed);
        println!("{:#?}", evidence.outcomes());
        return hold(seed, &evidence);
    }
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let seeds = number("RIALTO_SEEDS").unwrap_or(SEEDS);
    for seed in 0..seeds {
        let evidence = run(&stage, seed);
        hold(seed, &evidence);
        assert!(
            evidence.given_up() > 0,
            "seed {seed}: every message was delivered"
        );
        assert!(evidence.crashes > 1, "seed {seed}: the host never ended");
        for (outcome, count) in evidence.outcomes() {
            *outcomes.entry(outcome).or_default() += count;
        }
    }
    println!("{outcomes:#?}");
    if seeds >= SEEDS {
        for happens in HAPPENS {
            assert!(outcomes.contains_key(happens), "`{happens}` never happened");
        }
    }
}

#[test]
fn a_seed_gives_the_same_run_again_and_what_is_wrong_with_a_run_is_seen() {
    let stage = Stage::new().unwrap();
    let evidence = run(&stage, DAMAGED);
    hold(DAMAGED, &evidence);
    let again = run(&stage, DAMAGED).events();
    for (one, other) in evidence.events().iter().zip(&again) {
        assert_eq!(one, other);
    }
    for (what, damage, rule) in damages() {
        let mut damaged = evidence.clone();
        damage(&mut damaged);
        let found = problems(&damaged);
        let seen = found.iter().any(|problem| problem.rule == rule);
        assert!(seen, "{what}: not seen as `{rule}`, but: {found:?}");
    }
}

/// The seed whose run is damaged.
const DAMAGED: u64 = 3;

type Damage = fn(&mut Evidence);

/// What may be wrong with a run, and what is not held then.
fn damages() -> Vec<(&'static str, Damage, &'static str)> {
    vec![
        (
            "a callback is not sent",
            |e| drop(e.journal.outbound.remove(&committed(e))),
            TOLD,
        ),
        ("a callback is sent twice", told_twice, TOLD),
        ("a forwarded message is changed", changed_on_the_way, TOLD),
        ("an FSP is told of another end", other_end, TOLD),
        ("a payer FSP hears of two ends", two_ends, OUTCOME),
        ("a payer FSP hears of no end", no_end, ACKNOWLEDGED),
        (
            "what was taken is never handled",
            never_handled,
            ACKNOWLEDGED,
        ),
        ("a cent too many", a_cent_too_many, MONEY),
        ("a cent moved to another FSP", a_cent_moved, STATE),
        ("a reservation is open again", open_again, MONEY),
        (
            "an entry is missing",
            |e| drop(documents(e, "entries").pop_last()),
            MONEY,
        ),
        (
            "a committed transfer is rejected",
            |e| set_state(e, "COMMITTED", "REJECTED"),
            STATE,
        ),
        (
            "a transfer waits for ever",
            |e| set_state(e, "REJECTED", "PREPARED"),
            STATE,
        ),
        ("a net debit cap is passed", past_the_cap, LIMITS),
        ("nobody keeps what became of a message", nothing_kept, TOLD),
        (
            "operators see no report of what was lost",
            not_reported,
            TOLD,
        ),
        (
            "a component publishes what it was not granted",
            not_granted,
            AUTHORITY,
        ),
        ("a request goes to no participant", to_a_stranger, AUTHORITY),
        ("a turn failed", a_turn_failed, TURNS),
    ]
}

fn documents<'e>(evidence: &'e mut Evidence, collection: &str) -> &'e mut Documents {
    evidence
        .journal
        .collection_mut("accounts-and-balances", collection)
}

/// The id of a request that tells a payer FSP of a committed transfer in the hub's words, where nothing
/// that it was to be told was lost.
fn committed(evidence: &Evidence) -> u64 {
    let all = evidence.sent();
    let told = all.iter().find(|sent| {
        let body = sent.request.body.as_deref().unwrap_or_default();
        let source = ("fspiop-source".to_owned(), "Hub".to_owned());
        let mut others = all.iter();
        let lost = others.any(|other| {
            (&other.about, other.to) == (&sent.about, sent.to) && other.delivered != Some(true)
        });
        let is_put = sent.request.method == "PUT" && body.contains("COMMITTED");
        is_put && sent.request.headers.contains(&source) && !lost
    });
    told.unwrap().request.id
}

fn told_twice(evidence: &mut Evidence) {
    let mut request = (*evidence.journal.outbound[&committed(evidence)]).clone();
    request.id = u64::MAX;
    evidence
        .journal
        .outbound
        .insert(request.id, Arc::new(request));
}

fn changed_on_the_way(evidence: &mut Evidence) {
    let mut all = evidence.journal.outbound.values_mut();
    let forwarded =
        all.find(|request| request.method == "POST" && request.url.ends_with("/transfers"));
    let request = Arc::make_mut(forwarded.unwrap());
    request.body.as_mut().unwrap().push(' ');
}

fn other_end(evidence: &mut Evidence) {
    let id = committed(evidence);
    let request = Arc::make_mut(evidence.journal.outbound.get_mut(&id).unwrap());
    request.url.push_str("/error");
    request.body = Some(ERROR.to_owned());
}

const ERROR: &str =
    r#"{"errorInformation":{"errorCode":"3303","errorDescription":"Transfer expired"}}"#;

fn two_ends(evidence: &mut Evidence) {
    let id = committed(evidence);
    let told = evidence
        .arrivals
        .iter()
        .find(|arrival| arrival.request.id == id);
    let mut told = told.unwrap().clone();
    let request = Arc::make_mut(&mut told.request);
    request.url.push_str("/error");
    request.body = Some(ERROR.to_owned());
    evidence.arrivals.push(told);
}

fn no_end(evidence: &mut Evidence) {
    let url = evidence.journal.outbound[&committed(evidence)].url.clone();
    evidence
        .arrivals
        .retain(|arrival| !arrival.request.url.starts_with(&url));
}

fn never_handled(evidence: &mut Evidence) {
    let history = &mut evidence.journal.history;
    let function = "transfer-prepare-accounts-allocated";
    let place = history
        .iter()
        .position(|record| &*record.function == function);
    let trace = history[place.unwrap()].trace;
    history.retain(|record| record.trace != trace || &*record.component != "transfers");
    let place = usize::try_from(trace).unwrap() - 1;
    evidence.messages[place].answer = Answer::Status(202);
}

fn add(evidence: &mut Evidence, account: &str, name: &str, more: i64) {
    let account = documents(evidence, "accounts").get_mut(account).unwrap();
    let now: i64 = account[name].as_str().unwrap().parse().unwrap();
    account[name] = json!((now + more).to_string());
}

fn a_cent_too_many(evidence: &mut Evidence) {
    add(evidence, "payeefsp:USD:LIQUIDITY", "creditBalance", 1);
}

fn a_cent_moved(evidence: &mut Evidence) {
    add(evidence, "payeefsp:USD:LIQUIDITY", "creditBalance", 1);
    add(evidence, "otherfsp:USD:LIQUIDITY", "debitBalance", 1);
}

fn past_the_cap(evidence: &mut Evidence) {
    add(evidence, "payerfsp:USD:POSITION", "unsettled", 1_000_000);
}

fn open_again(evidence: &mut Evidence) {
    let mut all = documents(evidence, "reservations").values_mut();
    all.next().unwrap()["state"] = json!("open");
}

fn set_state(evidence: &mut Evidence, from: &str, to: &str) {
    let transfers = evidence.journal.collection_mut("transfers", "transfers");
    let mut all = transfers.values_mut();
    all.find(|transfer| transfer["state"] == from).unwrap()["state"] = json!(to);
}

fn nothing_kept(evidence: &mut Evidence) {
    let transfers = evidence.journal.collection_mut("transfers", "transfers");
    transfers.values_mut().next().unwrap()["deliveries"] = json!([]);
}

fn not_granted(evidence: &mut Evidence) {
    let mut all = evidence.journal.history.iter_mut();
    let record = all.find(|record| &*record.component == "settlements");
    Arc::make_mut(record.unwrap()).steps.push(Step::Published {
        event: "transfer-committed-fulfiled".into(),
        to: Vec::new(),
    });
}

fn to_a_stranger(evidence: &mut Evidence) {
    let id = committed(evidence);
    let request = Arc::make_mut(evidence.journal.outbound.get_mut(&id).unwrap());
    request.url = "http://127.0.0.1:1/transfers".to_owned();
}

fn not_reported(evidence: &mut Evidence) {
    let journal = &mut evidence.journal;
    let reports = journal.collection_mut("notifications-and-alerts", "reports");
    reports.retain(|_, report| report["delivered"] == true);
}

fn a_turn_failed(evidence: &mut Evidence) {
    let record = Arc::make_mut(evidence.journal.history.last_mut().unwrap());
    record.ended = Ended::Failed("as ordered".into());
}
