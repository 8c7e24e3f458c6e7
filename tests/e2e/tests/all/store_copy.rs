//! A scheme moves from SQLite to PostgreSQL and back: payments go on, and everything from before is there.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::time::Duration;

use rialto_postgres_server::shared;
use rialto_tests::scenes::committed;
use rialto_tests::waiting::until;
use rialto_tests::{CliOutput, TestScheme, World, WorldOptions, binaries};
use serde_json::Value;

/// Longer than what is kept for a second takes to be archived.
const SOON: Duration = Duration::from_secs(60);

/// A demonstration scheme on SQLite, also where all others are on PostgreSQL.
fn on_sqlite() -> TestScheme {
    let scheme = TestScheme::demo().unwrap();
    let path = scheme.path().join("rialto.toml");
    let text = fs::read_to_string(&path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("url = "));
    let lines: Vec<&str> = lines.collect();
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    scheme
}

fn new_database() -> String {
    shared().url(&shared().make_database())
}

fn copy(scheme: &TestScheme, more: &[&str]) -> CliOutput {
    CliOutput::of(binaries::rialto().unwrap(), |c| {
        c.args(["store", "copy"]).args(more);
        c.arg("--at").arg(scheme.path());
    })
    .unwrap()
}

fn take_back(scheme: &TestScheme, more: &[&str]) -> String {
    let said = CliOutput::of(binaries::rialto().unwrap(), |c| {
        c.args(["store", "take-back"]).args(more);
        c.arg("--at").arg(scheme.path());
    });
    said.unwrap().success().unwrap()
}

/// What is kept about a subject: its turns and its receipts.
fn kept(world: &World, id: &str) -> [String; 2] {
    ["events", "receipts"].map(|what| {
        let said = world.host.cli(&[what, id, "--json"]).unwrap();
        said.success().unwrap()
    })
}

/// How many items the copy has of a part.
fn items(said: &str, name: &str) -> u64 {
    let said: Value = serde_json::from_str(said).unwrap();
    let parts = said["parts"].as_array().unwrap();
    let part = parts.iter().find(|part| part["name"] == name);
    part.unwrap_or_else(|| panic!("no {name} in {said}"))["items"]
        .as_u64()
        .unwrap()
}

fn ledger_holds(world: &World) {
    let check = world.host.cli(&["ledger", "check"]).unwrap();
    let check = check.success().unwrap();
    assert!(!check.contains("WRONG"), "{check}");
}

