//! A load under which the host ends again and again, and the judgement after: every transfer that it
//! accepted ends, the books add up, and payer, payee and ledger agree.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::Method;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_simulator::amount::minor_units;
use rialto_simulator::fsp::{FailureKind, Step};
use rialto_simulator::limits::RECORDED_MESSAGES_MAX;
use rialto_simulator::{Direction, Fsp, PaymentOutcome, PaymentRequest};
use rialto_tests::{Books, TestScheme, World, WorldOptions, audited};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Payments in flight.
const IN_FLIGHT: usize = 16;
/// How long the host lives between its start and its end, in milliseconds.
const LIFE_MS: std::ops::Range<u64> = 20..900;
/// Participants that are paid, besides the demonstration's.
const MORE_PAYEES: [&str; 2] = ["payee2fsp", "payee3fsp"];
/// The account of the payer from which everything is paid.
pub const LIQUIDITY: &str = "payerfsp:USD:LIQUIDITY";
/// Another seed than a random one: to repeat a failure's moments.
const SEED_VARIABLE: &str = "RIALTO_TEST_SEED";

/// The orders for the load's drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The host runs: begin payments.
    Pay,
    /// It does not: wait.
    Wait,
    /// Begin no more.
    Stop,
}

/// A scheme with several payees.
pub fn scheme() -> TestScheme {
    let mut scheme = TestScheme::demo().unwrap();
    for payee in MORE_PAYEES {
        scheme.add_participant(payee, "1000").unwrap();
    }
    scheme
}

/// FSPs that wait for the host.
pub fn options() -> WorldOptions {
    WorldOptions {
        callback_timeout: Duration::from_secs(10),
        expires_in: Duration::from_secs(10),
        // Longer than a restart: a payee tries until the host is back.
        callback_attempts: 8,
        parties_each: IN_FLIGHT,
        ..WorldOptions::default()
    }
}

/// A host on it whose FSPs wait for it.
pub async fn world(scheme: TestScheme) -> World {
    World::of(scheme, &options()).await.unwrap()
}

/// Where random moments come from.
pub fn moments() -> StdRng {
    let seed = match std::env::var(SEED_VARIABLE) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{SEED_VARIABLE} is no number: {text}")),
        Err(_) => rand::random(),
    };
    println!("seed {seed} (set {SEED_VARIABLE} to repeat the moments)");
    StdRng::seed_from_u64(seed)
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

/// Ends the host under load again and again by `end`, which also restarts it. Returns the payments' outcomes.
pub async fn torment(
    world: &mut World,
    moments: &mut StdRng,
    ends: u32,
    mut end: impl FnMut(&mut World, &mut StdRng, u32),
) -> Vec<PaymentOutcome> {
    let (phase, watched) = watch::channel(Phase::Pay);
    let drivers = drivers(world, &watched);
    for n in 1..=ends {
        // The moment is the point here: there is no condition to wait for.
        tokio::time::sleep(Duration::from_millis(moments.random_range(LIFE_MS))).await;
        phase.send_replace(Phase::Wait);
        tokio::task::block_in_place(|| end(world, moments, n));
        phase.send_replace(Phase::Pay);
    }
    phase.send_replace(Phase::Stop);
    let mut outcomes = Vec::new();
    for driver in drivers {
        outcomes.extend(driver.await.unwrap());
    }
    outcomes
}

/// The transfers that the payer asked for, from its own recording: their amounts in minor units, and
/// whether the host said 202.
fn asked(world: &World) -> BTreeMap<String, (i128, bool)> {
    let messages = world.payer().recorder().messages();
    assert!(
        messages.len() < RECORDED_MESSAGES_MAX,
        "the recording has lost its beginning"
    );
    let asked = messages.iter().filter(|message| {
        message.direction == Direction::Out
            && message.method == Method::POST
            && message.path == "/transfers"
    });
    asked
        .map(|message| {
            let body = message.json();
            let id = body["transferId"].as_str().unwrap().to_owned();
            let amount = minor_units(body["amount"]["amount"].as_str().unwrap(), "USD");
            (
                id,
                (i128::from(amount.unwrap()), message.status() == Some(202)),
            )
        })
        .collect()
}

/// The payer's liquidity is what it had, less what it asked to pay and what was committed: reckoned
/// from its own messages, so that money that was moved twice shows, and so does an invented transfer.
fn the_payers_own_reckoning(books: &Books, asked: &BTreeMap<String, (i128, bool)>, before: i128) {
    let mut expected = before;
    for id in books.transfers().keys() {
        let (amount, _) = asked
            .get(id)
            .unwrap_or_else(|| panic!("nobody asked for transfer {id}"));
        if books.state(id) == "COMMITTED" {
            expected -= amount;
        }
    }
    assert_eq!(books.balance(LIQUIDITY).unwrap(), expected, "{LIQUIDITY}");
}

