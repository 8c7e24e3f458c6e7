//! A release that was rolled back to, on the documents of a newer one. All goes on, and nothing is lost.
//!
//! - Real releases: the one that is kept in `old-release/`, today's, and back, with work under way at each change.
//! - A release that does not exist yet: each document has a member that this release does not know, put there by
//!   SQL while the host was down.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rialto_engine::store::Store as _;
use rialto_simulator::fsp::{Step, TransferOrder};
use rialto_simulator::time::datetime_in;
use rialto_store_sqlite::SqliteStore;
use rialto_tests::scenes::{committed, refused};
use rialto_tests::waiting::until;
use rialto_tests::world::{PAYEE, PAYER};
use rialto_tests::{TestScheme, World, WorldOptions};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, SqliteConnection};

use crate::transfers::{
    self, Prepared, prepared, prepared_of, puts, quoted, told_committed, told_error,
};

/// Longer than any message takes.
const SOON: Duration = Duration::from_secs(30);
/// How long a transfer is valid: longer than a host is down here.
const EXPIRES_IN: Duration = Duration::from_secs(10);

/// The members that the newer release has added, and their places.
const ADDED: &str = r#"json('{"list":[{"deep":true}],"since":2}')"#;
/// Collections, and the objects in their documents that have the member too.
const DEEPER: [(&str, &str); 5] = [
    ("accounts", "tail"),
    ("reservations", "accounts"),
    ("transfers", "amount"),
    ("quotes", "request"),
    ("participants", "accounts[0]"),
];

async fn database(state: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(state.join("rialto.db"));
    options.connect().await.unwrap()
}

/// Everything into the tables, so that SQL sees and changes what is read.
async fn flush(state: &Path) {
    let state = state.to_owned();
    let flushed = tokio::task::spawn_blocking(move || {
        SqliteStore::open(&state).unwrap().recover().unwrap();
    });
    flushed.await.unwrap();
}

/// Adds the member to every document of the contexts. Changes of participants have hashes, so existing ones are
/// left out.
async fn as_of_a_newer_release(state: &Path) {
    flush(state).await;
    let mut connection = database(state).await;
    let of = |collection: &str| {
        format!("collection IN (SELECT id FROM collections WHERE name = '{collection}')")
    };
    let mut statements = vec![format!(
        "UPDATE documents SET body = json_set(body, '$.addedLater', {ADDED}) WHERE NOT {}",
        of("changes")
    )];
    for (collection, member) in DEEPER {
        statements.push(format!(
            "UPDATE documents SET body = json_set(body, '$.{member}.addedLater', {ADDED})
             WHERE {} AND json_type(body, '$.{member}') = 'object'",
            of(collection)
        ));
    }
    for statement in statements {
        let done = connection.execute(AssertSqlSafe(statement.as_str())).await;
        assert!(done.unwrap().rows_affected() > 0, "{statement}");
    }
    connection.close().await.unwrap();
}

