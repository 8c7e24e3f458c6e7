//! Messages to a transfer from strangers, repeated, late, and concurrent. They are written by hand, because no
//! honest FSP sends them.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use http::Method;
use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rialto_simulator::fsp::TransferOrder;
use rialto_simulator::ilp::{Secret, from_base64url, text32};
use rialto_simulator::{Direction, Fsp, Recorded};
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::{Value, json};

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(20);
/// A participant that has no part in the payments.
const STRANGER: &str = "strangerfsp";

async fn world(expires_in: Duration) -> World {
    let mut scheme = TestScheme::demo().unwrap();
    scheme.add_participant(STRANGER, "10").unwrap();
    let options = WorldOptions {
        expires_in,
        ..WorldOptions::default()
    };
    let world = World::of(scheme, &options).await.unwrap();
    // The tests control the payee.
    world
        .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
        .unwrap();
    world
}

/// A transfer that waits for its payee FSP.
#[derive(Clone)]
pub struct Prepared {
    pub order: TransferOrder,
    /// The one that fits.
    fulfilment: String,
}

impl Prepared {
    pub fn id(&self) -> &str {
        &self.order.transfer_id
    }

    pub fn path(&self) -> String {
        format!("/transfers/{}", self.id())
    }

    pub fn error_path(&self) -> String {
        format!("{}/error", self.path())
    }

    pub fn commitment(&self) -> Value {
        json!({ "fulfilment": self.fulfilment, "transferState": "COMMITTED" })
    }
}

pub fn refusal(code: &str) -> Value {
    json!({ "errorInformation": { "errorCode": code, "errorDescription": "as a test wants it" } })
}

/// Find the payee's FSP and agree on a quote. The transfer is not sent yet.
pub async fn quoted(world: &World, amount: &str) -> TransferOrder {
    let payer = world.payer();
    let (found, _) = payer.lookup(world.party(PAYEE)).await.unwrap();
    let order = payer.quote_order(&world.request(amount, "USD"), &found);
    let (quote, _) = payer.quote(&order.unwrap()).await.unwrap();
    payer.transfer_order(&quote)
}

/// Quote, ask for the transfer, and wait until the payee FSP has been asked.
pub async fn prepared(world: &World, amount: &str) -> Prepared {
    prepared_of(world, quoted(world, amount).await).await
}

/// Ask for a transfer, and wait until the payee FSP has been asked.
pub async fn prepared_of(world: &World, order: TransferOrder) -> Prepared {
    let payer = world.payer();
    let packet = from_base64url(&order.ilp_packet).unwrap();
    let prepared = Prepared {
        fulfilment: text32(&Secret::from_name(PAYEE).fulfilment_of_packet(&packet)),
        order,
    };
    accepted(
        payer,
        Method::POST,
        "/transfers",
        PAYEE,
        &prepared.order.body(),
    )
    .await;
    let id = prepared.id().to_owned();
    let asked = move |message: &Recorded| {
        message.method == Method::POST
            && message.path == "/transfers"
            && message.json()["transferId"] == *id
    };
    let asked = world.payee().recorder().expect(asked).within(SOON).await;
    asked.unwrap();
    prepared
}

/// Sends a message that the host accepts; a refusal may follow.
pub async fn accepted(fsp: &Fsp, method: Method, path: &str, to: &str, body: &str) {
    let request = fsp.raw(method, path).to(to).body(body.to_owned());
    let answer = request.send().await.unwrap();
    assert!(answer.status.is_success(), "{path}: {answer:?}");
}

pub async fn puts(fsp: &Fsp, path: &str, to: &str, body: &Value) {
    accepted(fsp, Method::PUT, path, to, &body.to_string()).await;
}

/// Expects an error with this code to the FSP.
pub async fn told_error(fsp: &Fsp, transfer: &Prepared, code: &str) {
    let path = transfer.error_path();
    let told = fsp.expect_callback(Method::PUT, &path, SOON);
    let told = told.await.unwrap_or_else(|e| panic!("{code}: {e}")).json();
    assert_eq!(told["errorInformation"]["errorCode"], code, "{told}");
}

