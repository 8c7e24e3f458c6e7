//! What a database must be to be opened, and what opening makes of it.

use std::sync::Barrier;

use rialto_engine::store::Store as _;
use rialto_store_postgres::{LAYOUT, OpenError, PostgresStore, Settings};

use crate::database::{Database, settings};
use crate::written;
use rialto_postgres_server::{self as server, Server};

fn refused(database: &Database<'_>, settings: Settings) -> OpenError {
    let opened = database.open(settings);
    opened.err().expect("the database is refused")
}

#[test]
fn migrations_that_run_again_or_together_do_no_harm() {
    let database = Database::shared();
    let together = Barrier::new(6);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                together.wait();
                drop(database.host());
            });
        }
    });
    let applied = || {
        database.sql("SELECT string_agg(version::text, ',' ORDER BY version) FROM rialto.layouts")
    };
    assert_eq!(applied(), "1,2,3,4,5");
    let store = database.host();
    store.recover().unwrap();
    store.write(&written::at(1)).unwrap();
    // Another host starts while this one serves.
    drop(database.host());
    store.write(&written::at(2)).unwrap();
    assert_eq!(applied(), "1,2,3,4,5");
    assert_eq!(written::judge(&store, 2..=2), 2);
}

#[test]
fn a_newer_layout_is_accepted_as_far_as_it_allows() {
    let database = Database::shared();
    drop(database.host());
    let newer = LAYOUT + 1;
    database.sql(&format!(
        "INSERT INTO rialto.layouts VALUES ({newer}, {LAYOUT})"
    ));
    drop(database.host());
    database.sql(&format!(
        "UPDATE rialto.layouts SET oldest_host = {newer} WHERE version = {newer}"
    ));
    let error = refused(&database, settings());
    assert!(matches!(error, OpenError::TooNew { .. }), "{error}");
    assert!(error.to_string().ends_with("use a newer host"), "{error}");
}

#[test]
fn a_database_of_another_scheme_is_refused() {
    let database = Database::shared();
    let of = |scheme: &str| Settings {
        scheme: Some(scheme.to_owned()),
        ..settings()
    };
    drop(database.open(of("one")).unwrap());
    drop(database.open(of("one")).unwrap());
    let error = refused(&database, of("two")).to_string();
    let expected = "the database has the scheme one, not two: give each scheme its own database";
    assert_eq!(error, expected);
}

#[test]
fn what_is_no_primary_that_keeps_everything_is_refused() {
    let database = Database::on(server::shared());
    let with_standby = Settings {
        synchronous_standby: true,
        ..settings()
    };
    let error = refused(&database, with_standby);
    assert!(matches!(error, OpenError::NoStandby), "{error}");
    let name = &database.name;
    database.sql(&format!(
        "ALTER DATABASE {name} SET default_transaction_read_only = on"
    ));
    let error = refused(&database, settings());
    assert!(matches!(error, OpenError::ReadOnly), "{error}");

    let other = Database::on(server::shared());
    let name = &other.name;
    let shared = server::shared();
    shared.sql("postgres", &format!("DROP DATABASE {name}"));
    let text = format!("CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0");
    shared.sql("postgres", &text);
    let error = refused(&other, settings());
    assert!(matches!(error, OpenError::Encoding(_)), "{error}");
}

#[test]
fn a_month_without_its_table_stops_nobody() {
    let database = Database::shared();
    let store = database.host();
    store.recover().unwrap();
    let month = database.sql("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')");
    for table in ["journal", "receipts", "history_subjects", "audit_entries"] {
        database.sql(&format!("DROP TABLE rialto.{table}_{month}"));
    }
    for lsn in 1..=5 {
        store.write(&written::at(lsn)).unwrap();
    }
    assert_eq!(
        database.sql("SELECT count(*) FROM rialto.receipts_other"),
        "5"
    );
    drop(store);
    written::judge(&database.host(), 5..=5);
}

#[test]
fn a_replica_is_refused() {
    let replica = Server::replica_of(server::shared());
    let error = PostgresStore::open(&replica.url("postgres"), settings());
    let error = error.err().expect("a replica is refused");
    assert!(matches!(error, OpenError::Replica), "{error}");
}

#[test]
fn a_url_that_is_none_or_leads_nowhere_is_refused() {
    let error = PostgresStore::open("sqlite://x", settings()).err();
    assert!(matches!(error, Some(OpenError::Url(_))), "{error:?}");
    let url = server::shared().url("nothing_here");
    let error = PostgresStore::open(&url, settings()).err();
    assert!(
        matches!(&error, Some(OpenError::Unreachable { why, .. }) if why.contains("nothing_here")),
        "{error:?}"
    );
    let elsewhere = "postgres://db.example/rialto";
    let error = PostgresStore::open(elsewhere, settings()).err();
    assert!(
        matches!(error, Some(OpenError::Unprotected(_))),
        "{error:?}"
    );
}

#[test]
fn a_commit_is_synced_whatever_the_servers_default_is() {
    let database = Database::on(server::shared());
    let name = &database.name;
    database.sql(&format!(
        "ALTER DATABASE {name} SET synchronous_commit = off"
    ));
    let store = database.host();
    store.recover().unwrap();
    // The function of a group tells with what it was written.
    database.sql(
        "CREATE TABLE public.seen (setting text);
         CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO public.seen VALUES (current_setting(''synchronous_commit'')); RETURN NULL; END';
         CREATE TRIGGER see AFTER UPDATE ON rialto.partitions EXECUTE FUNCTION public.see()",
    );
    store.write(&written::at(1)).unwrap();
    assert_eq!(
        database.sql("SELECT DISTINCT setting FROM public.seen"),
        "on"
    );
}