/// Which documents have the member: component, collection, id, and where.
async fn with_the_member(state: &Path) -> BTreeSet<(String, String, String, &'static str)> {
    flush(state).await;
    let mut connection = database(state).await;
    let mut found = BTreeSet::new();
    let members = DEEPER.iter().map(|(_, member)| *member);
    for member in members.chain([""]).collect::<BTreeSet<_>>() {
        let dot = if member.is_empty() { "" } else { "." };
        let statement = format!(
            "SELECT component, collection, id FROM named_documents
             WHERE json_extract(body, '$.{member}{dot}addedLater') = {ADDED}"
        );
        let rows: Vec<(String, String, String)> = sqlx::query_as(AssertSqlSafe(statement))
            .fetch_all(&mut connection)
            .await
            .unwrap();
        found.extend(
            rows.into_iter()
                .map(|(of, collection, id)| (of, collection, id, member)),
        );
    }
    connection.close().await.unwrap();
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rollback_keeps_unknown_members_of_a_newer_release() {
    let options = WorldOptions {
        expires_in: EXPIRES_IN,
        ..WorldOptions::default()
    };
    let mut world = World::of(TestScheme::demo().unwrap(), &options)
        .await
        .unwrap();
    for _ in 0..3 {
        committed(&world.pay("1.25", "USD").await).unwrap();
    }
    world.settled_books().await.unwrap();
    // One more is under way: its timeout is the older release's.
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
    let state = world.scheme.state();
    as_of_a_newer_release(&state).await;
    let before = with_the_member(&state).await;
    for (collection, member) in DEEPER {
        let is_there =
            |(_, of, _, at): &(String, String, String, &str)| of == collection && *at == member;
        assert!(before.iter().any(is_there), "{collection} {member}");
    }

    world.host.restart().unwrap();
    let outcome = paying.await.unwrap();
    refused(&outcome, Step::Transfer, "3303").unwrap();
    world.payee_behaves("{}").unwrap();
    committed(&world.pay("1.25", "USD").await).unwrap();
    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    let check = world.host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(check.code, 0, "{check}");
    world.no_complaints().unwrap();

    world.host.kill().unwrap();
    let after = with_the_member(&state).await;
    let lost: Vec<_> = before
        .difference(&after)
        // It waits for an answer and goes with it.
        .filter(|(_, collection, ..)| collection != "waiting-queries")
        .collect();
    assert!(lost.is_empty(), "{lost:?}");
}

/// Where each of the two releases leaves something for the other.
struct UnderWay {
    /// Transfers that wait for the payee FSP's answer.
    commits: Prepared,
    refused: Prepared,
    expires: Prepared,
    /// A quote whose transfer has not been sent.
    quoted: TransferOrder,
}

impl UnderWay {
    async fn begin(world: &World) -> Self {
        world
            .payee_behaves(r#"{"transfer":{"silent":"100%"}}"#)
            .unwrap();
        let commits = prepared(world, "3").await;
        let refused = prepared(world, "4").await;
        let mut short = quoted(world, "5").await;
        short.expiration = datetime_in(EXPIRES_IN);
        Self {
            commits,
            refused,
            quoted: quoted(world, "2").await,
            expires: prepared_of(world, short).await,
        }
    }

    /// All of it ends in the other release, and all FSPs are told.
    async fn end(self, world: &World) {
        let (payer, payee) = (world.payer(), world.payee());
        puts(
            payee,
            &self.commits.path(),
            PAYER,
            &self.commits.commitment(),
        )
        .await;
        told_committed(payer, &self.commits).await;
        puts(
            payee,
            &self.refused.error_path(),
            PAYER,
            &transfers::refusal("5105"),
        )
        .await;
        told_error(payer, &self.refused, "5105").await;
        world.payee_behaves("{}").unwrap();
        let (answer, _) = payer.transfer(&self.quoted).await.unwrap();
        assert_eq!(answer.state, "COMMITTED", "{answer:?}");
        told_error(payer, &self.expires, "3303").await;
        told_error(payee, &self.expires, "3303").await;
        committed(&world.pay("1.25", "USD").await).unwrap();
    }
}

/// Makes a release the current one: its folder's, or an earlier one by its number.
fn release(world: &World, command: &[&str]) {
    let text = world.host.cli(&[&["release"], command].concat());
    text.unwrap().success().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_go_on_from_an_old_release_to_this_one_and_back() {
    let today = TestScheme::demo().unwrap();
    let old = today.old_twin().unwrap();
    let mut world = World::of(old, &WorldOptions::default()).await.unwrap();
    let before = world.books().unwrap();
    committed(&world.pay("1.25", "USD").await).unwrap();

    let of_old = UnderWay::begin(&world).await;
    release(&world, &["apply", today.path().to_str().unwrap()]);
    of_old.end(&world).await;

    let of_today = UnderWay::begin(&world).await;
    release(&world, &["rollback", "1"]);
    of_today.end(&world).await;
    // The old release starts on these documents too.
    let of_old = UnderWay::begin(&world).await;
    world.host.restart().unwrap();
    release(&world, &["rollback", "2"]);
    of_old.end(&world).await;

    let books = world.settled_books().await.unwrap();
    assert_eq!(books.problems().unwrap(), Vec::<String>::new());
    // Four payments of 1.25, and of each of three rounds 3 and 2, in cents.
    let paid = 4 * 125 + 3 * (300 + 200);
    let gained = |fsp: &str| {
        let account = format!("{fsp}:USD:LIQUIDITY");
        books.balance(&account).unwrap() - before.balance(&account).unwrap()
    };
    assert_eq!((gained(PAYER), gained(PAYEE)), (-paid, paid));
    let check = world.host.cli(&["ledger", "check"]).unwrap();
    assert_eq!(check.code, 0, "{check}");
    let dead = world.host.cli(&["dead-letters", "--json"]).unwrap();
    assert_eq!(dead.success().unwrap(), "");
    world.no_complaints().unwrap();
}
