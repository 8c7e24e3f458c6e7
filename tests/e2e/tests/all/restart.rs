//! Restarts: overdue reminders, an interrupted activation, and work that queries must not overtake.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use rialto_engine::store::Store as _;
use rialto_simulator::fsp::Step;
use rialto_simulator::{Direction, Fsp, Recorded};
use rialto_store_sqlite::ReleaseStore as _;
use rialto_store_sqlite::SqliteStore;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;
use tokio::task::JoinSet;

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(30);
/// How long a transfer is valid.
const EXPIRES_IN: Duration = Duration::from_secs(3);

/// The turns about something, as JSON.
fn turns(world: &World, id: &str) -> Vec<Value> {
    let text = world.host.cli(&["events", id, "--json"]).unwrap();
    let text = text.success().unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transfer_expired_during_downtime_times_out_once() {
    let options = WorldOptions {
        expires_in: EXPIRES_IN,
        // The payer asks for nothing while the host is down, however long that is.
        callback_timeout: Duration::from_secs(120),
        ..WorldOptions::default()
    };
    let mut world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    world
        .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
        .unwrap();
    let (payer, request) = (world.payer().clone(), world.request("5", "USD"));
    let paying = tokio::spawn(async move { payer.pay(&request).await });
    until("a transfer is prepared", SOON, async || {
        let open = world.books()?.open();
        Ok(if open.is_empty() {
            Err("none".to_owned())
        } else {
            Ok(())
        })
    })
    .await
    .unwrap();
    world.host.kill().unwrap();
    let prepared = Instant::now();
    until("the transfer's time is over", SOON, async || {
        let passed = prepared.elapsed();
        Ok(if passed > EXPIRES_IN {
            Ok(())
        } else {
            Err(format!("{passed:?}"))
        })
    })
    .await
    .unwrap();
    world.host.restart().unwrap();
    let outcome = paying.await.unwrap();
    refused(&outcome, Step::Transfer, "3303").unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());

    let turns = turns(&world, &outcome.transfer_id);
    let failed: Vec<&Value> = turns
        .iter()
        .filter(|turn| turn["ended"] != "Executed")
        .collect();
    assert_eq!(failed, [&Value::Null; 0], "no turn failed");
    let fired = turns.iter().filter(|turn| turn["kind"] == "Reminder");
    assert_eq!(fired.count(), 1, "{turns:#?}");
}

