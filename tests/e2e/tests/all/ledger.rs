//! `rialto ledger` on the store of a scheme with payments: it agrees with the host, and finds each kind of
//! damage made by SQL.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;
use std::path::Path;

use rialto_engine::store::Store as _;
use rialto_store_sqlite::SqliteStore;
use rialto_tests::scenes::committed;
use rialto_tests::{CliOutput, World, binaries};
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};

/// Enough that accounts have pages.
const PAYMENTS: usize = 12;

fn ledger(state: &Path, command: &[&str]) -> CliOutput {
    let output = CliOutput::of(binaries::rialto().unwrap(), |c| {
        c.arg("ledger").args(command).arg("--state").arg(state);
    });
    output.unwrap()
}

fn json(output: &CliOutput) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"))
}

/// A world with payments that were committed.
async fn paid() -> (World, String) {
    let world = World::demo().await.unwrap();
    let mut last = String::new();
    for _ in 0..PAYMENTS {
        let outcome = world.pay("1.25", "USD").await;
        committed(&outcome).unwrap();
        last = outcome.transfer_id.clone();
    }
    (world, last)
}

/// Everything into the tables, so that SQL changes what is read.
async fn flush(state: &Path) {
    let state = state.to_owned();
    let flushed = tokio::task::spawn_blocking(move || {
        SqliteStore::open(&state).unwrap().recover().unwrap();
    });
    flushed.await.unwrap();
}

async fn database(state: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(state.join("rialto.db"));
    options.connect().await.unwrap()
}

/// Copies a store. Not its file alone: a closing process may still be moving the log into it.
async fn copied(state: &Path, to: &Path) {
    let mut connection = database(state).await;
    let copying = sqlx::query("VACUUM INTO ?").bind(to.join("rialto.db").display().to_string());
    copying.execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_commands_agree_with_the_running_host() {
    let (world, transfer) = paid().await;
    let books = world.settled_books().await.unwrap();
    let host = &world.host;
    let check = host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(check.code, 0, "{check}");
    assert_eq!(check.stdout.matches("  ok\n").count(), 14, "{check}");

    let balance = host.cli(&["ledger", "balance", "--json"]).unwrap();
    let balance = json(&balance);
    let books_of = balance["books"].as_array().unwrap();
    assert_eq!(books_of.len(), 4, "two books in two currencies: {balance}");
    assert!(books_of.iter().all(|book| book["balanced"] == true));
    let table = host
        .cli(&["ledger", "balance", "--by", "participant"])
        .unwrap();
    assert!(table.stdout.contains("payerfsp LIQUIDITY"), "{table}");
    assert_eq!(table.stdout.matches("balanced").count(), 4, "{table}");

    let shown = json(
        &host
            .cli(&["ledger", "account", "payerfsp:USD:LIQUIDITY", "--json"])
            .unwrap(),
    );
    let minor = shown["balance"].as_str().unwrap().replace('.', "");
    let stands = books.balance("payerfsp:USD:LIQUIDITY").unwrap();
    assert_eq!(minor, stands.to_string());
    assert_eq!(shown["netDebit"], "15.00", "{shown}");

    // All of an account's entries, over a page's end, up to its balance.
    let entries = host
        .cli(&["ledger", "entries", "payerfsp:USD:POSITION", "--json"])
        .unwrap();
    let entries: Vec<Value> = entries
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(entries.len(), 2 * PAYMENTS);
    assert_eq!(entries.last().unwrap()["balanceAfter"], "0.00");
    assert_eq!(entries[0]["balanceAfter"], "1.25");
    let few = host
        .cli(&[
            "ledger",
            "entries",
            "payerfsp:USD:POSITION",
            "--limit",
            "17",
        ])
        .unwrap();
    assert_eq!(few.stdout.lines().count(), 17);
    assert!(few.stderr.contains("there are more"), "{few}");
    let late = [
        "ledger",
        "entries",
        "payerfsp:USD:POSITION",
        "--from",
        "2200-01-01T00:00:00Z",
    ];
    assert_eq!(host.cli(&late).unwrap().stdout, "");

    let of_cause = host
        .cli(&["ledger", "entries", "--cause", &transfer, "--json"])
        .unwrap();
    let kinds: Vec<Value> = of_cause
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["entryType"].clone())
        .collect();
    // It may be recorded in its batch already, or not.
    assert_eq!(kinds[..2], ["TRANSFER_PREPARE", "TRANSFER_FULFIL"]);

    for (what, columns, rows) in [
        ("accounts", 32, None),
        ("entries", 11, None),
        ("reservations", 12, Some(PAYMENTS)),
    ] {
        let csv = host.cli(&["ledger", "export", "--what", what]).unwrap();
        let lines: Vec<&str> = csv.stdout.split_terminator("\r\n").collect();
        assert!(
            lines.iter().all(|line| line.split(',').count() == columns),
            "{csv}"
        );
        let export = ["ledger", "export", "--what", what, "--format", "json"];
        let objects = host.cli(&export).unwrap();
        assert_eq!(objects.stdout.lines().count(), lines.len() - 1, "{what}");
        assert!(rows.is_none_or(|rows| rows == lines.len() - 1), "{what}");
    }

    let unknown = host.cli(&["ledger", "account", "nobody"]).unwrap();
    assert_eq!(unknown.code, 1);
    assert!(
        unknown.stderr.contains("there is no account nobody"),
        "{unknown}"
    );
    let nowhere = ledger(&world.scheme.path().join("components"), &["check"]);
    assert_eq!(nowhere.code, 1);
    assert!(nowhere.stderr.contains("there is no store in"), "{nowhere}");
}