/// Expects the commit's message to the FSP.
pub async fn told_committed(fsp: &Fsp, transfer: &Prepared) {
    let path = transfer.path();
    let told = fsp.expect_callback(Method::PUT, &path, SOON);
    let told = told.await.unwrap().json();
    assert_eq!(told["transferState"], "COMMITTED", "{told}");
    assert_eq!(told["fulfilment"], transfer.fulfilment, "{told}");
}

/// What an FSP was sent about a transfer: the methods and whether it was an error, in order.
fn told(fsp: &Fsp, transfer: &Prepared) -> Vec<String> {
    let messages = fsp.recorder().messages();
    let inbound = messages.iter().filter(|m| m.direction == Direction::In);
    let about = inbound.filter_map(|m| {
        let rest = m.path.strip_prefix(&transfer.path())?;
        let code = m.json()["errorInformation"]["errorCode"].clone();
        let state = m.json()["transferState"].clone();
        let told = code.as_str().or(state.as_str()).unwrap_or_default();
        Some(format!("{}{rest} {told}", m.method))
    });
    about.collect()
}

/// Debits and credits of everything that a payment of these FSPs touches.
fn balances(world: &World) -> Vec<i128> {
    let books = world.books().unwrap();
    [PAYER, PAYEE, STRANGER]
        .iter()
        .flat_map(|fsp| ["LIQUIDITY", "POSITION"].map(|kind| format!("{fsp}:USD:{kind}")))
        .map(|account| books.balance(&account).unwrap())
        .collect()
}

