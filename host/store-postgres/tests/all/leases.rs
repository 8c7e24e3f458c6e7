//! One host has the lease of a partition. Another one takes it when it has expired or was handed over, not before.

use std::sync::Barrier;
use std::time::{Duration, Instant};

use rialto_engine::store::{Store as _, StoreError};
use rialto_store_postgres::{LeaseError, PostgresStore, Settings};

use crate::database::{Database, LONG, settings};
use crate::written;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what} has not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_taken(taken: &Result<u64, LeaseError>) -> bool {
    match taken {
        Ok(_) => false,
        Err(LeaseError::Taken { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

fn written_by(store: &PostgresStore, lsn: u64) {
    store.write(&written::at(lsn)).unwrap();
}

#[test]
fn a_lease_is_taken_over_when_it_expires_and_not_before() {
    let database = Database::shared();
    let lease = Duration::from_millis(400);
    // It never renews: it is stopped, or cut off from the database.
    let stopped = Settings {
        lease,
        ..settings()
    };
    let (old, new) = (database.open(stopped).unwrap(), database.host());
    let taken = Instant::now();
    old.recover().unwrap();
    written_by(&old, 1);
    let refused = new.take_lease().unwrap_err().to_string();
    assert!(
        refused.starts_with("partition 0 belongs to the host "),
        "{refused}"
    );
    until("the lease", || !is_taken(&new.take_lease()));
    assert!(
        taken.elapsed() >= lease,
        "it was taken after {:?}",
        taken.elapsed()
    );
    assert!(!old.holds_lease() && new.holds_lease());
    // The old one comes back. It may do nothing more.
    assert_eq!(old.write(&written::at(2)), Err(StoreError::Fenced));
    assert_eq!(
        old.note_poison_candidate(Some("x")),
        Err(StoreError::Fenced)
    );
    assert!(
        old.count_overdue(rialto_engine::Timestamp(u64::MAX))
            .is_err()
    );
    assert_eq!(written::judge(&new, 1..=1), 1);
    written_by(&new, 2);
    assert_eq!(old.write(&written::at(2)), Err(StoreError::Fenced));
    drop(old);
    assert!(
        new.holds_lease(),
        "the old one has handed over what it does not have"
    );
    assert_eq!(written::judge(&new, 2..=2), 2);
}

#[test]
fn a_lease_that_is_renewed_stays() {
    let database = Database::shared();
    let renewing = Settings {
        lease: Duration::from_secs(30),
        renew_every: Duration::from_millis(10),
        ..settings()
    };
    let (owner, other) = (database.open(renewing).unwrap(), database.host());
    owner.recover().unwrap();
    let expiry = || database.sql("SELECT expires_at FROM rialto.leases");
    for _ in 0..3 {
        let before = expiry();
        until("a renewal", || expiry() != before);
        assert!(is_taken(&other.take_lease()));
    }
    assert!(owner.holds_lease());
    assert_eq!(owner.lease().unwrap().epoch, 1);
}

#[test]
fn an_expired_lease_stays_with_its_host_while_nobody_takes_it() {
    let database = Database::shared();
    let owner = database.host();
    owner.recover().unwrap();
    database.expire_lease();
    written_by(&owner, 1);
    assert_eq!(owner.lease().unwrap().expires_in, None);
}

#[test]
fn a_host_notices_that_another_has_taken_over() {
    let database = Database::shared();
    let renewing = Settings {
        lease: LONG,
        renew_every: Duration::from_millis(10),
        ..settings()
    };
    let owner = database.open(renewing).unwrap();
    owner.recover().unwrap();
    assert!(owner.holds_lease());
    database.sql("UPDATE rialto.leases SET epoch = epoch + 1, owner = 'another'");
    until("the loss", || !owner.holds_lease());
    assert_eq!(owner.write(&written::at(1)), Err(StoreError::Fenced));
}

#[test]
fn a_lease_that_is_handed_over_is_free_at_once() {
    let database = Database::shared();
    let (old, new) = (database.host(), database.host());
    old.recover().unwrap();
    let ahead = [1, 2].map(|lsn| old.submit(&written::at(lsn)).unwrap());
    assert!(is_taken(&new.take_lease()));
    old.hand_over().unwrap();
    assert!(!old.holds_lease());
    for submitted in ahead {
        submitted.wait().expect("it was submitted before");
    }
    assert_eq!(old.write(&written::at(3)), Err(StoreError::Fenced));
    assert_eq!(written::judge(&new, 2..=2), 2);
    written_by(&new, 3);
    // And back.
    new.hand_over().unwrap();
    assert_eq!(written::judge(&old, 3..=3), 3);
    written_by(&old, 4);
}

#[test]
fn a_host_that_takes_its_lease_back_writes_only_after_recovery() {
    let database = Database::shared();
    let (one, other) = (database.host(), database.host());
    one.recover().unwrap();
    written_by(&one, 1);
    database.expire_lease();
    assert_eq!(written::judge(&other, 1..=1), 1);
    written_by(&other, 2);
    other.hand_over().unwrap();
    // It has not noticed that the other one was there.
    one.take_lease().unwrap();
    let refused = one.write(&written::at(2));
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    assert_eq!(written::judge(&one, 2..=2), 2);
    written_by(&one, 3);
    assert_eq!(written::judge(&one, 3..=3), 3);
}

#[test]
fn of_many_hosts_one_takes_a_free_lease() {
    let database = Database::shared();
    let hosts: Vec<_> = (0..4).map(|_| database.host()).collect();
    for round in 1..=5 {
        let together = Barrier::new(hosts.len());
        let take = |host: &PostgresStore| {
            together.wait();
            host.take_lease()
        };
        let taken: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = hosts
                .iter()
                .map(|host| scope.spawn(|| take(host)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let winners: Vec<_> = (0..hosts.len()).filter(|n| !is_taken(&taken[*n])).collect();
        assert_eq!(winners.len(), 1, "{taken:?}");
        assert_eq!(taken[winners[0]], Ok(round));
        hosts[winners[0]].hand_over().unwrap();
    }
}

#[test]
fn partitions_have_leases_and_rows_of_their_own() {
    let database = Database::shared();
    let host = |partition| {
        let settings = Settings {
            partition,
            ..settings()
        };
        database.open(settings).unwrap()
    };
    let (one, other) = (host(0), host(7));
    one.recover().unwrap();
    other.recover().unwrap();
    for lsn in 1..=3 {
        written_by(&one, lsn);
    }
    written_by(&other, 1);
    assert_eq!(written::judge(&one, 3..=3), 3);
    assert_eq!(written::judge(&other, 1..=1), 1);
}
