//! Groups are written in their order, also when the next one is submitted before the one before is durable.

use std::collections::VecDeque;

use rialto_engine::store::{Store as _, StoreError};
use rialto_store_suite::samples::{group, put};

use rialto_store_postgres::LeaseError;

use crate::database::Database;
use crate::written;

#[test]
fn groups_submitted_ahead_are_written_in_order() {
    let database = Database::shared();
    let store = database.host();
    store.recover().unwrap();
    let mut on_their_way = VecDeque::new();
    for lsn in 1..=200 {
        on_their_way.push_back(store.submit(&written::at(lsn)).unwrap());
        if on_their_way.len() == 3 {
            on_their_way.pop_front().unwrap().wait().unwrap();
        }
    }
    for submitted in on_their_way {
        submitted.wait().unwrap();
    }
    drop(store);
    assert_eq!(written::judge(&database.host(), 200..=200), 200);
}

#[test]
fn a_group_fails_with_the_one_before_it() {
    let database = Database::shared();
    let store = database.host();
    store.recover().unwrap();
    store.write(&written::at(1)).unwrap();
    // The database refuses a document twice in one group.
    let mut refused = group(2);
    refused.documents = vec![put(1, "a", 1, "1"), put(1, "a", 1, "1")];
    let submitted = [store.submit(&refused), store.submit(&written::at(3))];
    for submitted in submitted {
        // The second may have been refused when it was submitted.
        let written = submitted.and_then(rialto_store_postgres::Submitted::wait);
        assert!(matches!(written, Err(StoreError::Failed(_))), "{written:?}");
    }
    let later = store.write(&written::at(2));
    assert!(matches!(later, Err(StoreError::Failed(_))), "{later:?}");
    drop(store);
    let store = database.host();
    assert_eq!(written::judge(&store, 1..=1), 1);
    store.write(&written::at(2)).unwrap();
    assert_eq!(written::judge(&store, 2..=2), 2);
}

#[test]
fn a_database_that_lost_acknowledged_groups_stops_the_host() {
    let database = Database::shared();
    let store = database.host();
    store.recover().unwrap();
    for lsn in 1..=2 {
        store.write(&written::at(lsn)).unwrap();
    }
    database.sql("UPDATE rialto.partitions SET seq = 1");
    let refused = store.write(&written::at(3)).unwrap_err();
    assert!(
        refused.to_string().contains("has lost the group"),
        "{refused}"
    );
    // No host serves before somebody has accepted that: neither this one nor another.
    drop(store);
    let next = database.host();
    let Err(LeaseError::Lost { seq, fact }) = next.take_lease() else {
        panic!("a host serves what a database has lost");
    };
    assert_eq!(seq, "2");
    database.sql(&format!("DELETE FROM rialto.facts WHERE key = '{fact}'"));
    next.recover().unwrap();
}

#[test]
fn nothing_is_written_before_the_store_is_recovered() {
    let database = Database::shared();
    let store = database.host();
    let refused = store.write(&written::at(1));
    assert!(matches!(refused, Err(StoreError::Failed(_))), "{refused:?}");
    let refused = store.note_poison_candidate(Some("x"));
    assert_eq!(refused, Err(StoreError::Fenced));
}
