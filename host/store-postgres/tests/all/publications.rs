//! Events for the outside: their numbers have no gap, whoever writes, and a range of them is found again.

use rialto_engine::publications::{Outbox as _, Publication};
use rialto_engine::store::{Group, Store as _};
use rialto_engine::{Timestamp, TurnId};

use rialto_store::PublicationSnapshot as _;
use rialto_store_postgres::PostgresSnapshot;

use crate::database::Database;
use crate::written;

/// A group with so many events.
fn events(lsn: u64, count: u64) -> Group {
    let event = |n| Publication {
        event: "orders/order-taken".into(),
        component: "orders".into(),
        at: Timestamp(lsn),
        turn: TurnId(lsn),
        release: 1,
        traceparent: String::new(),
        subjects: Vec::new(),
        data: format!("\"{lsn}-{n}\"").into(),
        may_name_people: false,
    };
    Group {
        publications: (0..count).map(event).collect(),
        ..written::at(lsn)
    }
}

#[test]
fn numbers_have_no_gap_across_hosts() {
    let database = Database::shared();
    let first = database.host();
    first.recover().unwrap();
    let mut wanted = Vec::new();
    let mut write = |store: &rialto_store_postgres::PostgresStore, lsns: std::ops::Range<u64>| {
        for lsn in lsns {
            // Groups of none, one, two and three.
            let count = lsn % 4;
            store.write(&events(lsn, count)).unwrap();
            wanted.extend((0..count).map(|n| format!("\"{lsn}-{n}\"")));
        }
    };
    write(&first, 1..150);
    first.set_published(17).unwrap();
    first.set_published(9).unwrap();
    drop(first);
    let second = database.host();
    second.recover().unwrap();
    write(&second, 150..200);
    let state = second.publications_state().unwrap();
    assert_eq!((state.first, state.last), (Some(1), wanted.len() as u64));
    assert_eq!(state.published, 17);
    // All of them by pages, and then single ones from anywhere.
    let mut found = Vec::new();
    loop {
        let page = second.publications(found.len() as u64 + 1, 7).unwrap();
        if page.is_empty() {
            break;
        }
        for stored in page {
            assert_eq!(stored.number, found.len() as u64 + 1);
            found.push(stored.publication.data.to_string());
        }
    }
    assert_eq!(found, wanted);
    // A host without the lease reads them too.
    let reader = database.host();
    for number in [250_u64, 3, 1, 100, state.last] {
        let one = reader.publications(number, 1).unwrap();
        assert_eq!(one[0].number, number);
        let index = usize::try_from(number).unwrap() - 1;
        assert_eq!(&*one[0].publication.data, wanted[index]);
    }
    let mut snapshot = PostgresSnapshot::open(&database.url()).unwrap();
    assert_eq!(snapshot.publications_state().unwrap(), state);
    for number in [1, 100, state.last] {
        let one = reader.publications(number, 1).unwrap();
        assert_eq!(snapshot.publications(number, 1).unwrap(), one);
    }
    assert_eq!(reader.publications(state.last + 1, 1).unwrap(), []);
    assert_eq!(reader.publications_state().unwrap().store, state.store);
}