/// The answers to a participant's queries for transfers.
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

/// Each payer's view of its payments agrees with the ledger.
///
/// One gap is allowed: a request without a 202 may still be on disk, and a query may overtake it after the
/// restart. Then the payer first learns that the transfer is unknown, and later of its end.
fn told_the_truth(
    books: &Books,
    asked: &BTreeMap<String, (i128, bool)>,
    outcomes: &[PaymentOutcome],
) {
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
            let accepted = asked[&outcome.transfer_id].1;
            assert!(
                !accepted,
                "the payer was told that there is no such transfer: {outcome:?}"
            );
        }
    }
}

/// The path of the callback for which a payer waited in vain, if it did.
fn no_callback(outcome: &PaymentOutcome) -> Option<String> {
    let failure = outcome.failure.as_ref();
    let failure = failure.filter(|failure| failure.kind == FailureKind::NoCallback)?;
    Some(match failure.step {
        Step::Lookup => format!("/{}", outcome.lookup_path),
        Step::Quote => format!("/quotes/{}", outcome.quote_id),
        _ => format!("/transfers/{}", outcome.transfer_id),
    })
}

/// Whether the payer got a callback of a payment's step after all, when it no longer waited for it.
fn told_late(world: &World, outcome: &PaymentOutcome, path: &str) -> bool {
    let messages = world.payer().recorder().messages();
    let error = format!("{path}/error");
    messages.iter().any(|message| {
        message.direction == Direction::In
            && message.method == Method::PUT
            && (message.path == path || message.path == error)
            && message.at_us >= outcome.began_us
            && message.status() == Some(200)
    })
}

/// The payee FSP's answer to a payment's step that the host said 200 to, and when: milliseconds after
/// the payment began.
fn taken_from_payee(world: &World, outcome: &PaymentOutcome, path: &str) -> Option<u64> {
    let party = outcome.lookup_path.trim_start_matches("parties/");
    let of_party = |fsp: &&str| world.parties(fsp).iter().any(|p| p.path() == party);
    let payee = world.payees().find(of_party)?;
    let messages = world.fsp(payee).recorder().messages();
    let taken = messages.iter().find(|message| {
        message.direction == Direction::Out
            && message.method == Method::PUT
            && message.path == path
            && message.at_us >= outcome.began_us
            && message.status() == Some(200)
    });
    taken.map(|message| (message.at_us - outcome.began_us) / 1_000)
}

/// Checks the outcomes of payments over a number of ends of the host: nothing acknowledged is lost. `before` is
/// the payer's opening balance.
pub async fn judge(
    world: &World,
    before: i128,
    outcomes: &[PaymentOutcome],
    ends: u32,
    started: Instant,
) {
    let books = world.settled_books().await.unwrap();

    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    let check = world.host.cli(&["ledger", "check"]).unwrap().success();
    assert!(!check.unwrap().contains("WRONG"));
    let asked = asked(world);
    let accepted = asked.iter().filter(|(_, (_, accepted))| *accepted);
    let accepted: Vec<_> = accepted.map(|(id, _)| id).collect();
    let lost: Vec<_> = accepted
        .iter()
        .filter(|id| books.state(id).is_empty())
        .collect();
    assert!(
        lost.is_empty(),
        "accepted transfers that the host knows nothing of: {lost:?}"
    );
    the_payers_own_reckoning(&books, &asked, before);
    // All interrupted work has been completed.
    world.host.nothing_waits().await.unwrap();
    all_agree(world, &books, outcomes).await;
    told_the_truth(&books, &asked, outcomes);
    let audited = audited::agree(world, &books).await.unwrap();
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
        "{} payments over {ends} ends: {committed} committed, {cut_off} cut off; {} transfers accepted; \
         {audited} commits, each with its entry in the audit log; {:.0} s in all; failures: {reasons:?}",
        outcomes.len(),
        accepted.len(),
        started.elapsed().as_secs_f64()
    );
    // Every request with a 202 gets its callback, unless the host never acknowledged the other FSP's answer.
    for outcome in outcomes {
        let waited = no_callback(outcome).filter(|path| !told_late(world, outcome, path));
        let taken = waited.and_then(|path| taken_from_payee(world, outcome, &path));
        assert_eq!(taken, None, "the host lost this answer of {outcome:#?}");
    }
    assert!(
        committed > ends as usize,
        "the load was too small to show anything: {reasons:?}"
    );
}
