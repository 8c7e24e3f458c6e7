//! The drill: a backup under load, the store lost, the backup restored, the ledger checked, and payments
//! go on.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rialto_simulator::{Fsp, PaymentRequest};
use rialto_tests::binaries;
use rialto_tests::{CliOutput, TestScheme, World, WorldOptions};
use serde_json::Value;
use tokio::sync::watch;

/// Payments in flight.
const IN_FLIGHT: usize = 8;
/// Payments before the backup is begun, and after.
const SOME: usize = 20;

/// Pays until stopped. Reports each committed payment, and returns their number.
async fn pay_on(
    payer: Fsp,
    request: PaymentRequest,
    committed: watch::Sender<usize>,
    stop: watch::Receiver<bool>,
) {
    while !*stop.borrow() {
        let outcome = payer.pay(&request).await;
        if outcome.is_committed() {
            committed.send_modify(|n| *n += 1);
        }
    }
}

fn rialto(command: &[&str], scheme: &Path) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |c| {
        c.args(command).arg("--at").arg(scheme);
    })
    .unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backup_under_load_is_restored_and_payments_continue() {
    let options = WorldOptions {
        parties_each: IN_FLIGHT,
        // Payments under way at the backup end by then.
        expires_in: Duration::from_secs(10),
        ..WorldOptions::default()
    };
    let mut world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    let (committed, mut counted) = watch::channel(0);
    let (stop, stopped) = watch::channel(false);
    let drivers: Vec<_> = (0..IN_FLIGHT)
        .map(|n| {
            let party = world.parties("payeefsp")[n].clone();
            let request = PaymentRequest::new(party, "1", "USD");
            let payer = world.payer().clone();
            tokio::spawn(pay_on(payer, request, committed.clone(), stopped.clone()))
        })
        .collect();
    let before = *counted.wait_for(|n| *n >= SOME).await.unwrap();
    let place = tempfile::tempdir().unwrap();
    let backup = place.path().join("backup");
    let to = backup.to_str().unwrap();
    let taken = world.host.cli(&["backup", to, "--json"]).unwrap().success();
    let taken = json(&taken.unwrap());
    // The host has served payments all the while, and goes on.
    let then = *counted.borrow();
    counted.wait_for(|n| *n >= then + SOME).await.unwrap();
    stop.send_replace(true);
    for driver in drivers {
        driver.await.unwrap();
    }
    assert_eq!(taken["manifest"]["release"]["number"], 1);
    let refused = world.host.cli(&["backup", to]).unwrap();
    assert!(refused.said().contains("is not empty"), "{refused}");
    // The copy is a store of its own.
    let state = ["ledger", "check", "--state", to];
    rialto(&state, world.scheme.path()).success().unwrap();

    let refused = world.host.cli(&["restore", to]).unwrap();
    assert!(refused.said().contains("is not empty"), "{refused}");
    world.host.kill().unwrap();
    let state = world.scheme.path().join("state");
    fs::rename(&state, place.path().join("lost")).unwrap();
    let restored = world.host.cli(&["restore", to, "--json"]).unwrap();
    assert_eq!(
        json(&restored.success().unwrap())["manifest"],
        taken["manifest"]
    );
    world.host.restart().unwrap();
    assert!(world.host.log().contains("restored from a backup"));

    // All that was committed before the backup began is there, and what was under way ends.
    world.host.nothing_waits().await.unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    let kept = books.transfers().keys();
    let kept = kept.filter(|id| books.state(id) == "COMMITTED").count();
    assert!(kept >= before, "{kept} of {before} that were committed");
    assert!(
        kept < *counted.borrow(),
        "the backup was not taken under load"
    );
    world
        .host
        .cli(&["ledger", "check"])
        .unwrap()
        .success()
        .unwrap();
    let outcome = world.pay("1", "USD").await;
    assert!(outcome.is_committed(), "{outcome:?}");
    world
        .host
        .cli(&["ledger", "check"])
        .unwrap()
        .success()
        .unwrap();
    // What has a number in the lost store has no such number here.
    let turns = world.host.cli(&["events", &outcome.transfer_id, "--json"]);
    let turns = turns.unwrap().success().unwrap();
    for turn in turns.lines() {
        assert!(json(turn)["turn"].as_u64().unwrap() >= 1 << 32, "{turn}");
    }
    // From now on it is a store like any other.
    world.host.restart().unwrap();
    assert!(!world.host.log().contains("restored from a backup"));
}

#[test]
fn damaged_or_incomplete_backup_is_not_restored() {
    let scheme = TestScheme::demo().unwrap();
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let refused = rialto(&["backup", &at("backup")], scheme.path());
    assert!(refused.said().contains("there is no store in"), "{refused}");
    rialto_tests::RunningHost::start(&scheme)
        .unwrap()
        .kill()
        .unwrap();
    // Also without a host.
    rialto(&["backup", &at("backup")], scheme.path())
        .success()
        .unwrap();
    let restore = |from: &str| rialto(&["restore", from, "--state", &at("new")], scheme.path());
    let database = place.path().join("backup/rialto.db");
    let manifest = place.path().join("backup/backup.json");
    let (whole, said) = (fs::read(&database).unwrap(), fs::read(&manifest).unwrap());
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&database, &damaged).unwrap();
    let refused = restore(&at("backup"));
    assert!(refused.said().contains("is damaged"), "{refused}");
    fs::write(&database, &whole[..whole.len() - 4096]).unwrap();
    let refused = restore(&at("backup"));
    assert!(refused.said().contains("is damaged"), "{refused}");
    fs::write(&database, &whole).unwrap();
    fs::remove_file(&manifest).unwrap();
    let refused = restore(&at("backup"));
    assert!(refused.said().contains("holds no backup"), "{refused}");
    let text = String::from_utf8(said).unwrap();
    fs::write(&manifest, text.replace("\"format\": 1", "\"format\": 2")).unwrap();
    let refused = restore(&at("backup"));
    assert!(
        refused.said().contains("a later version than this"),
        "{refused}"
    );
    assert!(
        !place.path().join("new/rialto.db").exists(),
        "nothing is left of that"
    );
    fs::write(&manifest, &text).unwrap();
    restore(&at("backup")).success().unwrap();
    rialto(&["ledger", "check", "--state", &at("new")], scheme.path())
        .success()
        .unwrap();
}
