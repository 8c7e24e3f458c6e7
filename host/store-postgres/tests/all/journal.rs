//! A host without the lease follows the journal.

use rialto_engine::store::Store as _;

use crate::database::Database;
use crate::written;

#[test]
fn a_standby_sees_what_the_owner_has_written() {
    let database = Database::shared();
    let (owner, standby) = (database.host(), database.host());
    owner.recover().unwrap();
    assert_eq!(standby.journal_after(0, 10).unwrap(), []);
    for lsn in 1..=5 {
        owner.write(&written::at(lsn)).unwrap();
    }
    let first = standby.journal_after(0, 3).unwrap();
    assert_eq!(first.iter().map(|g| g.seq).collect::<Vec<_>>(), [1, 2, 3]);
    let rest = standby.journal_after(3, 10).unwrap();
    assert_eq!(rest.iter().map(|g| g.lsn).collect::<Vec<_>>(), [4, 5]);
    assert!(rest.iter().all(|group| group.epoch == 1));
    let keys = rest[0].documents.iter();
    let keys: Vec<_> = keys
        .map(|d| (d.collection, &*d.id, d.version, d.removed))
        .collect();
    assert!(keys.contains(&(1, "shared-0", 4, false)), "{keys:?}");
    assert!(keys.contains(&(2, "own-1", 2, true)), "{keys:?}");
    let read = standby.read(rialto_engine::CollectionId(1), "shared-0");
    assert_eq!(read.unwrap().unwrap().version, 5);
}

#[test]
fn rows_of_a_month_are_in_its_table() {
    let database = Database::shared();
    let store = database.host();
    store.recover().unwrap();
    for lsn in 1..=3 {
        store.write(&written::at(lsn)).unwrap();
    }
    for table in ["journal", "receipts", "history_subjects", "audit_entries"] {
        let rows = |table: &str| database.sql(&format!("SELECT count(*) > 0 FROM rialto.{table}"));
        assert_eq!(rows(table), "t");
        assert_eq!(rows(&format!("{table}_other")), "f");
        let tables = format!(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'rialto.{table}'::regclass"
        );
        // Three months, and what is in none.
        assert_eq!(database.sql(&tables), "4");
    }
}