async fn settle(world: &World) {
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    world.host.nothing_failed().await.unwrap();
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_payee_fsp_ends_a_transfer() {
    let world = world(Duration::from_secs(120)).await;
    let transfer = prepared(&world, "5").await;
    let before = balances(&world);
    let stranger = world.fsp(STRANGER);
    for (who, other) in [(stranger, PAYER), (world.payer(), PAYEE)] {
        puts(who, &transfer.path(), other, &transfer.commitment()).await;
        told_error(who, &transfer, "3100").await;
        puts(who, &transfer.error_path(), other, &refusal("5104")).await;
        told_error(who, &transfer, "3100").await;
    }
    let books = world.books().unwrap();
    assert_eq!(books.state(transfer.id()), "PREPARED");
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    assert_eq!(balances(&world), before, "the money has moved");

    puts(
        world.payee(),
        &transfer.path(),
        PAYER,
        &transfer.commitment(),
    )
    .await;
    told_committed(world.payer(), &transfer).await;
    settle(&world).await;
    // Only the intruders got messages about their attempts.
    assert_eq!(told(world.payee(), &transfer), Vec::<String>::new());
    assert_eq!(told(stranger, &transfer), ["PUT/error 3100"; 2]);
    assert_eq!(
        told(world.payer(), &transfer),
        ["PUT/error 3100", "PUT/error 3100", "PUT COMMITTED"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repeats_count_once_and_changed_messages_are_refused() {
    let world = world(Duration::from_secs(120)).await;
    let (payer, payee, stranger) = (world.payer(), world.payee(), world.fsp(STRANGER));
    let opening = balances(&world);
    let transfer = prepared(&world, "5").await;
    let reserved = balances(&world);
    let post = |fsp: &Fsp, order: &TransferOrder| {
        let (fsp, body) = (fsp.clone(), order.body());
        async move { accepted(&fsp, Method::POST, "/transfers", PAYEE, &body).await }
    };

    // The same again while it is open: the callback that is owed will come, and no other.
    post(payer, &transfer.order).await;
    let mut other = transfer.order.clone();
    other.amount = "4".into();
    post(payer, &other).await;
    told_error(payer, &transfer, "3106").await;
    other = transfer.order.clone();
    other.payer_fsp = STRANGER.parse().unwrap();
    post(stranger, &other).await;
    told_error(stranger, &transfer, "3106").await;
    assert_eq!(world.books().unwrap().state(transfer.id()), "PREPARED");
    assert_eq!(balances(&world), reserved);

    puts(payee, &transfer.path(), PAYER, &transfer.commitment()).await;
    told_committed(payer, &transfer).await;
    let committed = balances(&world);
    assert_eq!(committed[0], opening[0] - 500, "the payer's liquidity");
    assert_eq!(committed[2], opening[2] + 500, "the payee's liquidity");

    // After its end, a repeat is answered with the outcome.
    post(payer, &transfer.order).await;
    told_committed(payer, &transfer).await;
    puts(payee, &transfer.path(), PAYER, &transfer.commitment()).await;
    told_committed(payee, &transfer).await;
    other = transfer.order.clone();
    other.amount = "4".into();
    post(payer, &other).await;
    told_error(payer, &transfer, "3106").await;
    let mut changed = transfer.commitment();
    changed["fulfilment"] = "A".repeat(43).into();
    puts(payee, &transfer.path(), PAYER, &changed).await;
    told_error(payee, &transfer, "3106").await;
    puts(payee, &transfer.error_path(), PAYER, &refusal("5104")).await;
    told_error(payee, &transfer, "3100").await;

    settle(&world).await;
    assert_eq!(balances(&world), committed);
    assert_eq!(payee.received().transfers, 1, "the payee was asked once");
    assert_eq!(
        told(payer, &transfer),
        [
            "PUT/error 3106",
            "PUT COMMITTED",
            "PUT COMMITTED",
            "PUT/error 3106"
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_releases_once_however_often_it_comes() {
    let world = world(Duration::from_secs(120)).await;
    let before = balances(&world);
    let transfer = prepared(&world, "5").await;
    let payee = world.payee();
    let (path, body) = (transfer.error_path(), refusal("5104"));
    tokio::join!(
        puts(payee, &path, PAYER, &body),
        puts(payee, &path, PAYER, &body),
        puts(payee, &path, PAYER, &body),
        puts(payee, &path, PAYER, &body),
    );
    told_error(world.payer(), &transfer, "5104").await;
    // Another reason for what has ended, and a commitment to it.
    puts(payee, &path, PAYER, &refusal("5105")).await;
    told_error(payee, &transfer, "3106").await;
    puts(payee, &transfer.path(), PAYER, &transfer.commitment()).await;
    told_error(payee, &transfer, "3100").await;
    settle(&world).await;
    assert_eq!(world.books().unwrap().state(transfer.id()), "REJECTED");
    assert_eq!(balances(&world), before);
    assert_eq!(told(world.payer(), &transfer), ["PUT/error 5104"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn right_fulfilment_after_a_wrong_one_is_too_late() {
    let world = world(Duration::from_secs(120)).await;
    let before = balances(&world);
    let transfer = prepared(&world, "5").await;
    let mut wrong = transfer.commitment();
    wrong["fulfilment"] = "A".repeat(43).into();
    puts(world.payee(), &transfer.path(), PAYER, &wrong).await;
    told_error(world.payer(), &transfer, "3100").await;
    puts(
        world.payee(),
        &transfer.path(),
        PAYER,
        &transfer.commitment(),
    )
    .await;
    settle(&world).await;
    assert_eq!(world.books().unwrap().state(transfer.id()), "REJECTED");
    assert_eq!(balances(&world), before);
    let told = told(world.payer(), &transfer);
    assert_eq!(told, ["PUT/error 3100"], "the payer is told once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_after_the_expiry_changes_nothing() {
    let world = world(Duration::from_secs(4)).await;
    let before = balances(&world);
    let transfer = prepared(&world, "5").await;
    for fsp in [world.payer(), world.payee()] {
        told_error(fsp, &transfer, "3303").await;
    }
    puts(
        world.payee(),
        &transfer.path(),
        PAYER,
        &transfer.commitment(),
    )
    .await;
    told_error(world.payee(), &transfer, "3303").await;
    puts(
        world.payee(),
        &transfer.error_path(),
        PAYER,
        &refusal("5104"),
    )
    .await;
    told_error(world.payee(), &transfer, "3303").await;
    settle(&world).await;
    assert_eq!(world.books().unwrap().state(transfer.id()), "REJECTED");
    assert_eq!(balances(&world), before);
    assert_eq!(told(world.payer(), &transfer), ["PUT/error 3303"]);
}

/// Milliseconds from now until each transfer's expiry; below 0 if it is past.
fn until_expiry(world: &World, transfers: &[Prepared]) -> Vec<i64> {
    let books = world.books().unwrap();
    let now = std::time::SystemTime::now();
    let now = now.duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_millis()).unwrap();
    transfers
        .iter()
        .map(|transfer| books.transfers()[transfer.id()].expiration)
        .map(|expiration| i64::try_from(expiration).unwrap() - now)
        .collect()
}

/// Commitments and refusals, each twice, in any order.
async fn attack(payee: &Fsp, transfer: &Prepared, seed: u64) {
    let mut messages = [
        (transfer.path(), transfer.commitment()),
        (transfer.path(), transfer.commitment()),
        (transfer.error_path(), refusal("5104")),
        (transfer.error_path(), refusal("5104")),
    ];
    messages.shuffle(&mut StdRng::seed_from_u64(seed));
    let [one, two, three, four] = &messages;
    tokio::join!(
        puts(payee, &one.0, PAYER, &one.1),
        puts(payee, &two.0, PAYER, &two.1),
        puts(payee, &three.0, PAYER, &three.1),
        puts(payee, &four.0, PAYER, &four.1),
    );
}

/// The reminder, commitments and refusals meet at the moment of the expiry: each transfer has one end,
/// payer, payee and ledger agree on it, and money that was reserved is moved or released once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commitment_refusal_and_expiry_at_one_moment_give_one_end() {
    const TRANSFERS: usize = 24;
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    let world = world(Duration::from_secs(8)).await;
    let before = balances(&world);
    let mut transfers = Vec::new();
    for n in 0..TRANSFERS {
        let transfer = prepared(&world, "1").await;
        // Some clearly before: one message, then all of them.
        let first = match n % 12 {
            0 => Some((transfer.path(), transfer.commitment())),
            6 => Some((transfer.error_path(), refusal("5104"))),
            _ => None,
        };
        if let Some((path, body)) = first {
            puts(world.payee(), &path, PAYER, &body).await;
            attack(world.payee(), &transfer, seed ^ n as u64).await;
        }
        transfers.push(transfer);
    }
    let left = until_expiry(&world, &transfers);
    let mut attacks = Vec::new();
    for (n, (transfer, left)) in transfers.iter().zip(left).enumerate() {
        // Some clearly after, most about the moment itself.
        let offset = match n % 6 {
            0 => continue,
            1 => 200,
            _ => chance.random_range(-20..=20),
        };
        let at = Instant::now() + Duration::from_millis((left + offset).max(0).unsigned_abs());
        let (payee, transfer) = (world.payee().clone(), transfer.clone());
        attacks.push(tokio::spawn(async move {
            // The moment is the point here: there is no condition to wait for.
            tokio::time::sleep_until(at.into()).await;
            attack(&payee, &transfer, seed ^ n as u64).await;
        }));
    }
    for attack in attacks {
        attack.await.unwrap();
    }
    settle(&world).await;

    let books = world.books().unwrap();
    let (mut committed, mut declined, mut expired) = (0, 0, 0);
    for transfer in &transfers {
        let heard: BTreeSet<_> = told(world.payer(), transfer).into_iter().collect();
        let payee_heard = told(world.payee(), transfer);
        match books.state(transfer.id()) {
            "COMMITTED" => {
                committed += 1;
                assert_eq!(heard, BTreeSet::from(["PUT COMMITTED".to_owned()]));
                assert!(
                    !payee_heard.iter().any(|told| told.ends_with("3303")),
                    "{payee_heard:?}"
                );
            }
            "REJECTED" => {
                assert_eq!(heard.len(), 1, "{heard:?}");
                match heard.first().map(String::as_str) {
                    Some("PUT/error 3303") => expired += 1,
                    Some("PUT/error 5104") => declined += 1,
                    _ => panic!("{heard:?}"),
                }
                assert!(
                    !payee_heard.iter().any(|told| told.ends_with("COMMITTED")),
                    "{payee_heard:?}"
                );
            }
            other => panic!("transfer {} is {other}", transfer.id()),
        }
    }
    // Each end was come to: a sixth began before the moment, and a sixth after it.
    let clear = TRANSFERS / 12;
    assert!(
        committed >= clear as i128 && declined >= clear && expired >= 2 * clear,
        "{committed} committed, {declined} declined, {expired} expired"
    );
    let after = balances(&world);
    assert_eq!(after[0], before[0] - 100 * committed, "the payer's");
    assert_eq!(after[2], before[2] + 100 * committed, "the payee's");
    assert_eq!((after[1], after[3]), (before[1], before[3]), "positions");
}
