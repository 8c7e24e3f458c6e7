//! What a host knows without asking the database: which documents are not there.

use std::time::{Duration, Instant};

use rialto_engine::store::Store as _;
use rialto_postgres_server::Server;
use rialto_store_postgres::{PostgresStore, Settings};
use rialto_store_suite::samples::collection;

use crate::database::{Database, settings};
use crate::written;

/// Groups: more documents than are read at a time are not needed, but some.
const GROUPS: u64 = 300;
/// Longer than it takes to read them.
const SOON: Duration = Duration::from_secs(60);

fn until_learnt(store: &PostgresStore) {
    let until = Instant::now() + SOON;
    while !store.knows_all_ids() {
        assert!(Instant::now() < until, "the ids are never learnt");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn fill(store: &PostgresStore) {
    store.recover().unwrap();
    for lsn in 1..=GROUPS {
        store.write(&written::at(lsn)).unwrap();
    }
}

#[test]
fn a_document_that_is_nowhere_is_absent_without_the_database() {
    let mut server = Server::new();
    let name = Database::on(&server).name.clone();
    let impatient = Settings {
        outage_max: Duration::ZERO,
        ..settings()
    };
    let store = PostgresStore::open(&server.url(&name), impatient).unwrap();
    fill(&store);
    until_learnt(&store);
    server.kill();
    let own = collection(2).id;
    assert_eq!(store.read(own, "nothing").unwrap(), None);
    // Of another one only the database can tell. One that was removed is not known to be absent.
    for there in [format!("own-{GROUPS}"), "own-1".to_owned()] {
        assert!(store.read(own, &there).is_err(), "{there}");
    }
}

#[test]
fn a_host_that_takes_over_knows_what_the_one_before_has_written() {
    let database = Database::shared();
    let first = database.host();
    fill(&first);
    drop(first);
    let second = database.host();
    second.recover().unwrap();
    let own = collection(2).id;
    let newest = format!("own-{GROUPS}");
    // While the ids are read, and afterwards.
    assert!(second.read(own, &newest).unwrap().is_some());
    until_learnt(&second);
    assert!(second.read(own, &newest).unwrap().is_some());
    assert_eq!(second.read(own, "nothing").unwrap(), None);
    second.write(&written::at(GROUPS + 1)).unwrap();
    let newest = format!("own-{}", GROUPS + 1);
    assert!(second.read(own, &newest).unwrap().is_some());
}

#[test]
fn a_host_whose_lease_has_run_out_asks_the_database() {
    let database = Database::shared();
    let short = Settings {
        lease: Duration::from_millis(300),
        renew_every: Duration::from_secs(3_600),
        ..settings()
    };
    let first = database.open(short).unwrap();
    fill(&first);
    until_learnt(&first);
    let second = database.host();
    second.recover().unwrap();
    second.write(&written::at(GROUPS + 1)).unwrap();
    let newest = format!("own-{}", GROUPS + 1);
    assert!(!first.holds_lease());
    assert!(first.read(collection(2).id, &newest).unwrap().is_some());
}

/// A standby that has followed all groups so far.
fn standby(database: &Database<'_>, last: u64) -> PostgresStore {
    let standby = database.host();
    standby.follow();
    let until = Instant::now() + SOON;
    while standby.followed() != Some(last) {
        assert!(Instant::now() < until, "{:?}", standby.followed());
        std::thread::sleep(Duration::from_millis(5));
    }
    standby
}

/// A document that no group has written: whoever follows the journal does not see it, and whoever reads the documents does.
const BY_HAND: &str =
    "INSERT INTO rialto.documents SELECT partition, id, 'by hand', 1, '{}' FROM rialto.collections
     WHERE id = 2";

#[test]
fn a_standby_follows_the_journal_and_takes_over_with_what_it_knows() {
    let database = Database::shared();
    let first = database.host();
    fill(&first);
    let second = standby(&database, GROUPS);
    for lsn in GROUPS + 1..=GROUPS + 50 {
        first.write(&written::at(lsn)).unwrap();
    }
    drop(first);
    database.sql(BY_HAND);
    second.recover().unwrap();
    until_learnt(&second);
    let own = collection(2).id;
    // Each removes the one three groups before.
    for lsn in GROUPS + 48..=GROUPS + 50 {
        let there = second.read(own, &format!("own-{lsn}")).unwrap();
        assert!(there.is_some(), "{lsn}");
    }
    // It has not read all documents again.
    assert_eq!(second.read(own, "by hand").unwrap(), None);
}

#[test]
fn a_standby_notices_that_the_journal_is_another_one() {
    let database = Database::shared();
    let first = database.host();
    fill(&first);
    let second = standby(&database, GROUPS);
    drop(first);
    // As after a restore: the group has the same number, and is not the same.
    database.sql(&format!(
        "UPDATE rialto.journal SET written = written + interval '1 ms' WHERE seq = {GROUPS}"
    ));
    database.sql(BY_HAND);
    second.recover().unwrap();
    until_learnt(&second);
    let there = second.read(collection(2).id, "by hand").unwrap();
    assert!(there.is_some(), "it went on with what it knew");
}
