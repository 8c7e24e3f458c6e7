//! The host is killed again and again under load. Whatever it promised before must hold after:
//! every transfer that it accepted ends, the books add up, and payer, payee and ledger agree.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use http::Method;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_simulator::fsp::FailureKind;
use rialto_simulator::{Direction, Fsp, PaymentOutcome, PaymentRequest};
use rialto_tests::{Books, TestScheme, World, WorldOptions};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How often the host is killed.
const KILLS: u32 = 50;
/// Payments in flight.
const IN_FLIGHT: usize = 16;
/// How long the host lives between its start and its end, in milliseconds.
const LIFE_MS: std::ops::Range<u64> = 20..900;
/// Participants that are paid, besides the demonstration's.
const MORE_PAYEES: [&str; 2] = ["payee2fsp", "payee3fsp"];
/// Another seed than a random one: to repeat a failure's moments.
const SEED_VARIABLE: &str = "RIALTO_TEST_SEED";

/// What the drivers of the load are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The host runs: begin payments.
    Pay,
    /// It does not: wait.
    Wait,
    /// Begin no more.
    Stop,
}

async fn world() -> World {
    let mut scheme = TestScheme::demo().unwrap();
    for payee in MORE_PAYEES {
        scheme.add_participant(payee, "1000").unwrap();
    }
    let options = WorldOptions {
        callback_timeout: Duration::from_secs(10),
        expires_in: Duration::from_secs(10),
        // Longer than a restart: a payee tries until the host is back.
        callback_attempts: 8,
        parties_each: IN_FLIGHT,
        ..WorldOptions::default()
    };
    World::of(scheme, &options).await.unwrap()
}

fn seed() -> u64 {
    match std::env::var(SEED_VARIABLE) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{SEED_VARIABLE} is no number: {text}")),
        Err(_) => rand::random(),
    }
}

async fn pay_on(
    payer: Fsp,
    requests: Vec<PaymentRequest>,
    mut phase: watch::Receiver<Phase>,
) -> Vec<PaymentOutcome> {
    let mut outcomes = Vec::new();
    for request in requests.iter().cycle() {
        match phase.wait_for(|phase| *phase != Phase::Wait).await {
            Ok(phase) if *phase == Phase::Pay => {}
            Ok(_) | Err(_) => break,
        }
        outcomes.push(payer.pay(request).await);
    }
    outcomes
}

/// Tasks that pay all payees in turn, each another party of theirs.
fn drivers(world: &World, phase: &watch::Receiver<Phase>) -> Vec<JoinHandle<Vec<PaymentOutcome>>> {
    let driver = |n: usize| {
        let requests = world
            .payees()
            .zip(["1", "2.5", "0.01"].iter().cycle())
            .map(|(payee, amount)| {
                PaymentRequest::new(world.parties(payee)[n].clone(), amount, "USD")
            })
            .collect();
        tokio::spawn(pay_on(world.payer().clone(), requests, phase.clone()))
    };
    (0..IN_FLIGHT).map(driver).collect()
}

/// Kill the host under load and start it again, over and over. Answers what came of the payments.
async fn torment(world: &mut World, moments: &mut StdRng) -> Vec<PaymentOutcome> {
    let (phase, watched) = watch::channel(Phase::Pay);
    let drivers = drivers(world, &watched);
    for _ in 0..KILLS {
        // The moment is the point here: there is no condition to wait for.
        tokio::time::sleep(Duration::from_millis(moments.random_range(LIFE_MS))).await;
        phase.send_replace(Phase::Wait);
        world.host.restart().unwrap();
        phase.send_replace(Phase::Pay);
    }
    phase.send_replace(Phase::Stop);
    let mut outcomes = Vec::new();
    for driver in drivers {
        outcomes.extend(driver.await.unwrap());
    }
    outcomes
}

/// The transfers to which the host said 202.
fn accepted(world: &World) -> BTreeSet<String> {
    let messages = world.payer().recorder().messages();
    let accepted = messages.iter().filter(|message| {
        message.direction == Direction::Out
            && message.method == Method::POST
            && message.path == "/transfers"
            && message.status() == Some(202)
    });
    accepted
        .map(|message| message.json()["transferId"].as_str().unwrap().to_owned())
        .collect()
}