/// Documents of one collection: of the component that keeps accounts, or of the one that keeps changes.
fn at(collection: &str, which: &str) -> String {
    let component = match collection {
        "changes" => "participant-lifecycle-management",
        _ => "accounts-and-balances",
    };
    format!(
        "collection = (SELECT id FROM collections
                       WHERE component = '{component}' AND name = '{collection}')
         AND {which}"
    )
}

/// Set a member of the documents' bodies.
fn set(collection: &str, which: &str, member: &str, value: &str) -> String {
    let at = at(collection, which);
    format!("UPDATE documents SET body = json_set(body, '$.{member}', {value}) WHERE {at}")
}

/// Add to a member that is an amount.
fn add(collection: &str, which: &str, member: &str, amount: i32) -> String {
    let value =
        format!("CAST(CAST(json_extract(body, '$.{member}') AS INTEGER) + {amount} AS TEXT)");
    set(collection, which, member, &value)
}

fn remove(collection: &str, which: &str) -> String {
    format!("DELETE FROM documents WHERE {}", at(collection, which))
}

/// The damage, its statements, and the expected breach.
fn damages(transfer: &str) -> Vec<(&'static str, Vec<String>, &'static str)> {
    let payer = |kind: &str| format!("id = 'payerfsp:USD:{kind}'");
    let hub = |kind: &str| format!("id = 'Hub:USD:{kind}'");
    let (liquidity, position) = (payer("LIQUIDITY"), payer("POSITION"));
    let entry = |step: &str| format!("id = '{transfer}:{step}'");
    let reservation = format!("id = '{transfer}'");
    let page = "id = 'payerfsp:USD:POSITION/0000000000'";
    let change = "id LIKE 'payerfsp%'";
    let deposit = "json_extract(body, '$.entryType') = 'DEPOSIT_LIQUIDITY'
                   AND json_extract(body, '$.creditAccount') = 'payerfsp:USD:LIQUIDITY'";
    let stolen = r#"{"id":"payeefsp:USD:SETTLEMENT_POSITION:B1","participant":"payeefsp",
        "accountType":"SETTLEMENT_POSITION","currency":"USD","scale":2,"state":"ENABLED",
        "debitBalance":"0","creditBalance":"5","debitLimit":"0","unsettled":"0",
        "settlementModel":"M","batch":"B1","createdAt":1}"#;
    let stolen = format!(
        "INSERT INTO documents (collection, id, version, body)
         SELECT id, 'payeefsp:USD:SETTLEMENT_POSITION:B1', 1, '{stolen}' FROM collections
         WHERE component = 'accounts-and-balances' AND name = 'accounts'"
    );
    vec![
        (
            "a balance",
            vec![add("accounts", &liquidity, "creditBalance", 1)],
            "entries",
        ),
        (
            "a balance breaks its book",
            vec![add("accounts", &liquidity, "creditBalance", 1)],
            "debits-are-credits",
        ),
        (
            "the hub's other side",
            vec![add(
                "accounts",
                &hub("HUB_LIQUIDITY_CONTROL"),
                "debitBalance",
                1,
            )],
            "liquidity-control",
        ),
        (
            "settled funds",
            vec![add("accounts", &payer("SETTLEMENT"), "creditBalance", 1)],
            "reconciliation",
        ),
        (
            "an entry's amount",
            vec![add("entries", &entry("fulfil"), "amount", 1)],
            "entries",
        ),
        (
            "an entry is gone",
            vec![remove("entries", &entry("prepare"))],
            "entries",
        ),
        (
            "an entry is gone, seen from its page",
            vec![remove("entries", &entry("prepare"))],
            "histories",
        ),
        (
            "an entry crosses books",
            vec![set(
                "entries",
                &entry("fulfil"),
                "creditAccount",
                "'payeefsp:USD:SETTLEMENT'",
            )],
            "debits-are-credits",
        ),
        (
            "an entry crosses currencies",
            vec![set(
                "entries",
                &entry("fulfil"),
                "creditAccount",
                "'payeefsp:RWF:LIQUIDITY'",
            )],
            "debits-are-credits",
        ),
        (
            "an entry is to nobody",
            vec![set(
                "entries",
                &entry("fulfil"),
                "creditAccount",
                "'nobody:USD:LIQUIDITY'",
            )],
            "entries",
        ),
        (
            "an entry says that it is another one",
            vec![set("entries", &entry("fulfil"), "id", "'other'")],
            "entries",
        ),
        (
            "an entry at another time",
            vec![set("entries", &entry("fulfil"), "postedAt", "7")],
            "histories",
        ),
        (
            "an entry of another kind",
            vec![set(
                "entries",
                &entry("fulfil"),
                "entryType",
                "'TRANSFER_RELEASE'",
            )],
            "reservations",
        ),
        (
            "a page's list",
            vec![set(
                "entry-pages",
                page,
                "entries",
                "replace(json_extract(body, '$.entries'), 'prepare', 'prepaid')",
            )],
            "histories",
        ),
        (
            "a page's balance",
            vec![add("entry-pages", page, "creditBefore", 1)],
            "histories",
        ),
        (
            "a page is gone",
            vec![remove("entry-pages", page)],
            "histories",
        ),
        (
            "a tail",
            vec![set("accounts", &position, "tail.entries", "''")],
            "histories",
        ),
        (
            "how many entries there are",
            vec![set("accounts", &position, "tail.count", "3")],
            "histories",
        ),
        (
            "a reservation is open again",
            vec![set("reservations", &reservation, "state", "'open'")],
            "reserved",
        ),
        (
            "a reservation was released",
            vec![set("reservations", &reservation, "state", "'released'")],
            "reservations",
        ),
        (
            "a reservation is gone",
            vec![remove("reservations", &reservation)],
            "reservations",
        ),
        (
            "a reservation's amount",
            vec![add("reservations", &reservation, "amount", 1)],
            "reservations",
        ),
        (
            "what waits for settlement",
            vec![add("accounts", &position, "unsettled", -1)],
            "unsettled",
        ),
        (
            "an account beyond its limit",
            vec![add("accounts", &liquidity, "debitBalance", 2_000_000_000)],
            "limits",
        ),
        ("a batch that is not even", vec![stolen], "batches"),
        // With everything that is beside it, so that no sum betrays it.
        (
            "a deposit in one book",
            vec![
                add("entries", deposit, "amount", 100),
                add("accounts", &liquidity, "creditBalance", 100),
                add(
                    "accounts",
                    &hub("HUB_LIQUIDITY_CONTROL"),
                    "debitBalance",
                    100,
                ),
            ],
            "books",
        ),
        (
            "more was paid than was reserved",
            vec![
                add("entries", &entry("fulfil"), "amount", 1),
                add("accounts", &position, "debitBalance", 1),
                add(
                    "accounts",
                    "id = 'payeefsp:USD:LIQUIDITY'",
                    "creditBalance",
                    1,
                ),
            ],
            "reservations",
        ),
        (
            "a participant's change is another one",
            vec![set("changes", change, "at", "7")],
            "chains",
        ),
        (
            "a participant's change is gone",
            vec![remove("changes", change)],
            "chains",
        ),
        (
            "a document is no document",
            vec![set("entries", &entry("fulfil"), "amount", "'-1'")],
            "readable",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_damage_is_found_and_named() {
    let (mut world, transfer) = paid().await;
    world.settled_books().await.unwrap();
    world.host.kill().unwrap();
    let state = world.scheme.path().join("state");
    flush(&state).await;
    let whole = ledger(&state, &["check", "--json"]);
    assert_eq!(whole.code, 0, "{whole}");
    let report = json(&whole);
    let looked_at = |check: &str| {
        let checks = report["checks"].as_array().unwrap();
        let of = checks.iter().find(|c| c["check"] == check).unwrap();
        of["lookedAt"].as_u64().unwrap()
    };
    assert_eq!(looked_at("reservations"), PAYMENTS as u64);

    let mut named = BTreeSet::new();
    for (what, statements, wrong) in damages(&transfer) {
        let copy = tempfile::tempdir().unwrap();
        copied(&state, copy.path()).await;
        let mut connection = database(copy.path()).await;
        for statement in statements {
            let done = connection.execute(AssertSqlSafe(statement)).await.unwrap();
            assert_eq!(done.rows_affected(), 1, "{what}");
        }
        connection.close().await.unwrap();
        let found = ledger(copy.path(), &["check", "--json"]);
        assert_eq!(found.code, 1, "{what}: {found}");
        let report = json(&found);
        let broken: BTreeSet<&str> = report["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|check| check["breaches"] != 0)
            .map(|check| check["check"].as_str().unwrap())
            .collect();
        assert!(
            broken.contains(wrong),
            "{what}: {broken:?}, not {wrong}: {found}"
        );
        named.insert(wrong);
        // The other currency is as it was.
        let other = ledger(copy.path(), &["check", "--currency", "RWF"]);
        let touches_it = matches!(wrong, "readable" | "chains") || what.contains("currencies");
        assert!(other.code == 0 || touches_it, "{what}: {other}");
    }
    let none = ledger(&state, &["check", "--currency", "usd"]);
    assert_ne!(none.code, 0, "{none}");
    assert!(
        none.stderr.contains("there are accounts in RWF, USD"),
        "{none}"
    );
    assert_eq!(named.len(), 13, "every check: {named:?}");
}
