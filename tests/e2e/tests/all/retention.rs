//! What is older than the operator keeps goes to archives while the host runs, and is told all the same.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::path::PathBuf;
use std::time::Duration;

use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::{TestScheme, World, WorldOptions};
use serde_json::Value;

/// Longer than what is kept for a second takes to be archived.
const SOON: Duration = Duration::from_secs(60);

/// What a command says, a JSON value a line.
fn told(world: &World, command: &[&str]) -> Vec<Value> {
    let said = world.host.cli(command).unwrap().success().unwrap();
    let lines = said.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

fn events(world: &World, id: &str) -> Vec<Value> {
    told(world, &["events", id, "--json"])
}

/// The archives of a class.
fn archives(world: &World, class: &str) -> Vec<Value> {
    let all = told(world, &["archive", "list", "--json"]);
    all.into_iter()
        .filter(|one| one["class"] == class)
        .collect()
}

/// The instant of the latest item in archives of a class.
fn archived_until(world: &World, class: &str) -> u64 {
    let archives = archives(world, class);
    let done = archives.iter().filter(|one| one["done"] == true);
    done.filter_map(|one| one["to"].as_u64()).max().unwrap_or(0)
}

fn file(world: &World, archive: &Value) -> PathBuf {
    let folder = world.scheme.path().join("state/archives");
    folder.join(archive["file"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_archived_is_told_checked_and_missed_when_it_is_away() {
    let scheme = TestScheme::demo().unwrap();
    let kept = "path = \"state\"\nkeep = { history = \"1 s\", receipts = \"1 s\" }";
    scheme
        .replace("rialto.toml", "path = \"state\"", kept)
        .unwrap();
    let options = WorldOptions::default();
    let mut world = World::of(scheme, &options).await.unwrap();
    let payment = world.pay("5", "USD").await;
    committed(&payment).unwrap();
    world.settled_books().await.unwrap();
    let id = payment.transfer_id.clone();
    // The last turns of a payment come after its end: its story does not grow any more once two looks
    // with an archive between them see the same.
    let story = until(
        "all turns about the payment are archived",
        SOON,
        async || {
            let story = events(&world, &id);
            let last = story.iter().filter_map(|turn| turn["at"].as_u64()).max();
            let archived = archived_until(&world, "history");
            Ok(
                if archived >= last.unwrap_or(u64::MAX) && events(&world, &id) == story {
                    Ok(story)
                } else {
                    Err(format!(
                        "archived until {archived}, the last is of {last:?}"
                    ))
                },
            )
        },
    )
    .await
    .unwrap();
    let functions: Vec<&str> = story
        .iter()
        .filter_map(|t| t["function"].as_str())
        .collect();
    for expected in ["POST /transfers", &format!("PUT /transfers/{id}")] {
        assert!(functions.contains(&expected), "{functions:#?}");
    }
    let receipts = told(&world, &["receipts", &id, "--json"]);
    assert!(!receipts.is_empty());
    until("the verdicts are archived", SOON, async || {
        let last = receipts.iter().filter_map(|one| one["at"].as_u64()).max();
        let archived = archived_until(&world, "receipts");
        Ok(if Some(archived) >= last {
            Ok(())
        } else {
            Err(format!("until {archived}"))
        })
    })
    .await
    .unwrap();
    assert_eq!(told(&world, &["receipts", &id, "--json"]), receipts);
    let again = world.host.cli(&["receipts", &id, "--again"]).unwrap();
    again.success().unwrap();
    world.host.restart().unwrap();
    assert_eq!(events(&world, &id), story);
    assert_eq!(told(&world, &["receipts", &id, "--json"]), receipts);

    let whole = world.host.cli(&["archive", "verify"]).unwrap();
    let lines = whole.success().unwrap();
    assert!(lines.lines().count() >= 2, "{lines}");
    // The archive that has the payment's beginning.
    let began = story[0]["at"].as_u64().unwrap();
    let has_it = |one: &&Value| {
        (one["from"].as_u64().unwrap()..=one["to"].as_u64().unwrap()).contains(&began)
    };
    let all = archives(&world, "history");
    let one = file(&world, all.iter().find(has_it).unwrap());
    let bytes = std::fs::read(&one).unwrap();
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&one, &damaged).unwrap();
    let found = world.host.cli(&["archive", "verify"]).unwrap();
    let name = one.file_name().unwrap().to_str().unwrap();
    assert_eq!(found.code, 1, "{found}");
    let bad: Vec<&str> = found
        .stdout
        .lines()
        .filter(|l| l.contains("NOT whole"))
        .collect();
    assert!(bad.len() == 1 && bad[0].contains(name), "{found}");
    // One of another store, whole in itself.
    std::fs::remove_file(&one).unwrap();
    let missed = world.host.cli(&["events", &id]).unwrap();
    assert!(
        missed.stderr.contains(&format!("{name} is not there")),
        "{missed}"
    );
    std::fs::write(&one, &bytes).unwrap();
    let alone = world
        .host
        .cli(&["archive", "verify", one.to_str().unwrap()]);
    alone.unwrap().success().unwrap();
    assert_eq!(events(&world, &id), story);

    // Everything goes on behind eras that have ended by their age.
    committed(&world.pay("7", "USD").await).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    let check = world.host.cli(&["ledger", "check"]).unwrap();
    check.success().unwrap();
}
