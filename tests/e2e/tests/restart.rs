//! What a host finds when it starts again: reminders that came due while it was away, a release that
//! was being made current when it ended.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::time::{Duration, Instant};

use rialto_simulator::fsp::Step;
use rialto_store_sqlite::SqliteStore;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

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
async fn a_transfer_that_expired_while_the_host_was_away_expires_once_and_at_the_first_attempt() {
    let options = WorldOptions {
        expires_in: EXPIRES_IN,
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
async fn a_release_that_was_being_made_current_when_the_host_ended_is_current_after_its_start() {
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