/// Move the files of a store to another folder.
fn move_store(from: &Path, to: &Path) {
    DirBuilder::new().mode(0o700).create(to).unwrap();
    for name in ["rialto.db", "rialto.db-wal", "rialto.db-shm", "journal"] {
        if from.join(name).exists() {
            fs::rename(from.join(name), to.join(name)).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scheme_moves_to_postgres_and_back() {
    let mut world = World::of(on_sqlite(), &WorldOptions::default())
        .await
        .unwrap();
    let first = world.pay("12.5", "USD").await;
    committed(&first).unwrap();
    world.settled_books().await.unwrap();
    world.host.nothing_waits().await.unwrap();
    let (books, before) = (world.books().unwrap(), kept(&world, &first.transfer_id));
    assert!(before.iter().all(|text| !text.is_empty()));

    let url = new_database();
    let refused = copy(&world.scheme, &["--to", &url]);
    assert!(refused.said().contains("stop the host first"), "{refused}");
    world.host.stop().unwrap();
    let said = copy(&world.scheme, &["--to", &url, "--json"]);
    let said = said.success().unwrap();
    assert_eq!(items(&said, "documents of transfers/transfers"), 1);
    assert_eq!(items(&said, "releases"), 1);
    assert!(items(&said, "receipts") > 0 && items(&said, "history") > 0);
    let again = copy(&world.scheme, &["--to", &url]);
    let words = "nothing is ever overwritten";
    assert!(again.said().contains(words), "{again}");

    let (state, old) = (world.scheme.state(), world.scheme.path().join("old"));
    world.scheme.on_database(&url).unwrap();
    move_store(&state, &old);
    world.host.restart().unwrap();
    assert_eq!(world.books().unwrap(), books);
    assert_eq!(kept(&world, &first.transfer_id), before);
    let second = world.pay("1", "USD").await;
    committed(&second).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    assert_eq!(books.transfers().len(), 2);
    ledger_holds(&world);
    world.host.nothing_waits().await.unwrap();
    let (books, later) = (world.books().unwrap(), kept(&world, &second.transfer_id));

    // A host that serves on the database has its lease.
    let back = world.scheme.path().join("back");
    let to = back.to_str().unwrap();
    let refused = copy(&world.scheme, &["--to", to]);
    assert!(refused.said().contains("stop that host"), "{refused}");
    world.host.stop().unwrap();
    let said = copy(&world.scheme, &["--to", to]);
    assert!(said.said().contains("rialto ledger check"), "{said}");
    let table = said.success().unwrap();
    assert!(
        table.contains("documents of transfers/transfers"),
        "{table}"
    );
    let again = copy(&world.scheme, &["--to", to]);
    assert!(again.said().contains(words), "{again}");
    // The copy has the place of the database, on which no host serves any more, unless the copy is given up.
    let refused = format!("{:#}", world.host.restart().unwrap_err());
    assert!(refused.contains("rialto store take-back"), "{refused}");
    assert!(
        take_back(&world.scheme, &[]).contains("again"),
        "the database"
    );
    let old = ["--state", old.to_str().unwrap()];
    assert!(
        take_back(&world.scheme, &old).contains("again"),
        "the folder"
    );
    assert!(
        take_back(&world.scheme, &old).contains("was not moved"),
        "twice"
    );

    let line = format!("\nurl = \"{url}\"");
    let scheme = &world.scheme;
    scheme.replace("rialto.toml", &line, "").unwrap();
    let (state, path) = ("path = \"state\"", "path = \"back\"");
    scheme.replace("rialto.toml", state, path).unwrap();
    world.host.restart().unwrap();
    assert_eq!(world.books().unwrap(), books);
    assert_eq!(kept(&world, &first.transfer_id), before);
    assert_eq!(kept(&world, &second.transfer_id), later);
    committed(&world.pay("2", "USD").await).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    ledger_holds(&world);
    world.no_complaints().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archives_stay_with_the_store_that_was_copied() {
    let scheme = on_sqlite();
    let keep = "path = \"state\"\nkeep = { history = \"1 s\", receipts = \"1 s\" }";
    scheme
        .replace("rialto.toml", "path = \"state\"", keep)
        .unwrap();
    let mut world = World::of(scheme, &WorldOptions::default()).await.unwrap();
    committed(&world.pay("5", "USD").await).unwrap();
    world.settled_books().await.unwrap();
    until("something is archived", SOON, async || {
        let said = world.host.cli(&["archive", "list", "--json"])?;
        Ok(match said.stdout.is_empty() {
            true => Err("nothing".to_owned()),
            false => Ok(()),
        })
    })
    .await
    .unwrap();
    world.host.stop().unwrap();
    let url = new_database();
    let refused = copy(&world.scheme, &["--to", &url]);
    assert!(refused.said().contains("--without-archives"), "{refused}");
    let said = copy(&world.scheme, &["--to", &url, "--without-archives"]);
    let words = "rialto archive list --state";
    assert!(said.said().contains(words), "{said}");
    said.success().unwrap();
}

#[test]
fn what_cannot_be_copied_is_refused_with_what_to_do() {
    let scheme = on_sqlite();
    let named = on_sqlite();
    named
        .add_host_settings(
            "\n[personal-data]\nsubjects = [\"party\"]\nkeys = \"people/people.keys\"\n",
        )
        .unwrap();
    let shared_one = on_sqlite();
    shared_one.on_database(&new_database()).unwrap();
    let url = new_database();
    let another = new_database();
    for (scheme, to, words) in [
        (&scheme, &*url, "there is no store in"),
        (&scheme, "another-folder", "`rialto backup`"),
        (&scheme, "postgres://a:secret@127.0.0.1/b", "PGPASSFILE"),
        (&scheme, "mysql://127.0.0.1/b", "begins with `postgres://`"),
        (&named, &*url, "the file of people's keys is one host's"),
        (&shared_one, &*another, "pg_dump"),
        (&shared_one, "another-folder", "serve one on it first"),
    ] {
        let refused = copy(scheme, &["--to", to]);
        assert_ne!(refused.code, 0, "{refused}");
        assert!(refused.said().contains(words), "{words}: {refused}");
        assert!(!refused.said().contains("secret"), "{refused}");
    }
    // A refusal has made nothing.
    let schemas = "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'rialto'";
    for url in [url, another] {
        let name = url.split(['/', '?']).nth(3).unwrap();
        assert_eq!(shared().sql(name, schemas), "0");
    }
    assert!(!Path::new("another-folder").exists());
}
