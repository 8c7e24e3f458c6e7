//! Old items move to archives while the host runs, and stay readable.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::path::PathBuf;
use std::time::Duration;

use http::Method;
use rialto_simulator::fsp::TransferOrder;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{Office, TestScheme, World, WorldOptions};
use serde_json::{Value, json};

use crate::transfers::{Prepared, accepted, prepared, puts, refusal, told_committed, told_error};

/// Longer than what is kept for a second takes to be archived.
const SOON: Duration = Duration::from_secs(60);

/// A command's output, one JSON value per line.
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
async fn archives_are_read_verified_and_missed_if_absent() {
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
        missed.stderr.contains(&format!("{name} is missing")),
        "{missed}"
    );
    std::fs::write(&one, &bytes).unwrap();
    let alone = world
        .host
        .cli(&["archive", "verify", one.to_str().unwrap()]);
    alone.unwrap().success().unwrap();
    assert_eq!(events(&world, &id), story);

    // Everything goes on behind segments that have ended by their age.
    committed(&world.pay("7", "USD").await).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    let check = world.host.cli(&["ledger", "check"]).unwrap();
    check.success().unwrap();
}

/// An operator's action on batches.
const SETTLING: [(&str, &str); 1] = [("anna", "\"reader\", \"maker\", \"checker\"")];

/// Settle the one batch that there is.
async fn settle(office: &Office) {
    let batches = office
        .get("anna", "/settlement-batches?currency=USD")
        .await
        .unwrap();
    let ids: Vec<&Value> = batches["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["id"])
        .collect();
    let body = json!({ "batches": ids, "reason": "it is time" });
    let said = office.post("anna", "/settlements", &body).await.unwrap();
    assert_eq!(said.body["state"], "COMPLETED", "{said:?}");
}

async fn asks(world: &World, order: &TransferOrder) {
    accepted(
        world.payer(),
        Method::POST,
        "/transfers",
        PAYEE,
        &order.body(),
    )
    .await;
}

/// An archived transfer still answers queries, and protects its id.
async fn is_told_and_never_again_accepted(world: &World, transfer: &Prepared) {
    asks(world, &transfer.order).await;
    told_committed(world.payer(), transfer).await;
    puts(
        world.payee(),
        &transfer.path(),
        PAYER,
        &transfer.commitment(),
    )
    .await;
    told_committed(world.payee(), transfer).await;
    let mut other = transfer.order.clone();
    other.amount = "4".into();
    asks(world, &other).await;
    told_error(world.payer(), transfer, "3106").await;
    let (told, _) = world.payer().query_transfer(transfer.id()).await.unwrap();
    assert_eq!(told.state, "COMMITTED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archived_transfers_leave_sums_and_protect_their_ids() {
    let scheme = TestScheme::demo().unwrap();
    scheme.add_operators(&SETTLING).unwrap();
    scheme
        .edit(r#"settles = "manual""#, r#"settles = "automatic""#)
        .unwrap();
    let kept = "path = \"state\"\nkeep = { transfers = \"1 s\" }";
    scheme
        .replace("rialto.toml", "path = \"state\"", kept)
        .unwrap();
    let options = WorldOptions {
        expires_in: Duration::from_secs(120),
        ..WorldOptions::default()
    };
    let mut world = World::of(scheme, &options).await.unwrap();
    let silent = r#"{"transfer":{"silent":"100%"}}"#;
    world.payee_behaves(silent).unwrap();
    let office = Office::of(&world.scheme, &world.host, &["anna"]).unwrap();
    let transfer = prepared(&world, "5").await;
    puts(
        world.payee(),
        &transfer.path(),
        PAYER,
        &transfer.commitment(),
    )
    .await;
    told_committed(world.payer(), &transfer).await;
    let declined = prepared(&world, "3").await;
    puts(
        world.payee(),
        &declined.error_path(),
        PAYER,
        &refusal("5104"),
    )
    .await;
    told_error(world.payer(), &declined, "5104").await;
    let open = prepared(&world, "2").await;
    is_told_and_never_again_accepted(&world, &transfer).await;
    world.host.nothing_failed().await.unwrap();

    let reservations = [(
        "accounts-and-balances".to_owned(),
        "reservations".to_owned(),
    )];
    let left = async || {
        let left = office.everything(&reservations).await?;
        anyhow::Ok(
            left.values()
                .filter(|one| one["body"]["state"] != "archived")
                .map(|one| one["id"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>(),
        )
    };
    // A transfer whose batch is not settled is not over, at any age.
    until("what needs no settlement goes", SOON, async || {
        let left = left().await?;
        let is_gone = left.len() == 2 && !left.iter().any(|id| id == declined.id());
        Ok(is_gone.then_some(()).ok_or(format!("{left:?}")))
    })
    .await
    .unwrap();
    settle(&office).await;
    until("what is settled goes", SOON, async || {
        let left = left().await?;
        Ok((left == [open.id()])
            .then_some(())
            .ok_or(format!("{left:?}")))
    })
    .await
    .unwrap();
    until("the transfers themselves are archived", SOON, async || {
        let shown = world
            .host
            .cli(&["archive", "show", &format!("transfer:{}", transfer.id())])?;
        let whole = shown.stdout.contains(r#""collection":"transfers""#);
        let done = archives(&world, "documents")
            .iter()
            .all(|one| one["done"] == true);
        Ok((whole && done).then_some(()).ok_or(format!("{shown}")))
    })
    .await
    .unwrap();

    let check = |world: &World| {
        let check = world.host.cli(&["ledger", "check"]).unwrap();
        let said = check.success().unwrap();
        assert!(!said.contains("WRONG"), "{said}");
    };
    check(&world);
    is_told_and_never_again_accepted(&world, &transfer).await;
    let entries = told(
        &world,
        &["ledger", "entries", "--cause", transfer.id(), "--json"],
    );
    let types: Vec<&str> = entries
        .iter()
        .map(|entry| entry["entryType"].as_str().unwrap())
        .collect();
    assert_eq!(
        types,
        ["TRANSFER_PREPARE", "TRANSFER_FULFIL", "SETTLEMENT_RECORD"]
    );
    let statement = world
        .host
        .cli(&["ledger", "entries", "payerfsp:USD:POSITION"])
        .unwrap();
    assert!(statement.stdout.contains("opening balance"), "{statement}");
    world
        .host
        .cli(&["archive", "verify"])
        .unwrap()
        .success()
        .unwrap();

    // The one that was open goes on, and so does everything else, also after a start.
    puts(world.payee(), &open.path(), PAYER, &open.commitment()).await;
    told_committed(world.payer(), &open).await;
    world.payee_behaves("{}").unwrap();
    committed(&world.pay("7", "USD").await).unwrap();
    world.host.nothing_failed().await.unwrap();
    check(&world);
    world.host.restart().unwrap();
    is_told_and_never_again_accepted(&world, &transfer).await;
    committed(&world.pay("7", "USD").await).unwrap();
    world.host.nothing_failed().await.unwrap();
    check(&world);
}