/// The number of the current release, and how many there are.
fn current(world: &World) -> (u64, usize) {
    let text = world.host.cli(&["release", "list", "--json"]).unwrap();
    let all: Vec<Value> = serde_json::from_str(&text.success().unwrap()).unwrap();
    let current = all.iter().find(|release| release["current"] == true);
    (current.unwrap()["number"].as_u64().unwrap(), all.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn interrupted_activation_ends_after_the_restart() {
    let mut world = World::demo().await.unwrap();
    let twin = world.scheme.twin().unwrap();
    twin.edit("maximum = \"10000\"", "maximum = \"50\"")
        .unwrap();
    let folder = twin.path().to_str().unwrap();
    let apply = world.host.cli(&["release", "apply", folder]).unwrap();
    apply.success().unwrap();
    let rollback = world.host.cli(&["release", "rollback", "1"]).unwrap();
    rollback.success().unwrap();
    world.host.kill().unwrap();
    // As if it had ended between the activation of release 2 and the change of the pointer.
    let state = world.scheme.path().join("state");
    let mark = move || {
        let store = SqliteStore::open(&state).unwrap();
        store.recover().unwrap();
        assert_eq!(store.activating_release().unwrap(), 0);
        store.set_activating_release(2).unwrap();
    };
    tokio::task::spawn_blocking(mark).await.unwrap();
    world.host.restart().unwrap();
    assert_eq!(current(&world), (2, 2));
    refused(&world.pay("60", "USD").await, Step::Quote, "4200").unwrap();
    committed(&world.pay("40", "USD").await).unwrap();
    world.host.restart().unwrap();
    assert_eq!(current(&world), (2, 2), "the mark is gone");
    world.no_complaints().unwrap();
}

/// Transfers that are pending when the host ends, each with a rule that takes its time.
const PENDING: usize = 4;
/// What that rule may use up: some tenths of a second.
const FUEL: &str = "1_000_000_000";

/// A query that is sent as soon as the host takes one at all.
async fn asked_at_once(payer: Fsp, path: String) -> Recorded {
    let begun = Instant::now();
    loop {
        match payer.raw(Method::GET, &path).send().await {
            Ok(answer) if answer.status == StatusCode::ACCEPTED => break,
            Ok(answer) => panic!("a query should be taken or not be answered: {answer:?}"),
            Err(error) => assert!(begun.elapsed() < SOON, "the host takes no query: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let about = move |m: &Recorded| m.direction == Direction::In && m.path.starts_with(&path);
    let told = payer.recorder().expect(about).within(SOON).await;
    told.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn query_after_restart_follows_earlier_requests() {
    let scheme = TestScheme::demo().unwrap();
    // A rule that uses up its fuel: that takes long, and means that it allows.
    let ceilings = format!("deadline = \"20 s\"\nfuel = {FUEL}");
    let demo = "deadline = \"1 s\"\nfuel = 100_000_000";
    scheme.replace("rialto.toml", demo, &ceilings).unwrap();
    scheme.add_rule("hostile-rule").unwrap();
    let rule = "component = \"components/hostile-rule.wasm\"\n";
    let limits = format!("{rule}limits = {{ deadline = \"20 s\", fuel = {FUEL} }}\n");
    scheme
        .edit_with(|text| {
            let (before, after) = text.split_once(rule).unwrap();
            let after = after.replacen("limits = { deadline = \"1 s\" }\n", "", 1);
            format!("{before}{limits}{after}")
        })
        .unwrap();
    // It runs inside the turn of the context that asks it, which has to have the time too.
    let transfers = "component = \"components/transfers.wasm\"\n";
    let patient = format!("{transfers}limits = {{ deadline = \"20 s\" }}\n");
    scheme.edit(transfers, &patient).unwrap();
    let slow = "settings = { do = \"loop\" }\non-failure = \"allow\"";
    scheme
        .add_step("transfer-prepare-check", "hostile-rule", slow)
        .unwrap();
    scheme.lock().unwrap();
    let mut world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    world
        .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
        .unwrap();
    let payer = world.payer().clone();
    let mut orders = Vec::new();
    for _ in 0..PENDING {
        let (found, _) = payer.lookup(world.party(PAYEE)).await.unwrap();
        let order = payer.quote_order(&world.request("5", "USD"), &found);
        let (quote, _) = payer.quote(&order.unwrap()).await.unwrap();
        orders.push(payer.transfer_order(&quote));
    }
    let mut sent = JoinSet::new();
    for order in &orders {
        let (payer, body) = (payer.clone(), order.body());
        sent.spawn(async move {
            let request = payer.raw(Method::POST, "/transfers").to(PAYEE).body(body);
            request.send().await.unwrap().status
        });
    }
    let accepted = sent.join_all().await;
    world.host.kill().unwrap();
    assert_eq!(accepted, [StatusCode::ACCEPTED; PENDING]);

    let asked = orders.iter().map(|order| {
        let path = format!("/transfers/{}", order.transfer_id);
        tokio::spawn(asked_at_once(payer.clone(), path))
    });
    let asked: Vec<_> = asked.collect();
    tokio::task::block_in_place(|| world.host.restart()).unwrap();
    let log = world.host.log();
    assert!(
        log.contains("the host continues its pending work"),
        "nothing was pending:\n{log}"
    );
    for told in asked {
        let told = told.await.unwrap();
        let body = told.json();
        assert!(!told.path.ends_with("/error"), "{}: {body}", told.path);
        assert_eq!(body["transferState"], "RESERVED", "{body}");
    }
    for order in &orders {
        let turns = turns(&world, &order.transfer_id);
        let prepared = turns.iter().find(|turn| turn["component"] == "transfers");
        let asked = turns.iter().rfind(|turn| turn["kind"] == "Request");
        let (prepared, asked) = (prepared.unwrap(), asked.unwrap());
        let number = |turn: &Value, member: &str| turn[member].as_u64().unwrap();
        // A turn's beginning is in whole milliseconds.
        let done = number(prepared, "at") + number(prepared, "took_us") / 1_000;
        assert!(
            number(asked, "at") >= done,
            "{asked:#} came before the end of {prepared:#}"
        );
    }
    world.no_complaints().unwrap();
}