/// What a participant is told of transfers when it asks.
async fn told(fsp: &Fsp, transfers: &[String]) -> BTreeMap<String, String> {
    let mut told = BTreeMap::new();
    for some in transfers.chunks(IN_FLIGHT) {
        let asked: Vec<_> = some
            .iter()
            .map(|id| {
                let (fsp, id) = (fsp.clone(), id.clone());
                tokio::spawn(async move {
                    let answer = fsp.query_transfer(&id).await;
                    let state = answer.map_or_else(|f| f.to_string(), |(result, _)| result.state);
                    (id, state)
                })
            })
            .collect();
        for answer in asked {
            let (id, state) = answer.await.unwrap();
            told.insert(id, state);
        }
    }
    told
}

/// The state in which a participant should see a transfer.
fn external(state: &str) -> &'static str {
    match state {
        "COMMITTED" => "COMMITTED",
        "REJECTED" | "FAILED" => "ABORTED",
        _ => "RESERVED",
    }
}

/// Payer and payees, asked one by one, see what the books say.
async fn all_agree(world: &World, books: &Books, outcomes: &[PaymentOutcome]) {
    let mut of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let known = |outcome: &&PaymentOutcome| !books.state(&outcome.transfer_id).is_empty();
    for outcome in outcomes.iter().filter(known) {
        let payee = outcome.payee_fsp.as_ref().unwrap().as_str();
        of.entry("payerfsp")
            .or_default()
            .push(outcome.transfer_id.clone());
        of.entry(payee)
            .or_default()
            .push(outcome.transfer_id.clone());
    }
    for (fsp, transfers) in of {
        for (id, state) in told(world.fsp(fsp), &transfers).await {
            assert_eq!(
                state,
                external(books.state(&id)),
                "what {fsp} is told of transfer {id}"
            );
        }
    }
}

/// What a payer was told of each payment's end is what the books say.
fn told_the_truth(books: &Books, outcomes: &[PaymentOutcome]) {
    for outcome in outcomes {
        let state = books.state(&outcome.transfer_id);
        if outcome.is_committed() {
            assert_eq!(state, "COMMITTED", "{outcome:?}");
        }
        let code = outcome
            .failure
            .as_ref()
            .and_then(|failure| failure.error_code.as_deref());
        if code == Some("3208") {
            // Only of a transfer to which the host never said 202.
            assert_eq!(
                state, "",
                "the payer was told that there is no such transfer: {outcome:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_killed_under_load_keeps_what_it_promised() {
    let started = Instant::now();
    let seed = seed();
    println!("seed {seed} (set {SEED_VARIABLE} to repeat the moments)");
    let mut world = world().await;
    let outcomes = torment(&mut world, &mut StdRng::seed_from_u64(seed)).await;
    let tormented = started.elapsed();
    let books = world.settled_books().await.unwrap();

    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    let accepted = accepted(&world);
    let lost: Vec<_> = accepted
        .iter()
        .filter(|id| books.state(id).is_empty())
        .collect();
    assert_eq!(
        lost,
        Vec::<&String>::new(),
        "accepted transfers that the host knows nothing of"
    );
    all_agree(&world, &books, &outcomes).await;
    told_the_truth(&books, &outcomes);
    world.no_complaints().unwrap();

    let committed = outcomes
        .iter()
        .filter(|outcome| outcome.is_committed())
        .count();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for failure in outcomes
        .iter()
        .filter_map(|outcome| outcome.failure.as_ref())
    {
        *reasons.entry(failure.reason()).or_default() += 1;
    }
    let of_kind = |kind: FailureKind| {
        let failures = outcomes
            .iter()
            .filter_map(|outcome| outcome.failure.as_ref());
        failures.filter(|failure| failure.kind == kind).count()
    };
    let cut_off = of_kind(FailureKind::Unreachable);
    println!(
        "{} payments over {KILLS} kills: {committed} committed, {cut_off} cut off; {} transfers accepted; \
         {:.0} s of load, {:.0} s in all; failures: {reasons:?}",
        outcomes.len(),
        accepted.len(),
        tormented.as_secs_f64(),
        started.elapsed().as_secs_f64()
    );
    // Whoever had a 202 gets its callback, whatever happened in between.
    assert_eq!(of_kind(FailureKind::NoCallback), 0, "{reasons:?}");
    assert!(
        committed > KILLS as usize,
        "the load was too small to show anything: {reasons:?}"
    );
}
