//! What commands about a running host print, for people and for scripts, and how they end.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use rialto_simulator::{PaymentOutcome, PaymentRequest};
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::world::PAYEE;
use rialto_tests::{CliOutput, World, binaries};
use serde_json::{Value, json};

/// A world in which one payment was made.
async fn paid() -> (World, PaymentOutcome) {
    let world = World::demo().await.unwrap();
    let request = PaymentRequest::new(world.party(PAYEE).clone(), "1", "USD");
    let outcome = world.payer().pay(&request).await;
    committed(&outcome).unwrap();
    world.settled_books().await.unwrap();
    // No turn comes between two commands.
    world.host.nothing_failed().await.unwrap();
    (world, outcome)
}

/// The lines of a command that prints an object a line.
fn objects(output: CliOutput) -> Vec<Value> {
    let text = output.success().unwrap();
    let lines = text.lines();
    let objects: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert!(objects.iter().all(Value::is_object), "{text}");
    objects
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_shows_documents_and_refuses_to_change_them() {
    let (world, outcome) = paid().await;
    let query = "SELECT id, body ->> 'state' AS state, version > 1 AS changed, NULL AS note
                 FROM named_documents WHERE component = 'transfers' AND collection = 'transfers'";
    let expected = json!({
        "id": outcome.transfer_id, "state": "COMMITTED", "changed": 1, "note": null
    });
    // The tables are a second behind the host.
    let look = async || {
        let shown = objects(world.host.cli(&["sql", query, "--json"])?);
        Ok(if shown == [expected.clone()] {
            Ok(())
        } else {
            Err(format!("{shown:?}"))
        })
    };
    until(
        "the transfer is in the tables",
        Duration::from_secs(60),
        look,
    )
    .await
    .unwrap();
    let shown = world.host.cli(&["sql", query]).unwrap().success().unwrap();
    let id = &outcome.transfer_id;
    let heads = format!(
        "{:<width$}  state      changed  note",
        "id",
        width = id.len()
    );
    assert_eq!(shown, format!("{heads}\n{id}  COMMITTED  1\n"));

    let none = "SELECT id FROM named_documents WHERE id = 'nope'";
    let none = world.host.cli(&["sql", none]).unwrap();
    assert_eq!((none.code, none.stdout.as_str()), (0, ""), "{none}");
    assert!(none.stderr.contains("the query has no rows"), "{none}");
    for (text, why) in [
        ("DELETE FROM documents", "is not a query"),
        ("SELECT * FROM nope", "no such table: nope"),
        ("SELECT 1; SELECT 2", "SQLite refuses this"),
    ] {
        let refused = world.host.cli(&["sql", text]).unwrap();
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (1, ""),
            "{refused}"
        );
        assert!(refused.stderr.contains(why), "{refused}");
    }
    let nowhere = ["sql", "SELECT 1", "--state", "nowhere"];
    let nowhere = world.host.cli(&nowhere).unwrap();
    assert!(
        nowhere.stderr.contains("there is no store in nowhere"),
        "{nowhere}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_is_shown_to_people_and_to_scripts() {
    let (world, outcome) = paid().await;
    let host = &world.host;
    let transfer = outcome.transfer_id.as_str();

    // A reader that has seen enough is no failure.
    for command in [
        vec!["events", transfer, "--json"],
        vec!["documents", "accounts-and-balances", "accounts"],
        vec!["receipts", transfer],
        vec!["release", "list"],
    ] {
        let mut child = Command::new(binaries::rialto().unwrap())
            .args(&command)
            .arg("--at")
            .arg(world.scheme.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut errors = String::new();
        let mut stderr = child.stderr.take().unwrap();
        stderr.read_to_string(&mut errors).unwrap();
        assert!(child.wait().unwrap().success(), "{command:?}: {errors}");
        assert_eq!(errors, "", "{command:?}");
    }

    let turns = objects(host.cli(&["events", transfer, "--json"]).unwrap());
    assert!(turns.len() > 5, "{} turns", turns.len());
    let few = host.cli(&["events", transfer, "--json", "--last", "2"]);
    let few = few.unwrap();
    assert!(few.stderr.contains("the last 2 turns"), "{few}");
    assert_eq!(objects(few), turns[turns.len() - 2..]);

    let accounts = ["documents", "accounts-and-balances", "accounts"];
    let shown = host.cli(&accounts).unwrap().success().unwrap();
    let as_json = objects(host.cli(&[&accounts[..], &["--json"]].concat()).unwrap());
    assert_eq!(as_json.len(), shown.lines().count());
    assert!(
        as_json
            .iter()
            .all(|d| d["body"].is_object() && d["id"].is_string())
    );

    let none = host.cli(&["documents", "nope", "x"]).unwrap();
    assert_eq!((none.code, none.stdout.as_str()), (1, ""), "{none}");
    assert!(none.stderr.contains("has no document in"), "{none}");
    // Finding names.
    let all = host.cli(&["documents"]).unwrap().success().unwrap();
    assert!(all.contains("accounts-and-balances accounts\n"), "{all}");
    assert!(all.contains("transfers transfers\n"), "{all}");
    let of = host.cli(&["documents", "transfers"]).unwrap();
    let of = of.success().unwrap();
    assert!(
        of.lines().all(|line| line.starts_with("transfers ")),
        "{of}"
    );
    assert!(of.lines().count() < all.lines().count(), "{all}");
    let as_json = objects(host.cli(&["documents", "transfers", "--json"]).unwrap());
    assert_eq!(as_json.len(), 1);
    let names = as_json[0]["collections"].as_array().unwrap();
    assert!(names.contains(&"transfers".into()), "{names:?}");
    let nobody = host.cli(&["documents", "nope"]).unwrap();
    assert_eq!((nobody.code, nobody.stdout.as_str()), (1, ""), "{nobody}");
    assert!(
        nobody
            .stderr
            .contains("the component `nope` has no documents"),
        "{nobody}"
    );

    // Empty lists are reported, without a result.
    for (command, words) in [
        (["dead-letters"].as_slice(), "there is no dead letter"),
        (&["dead-letters", "paused"], "no component is paused"),
        (&["events", "--refused"], "no request was refused"),
        (
            &["audit", "--about", "nothing like this"],
            "has no such entry",
        ),
        (&["archive", "list"], "there are no archives"),
    ] {
        let empty = host.cli(command).unwrap();
        assert_eq!((empty.code, empty.stdout.as_str()), (0, ""), "{empty}");
        assert!(empty.stderr.contains(words), "{empty}");
    }

    assert_eq!(
        objects(host.cli(&["dead-letters", "--json"]).unwrap()).len(),
        0
    );

    // Two rules judge a transfer's one input.
    let receipts = host
        .cli(&["receipts", transfer])
        .unwrap()
        .success()
        .unwrap();
    assert_eq!(
        receipts
            .matches(" at transfer-prepare-check: allow")
            .count(),
        2
    );
    assert_eq!(receipts.matches(", as above\n").count(), 1, "{receipts}");
    let widest = receipts.lines().map(|line| line.chars().count()).max();
    assert!(widest < Some(160), "{receipts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_json_on_request() {
    let world = World::demo().await.unwrap();
    let host = &world.host;
    let one = |command: &[&str]| -> Value {
        let mut objects = objects(host.cli(command).unwrap());
        assert_eq!(objects.len(), 1);
        objects.remove(0)
    };
    let twin = world.scheme.twin().unwrap();
    twin.edit("maximum = \"10000\"", "maximum = \"500\"")
        .unwrap();
    let folder = twin.path().to_str().unwrap();

    let planned = one(&["release", "plan", folder, "--json"]);
    assert_eq!(planned["number"], 2);
    assert_eq!(planned["changes"].as_array().unwrap().len(), 2, "{planned}");
    let applied = one(&["release", "apply", folder, "--json"]);
    assert_eq!(applied, planned);
    let back = one(&["release", "rollback", "1", "--json"]);
    assert_eq!(back["number"], 1);
    let file = rialto_tests::offers::another_build(&world.scheme, "amount-limits", "x").unwrap();
    let swapped = one(&[
        "plugin",
        "swap",
        "amount-limits",
        file.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(swapped["number"], 3);
    let listed = host.cli(&["release", "list", "--json"]).unwrap();
    let listed: Value = serde_json::from_str(&listed.success().unwrap()).unwrap();
    let were: Vec<bool> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["wasCurrent"] == true)
        .collect();
    assert_eq!(were, [true; 3]);
}
