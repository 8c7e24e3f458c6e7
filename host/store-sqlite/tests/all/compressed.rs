//! Bodies of documents are compressed by dictionaries, and nobody who reads them sees it.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rialto_engine::store::{DocumentWrite, Group, ScanRange, Store, StoreError, StoredDocument};
use rialto_engine::{CollectionId, Lsn};
use rialto_store::StoreLoad as _;
use rialto_store_sqlite::{FlushPolicy, Order, Snapshot, Sql, SqlError, SqliteStore};
use rialto_store_suite::samples::{collection, group};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};

const COLLECTION: CollectionId = CollectionId(1);
/// Flushes happen only when a test asks for them, and segments have a few documents.
const ASKED: FlushPolicy = FlushPolicy {
    after: Duration::from_hours(1),
    bytes: usize::MAX,
    segment_documents: 100,
};

fn id(n: u64) -> String {
    format!("{:08x}", n.wrapping_mul(0x9E37_79B9) & 0xFFFF_FFFF)
}

/// A body like those of a payment, with a name that no other document has.
fn body(n: u64, state: &str) -> String {
    format!(
        "{{\"transferState\":\"{state}\",\"amount\":{{\"currency\":\"USD\",\"amount\":\"{n}\"}},\
         \"payer\":{{\"name\":\"Ada-{}-Lovelace\",\"fspId\":\"payerfsp\"}},\"version\":\"1.0\"}}",
        id(n + 1_000_000)
    )
}

/// Write documents in one group, and flush them into the tables.
fn flushed(store: &SqliteStore, lsn: u64, documents: impl Iterator<Item = (u64, String)>) {
    in_journal(store, lsn, documents);
    store.flush().unwrap();
}

/// Write documents in one group.
fn in_journal(store: &SqliteStore, lsn: u64, documents: impl Iterator<Item = (u64, String)>) {
    let documents = documents.map(|(n, body)| DocumentWrite {
        collection: COLLECTION,
        id: id(n).into(),
        version: lsn,
        body: Some(body.as_str().into()),
    });
    let mut group = Group {
        documents: documents.collect(),
        ..group(lsn)
    };
    if lsn == 1 {
        group.collections = vec![collection(1)];
    }
    group.lsn = Lsn(lsn);
    store.write(&group).unwrap();
}

fn opened(folder: &Path) -> SqliteStore {
    let store = SqliteStore::open_with(folder, ASKED).unwrap();
    store.recover().unwrap();
    store
}

fn run(folder: &Path, statement: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let options = SqliteConnectOptions::new().filename(folder.join("rialto.db"));
        let mut connection = options.connect().await.unwrap();
        let statement = AssertSqlSafe(statement.to_owned());
        connection.execute(sqlx::query(statement)).await.unwrap();
        connection.close().await.unwrap();
    });
}

/// The first value of a query's first row.
fn ask(folder: &Path, query: &str) -> serde_json::Value {
    let mut first = None;
    let store = Sql::open(folder).unwrap();
    store
        .query(query, &mut |_, mut row| {
            first = Some(row.swap_remove(0));
            false
        })
        .unwrap();
    first.unwrap_or_default()
}

const FRAMES: &str = "SELECT count(*) FROM documents WHERE typeof(body) = 'blob'";

/// Compare what all readers say about documents with what was written.
fn judge(store: &SqliteStore, folder: &Path, expected: &[(u64, String)]) {
    for (n, body) in expected {
        let found = store.read(COLLECTION, &id(*n)).unwrap().unwrap();
        assert_eq!(&*found.body, body);
    }
    let mut all: Vec<(String, &String)> = expected.iter().map(|(n, b)| (id(*n), b)).collect();
    all.sort();
    let scanned = store.scan(COLLECTION, &ScanRange::all(), u32::MAX).unwrap();
    let same = |found: &StoredDocument, (id, body): &(String, &String)| {
        *found.id == **id && *found.body == ***body
    };
    assert_eq!(scanned.len(), all.len());
    assert!(scanned.iter().zip(&all).all(|(a, b)| same(a, b)));
    for order in [Order::ById, Order::AsStored] {
        let mut visited = Vec::new();
        let visit = &mut |_, document: StoredDocument| {
            visited.push(document);
            Ok::<_, StoreError>(())
        };
        let mut snapshot = Snapshot::open(folder).unwrap();
        snapshot.visit(&[COLLECTION], order, visit).unwrap();
        visited.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(visited.len(), all.len());
        assert!(visited.iter().zip(&all).all(|(a, b)| same(a, b)));
    }
    let mut shown = Vec::new();
    let query = "SELECT id, body FROM named_documents WHERE collection = 'things-1' ORDER BY id";
    Sql::open(folder)
        .unwrap()
        .query(query, &mut |names, row| {
            assert_eq!(names, ["id", "body"]);
            shown.push((row[0].as_str().unwrap().to_owned(), row[1].clone()));
            true
        })
        .unwrap();
    assert_eq!(shown.len(), all.len());
    assert!(
        shown
            .iter()
            .zip(&all)
            .all(|((id, body), b)| *id == b.0 && body == b.1)
    );
}

fn written(range: Range<u64>, state: &str) -> Vec<(u64, String)> {
    range.map(|n| (n, body(n, state))).collect()
}

#[test]
fn documents_are_compressed_once_there_are_enough_and_read_as_they_were_written() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let mut expected = written(0..200, "RECEIVED");
    let store = opened(folder);
    flushed(&store, 1, expected.iter().cloned());
    assert_eq!(ask(folder, FRAMES), 0, "too few to learn from");
    judge(&store, folder, &expected);
    // With these there are enough, and they are the first that are compressed.
    expected.extend(written(200..400, "RECEIVED"));
    flushed(&store, 2, expected[200..].iter().cloned());
    assert_eq!(ask(folder, FRAMES), 200);
    judge(&store, folder, &expected);
    drop(store);

    // After a start the dictionary is in use. A document that changes is compressed, too.
    let store = opened(folder);
    judge(&store, folder, &expected);
    expected.splice(0..100, written(0..100, "COMMITTED"));
    flushed(&store, 3, expected[..100].iter().cloned());
    assert_eq!(ask(folder, FRAMES), 300);
    assert_eq!(ask(folder, "SELECT count(*) FROM dictionaries"), 1);
    judge(&store, folder, &expected);
    let share = "SELECT 100 * sum(length(body)) / sum(length(document(body)))
                 FROM documents WHERE typeof(body) = 'blob'";
    let share = ask(folder, share).as_i64().unwrap();
    assert!(share < 50, "{share} % of the bodies' bytes remain");
}

#[test]
fn bodies_of_any_text_and_length_are_read_as_they_were_written() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let store = opened(folder);
    flushed(&store, 1, written(0..300, "RECEIVED").into_iter());
    let mut random = StdRng::seed_from_u64(7);
    let mut expected = Vec::new();
    for n in 0..300 {
        let length = match n % 50 {
            0 => 300_000,
            1 => 256 << 10,
            _ => random.random_range(0..2_000),
        };
        let text: String = (0..length)
            .map(|_| random.random_range(' '..if n % 3 == 0 { '\u{2fff}' } else { '~' }))
            .collect();
        expected.push((n, serde_json::to_string(&text).unwrap()));
    }
    flushed(&store, 2, expected.iter().cloned());
    let kinds = ask(folder, "SELECT count(DISTINCT typeof(body)) FROM documents");
    assert_eq!(kinds, 2, "some do not become smaller");
    judge(&store, folder, &expected);
}

#[test]
fn documents_of_another_form_get_another_dictionary() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let store = opened(folder);
    flushed(&store, 1, written(0..300, "RECEIVED").into_iter());
    let other = |n: u64| {
        let lines: Vec<String> = (0..4)
            .map(|k| {
                format!(
                    "{{\"settlementWindowId\":{n},\"leg\":{k},\"net\":\"{}\"}}",
                    n * k
                )
            })
            .collect();
        (n, format!("[{}]", lines.join(",")))
    };
    let expected: Vec<(u64, String)> = (0..9_000).map(other).collect();
    flushed(&store, 2, expected.iter().cloned());
    assert_eq!(ask(folder, "SELECT count(*) FROM dictionaries"), 1);
    flushed(&store, 3, expected.iter().cloned());
    assert_eq!(ask(folder, "SELECT count(*) FROM dictionaries"), 2);
    judge(&store, folder, &expected);
    // It is much better, and stays.
    for lsn in 4..8 {
        flushed(&store, lsn, expected.iter().cloned());
    }
    assert_eq!(ask(folder, "SELECT count(*) FROM dictionaries"), 2);
    judge(&store, folder, &expected);
    // The first one is still needed by nobody or by few, and is there.
    drop(store);
    judge(&opened(folder), folder, &expected);
}

#[test]
fn a_dictionary_has_nothing_of_a_single_document() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let store = opened(folder);
    flushed(&store, 1, written(0..300, "RECEIVED").into_iter());
    let content = ask(folder, "SELECT content FROM dictionaries");
    let content = content.as_str().unwrap();
    let is_in = |text: &str| {
        let digits: Vec<String> = text.bytes().map(|byte| format!("{byte:02X}")).collect();
        content.contains(&digits.concat())
    };
    assert!(
        is_in("\"transferState\":\"RECEIVED\""),
        "it is of all of them"
    );
    for n in 0..300 {
        let name = format!("Ada-{}-Lovelace", id(n + 1_000_000));
        assert!(!is_in(&name) && !is_in(&name[4..12]), "{name}");
    }
}

#[test]
fn documents_without_anything_in_common_stay_as_they_are() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let store = opened(folder);
    let mut random = StdRng::seed_from_u64(1);
    let mut text = |_| {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".as_bytes();
        let letters = (0..200).map(|_| char::from(digits[random.random_range(0..64)]));
        format!("\"{}\"", letters.collect::<String>())
    };
    let expected: Vec<(u64, String)> = (0..1_000).map(|n| (n, text(n))).collect();
    for lsn in 1..4 {
        flushed(&store, lsn, expected.iter().cloned());
    }
    assert_eq!(ask(folder, FRAMES), 0);
    assert_eq!(ask(folder, "SELECT count(*) FROM dictionaries"), 0);
    judge(&store, folder, &expected);
}

#[test]
fn a_dictionary_that_could_not_be_stored_is_stored_by_the_next_flush() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let store = opened(folder);
    let expected = written(0..300, "RECEIVED");
    in_journal(&store, 1, expected.iter().cloned());
    run(folder, "ALTER TABLE dictionaries RENAME TO away");
    let why = store.flush().unwrap_err().to_string();
    assert!(why.contains("dictionaries"), "{why}");
    run(folder, "ALTER TABLE away RENAME TO dictionaries");
    assert_eq!(ask(folder, "SELECT count(*) FROM documents"), 0);
    store.flush().unwrap();
    assert_eq!(ask(folder, FRAMES), 300);
    judge(&store, folder, &expected);
    drop(store);
    judge(&opened(folder), folder, &expected);
}

#[test]
fn a_damaged_frame_is_refused_by_name() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let store = opened(folder);
    flushed(&store, 1, written(0..300, "RECEIVED").into_iter());
    let why = |n| store.read(COLLECTION, &id(n)).unwrap_err().to_string();
    // Cut off, of no dictionary, of one that is missing, and of too many bytes.
    for (n, body, expected) in [
        (
            1,
            "substr(body, 1, length(body) - 1)",
            "a compressed document",
        ),
        (2, "x'28B52FFD2000'", "names no dictionary"),
        (3, "x'28B52FFD210900'", "dictionary 9 is missing"),
        (4, "x'28B52FFDA101FFFFFFFF00'", "its length"),
        (5, "x''", "names no dictionary"),
    ] {
        let change = format!("UPDATE documents SET body = {body} WHERE id = '{}'", id(n));
        run(folder, &change);
        assert!(why(n).contains(expected), "{}", why(n));
        let query = format!(
            "SELECT document(body) FROM documents WHERE id = '{}'",
            id(n)
        );
        let error = Sql::open(folder).unwrap().query(&query, &mut |_, _| true);
        let error = error.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(
        &*store.read(COLLECTION, &id(6)).unwrap().unwrap().body,
        body(6, "RECEIVED")
    );
}

#[test]
fn a_damaged_dictionary_is_noticed() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let text = written(0..300, "RECEIVED");
    flushed(&opened(folder), 1, text.iter().cloned());
    let changed = "UPDATE dictionaries SET content = CAST(replace(hex(content), hex('RECEIVED'), hex('REFUSED!')) AS BLOB)";
    // In digits first, because SQLite replaces no bytes.
    run(folder, changed);
    run(
        folder,
        "UPDATE dictionaries SET content = unhex(CAST(content AS TEXT))",
    );
    let store = opened(folder);
    let why = |n| store.read(COLLECTION, &id(n)).unwrap_err().to_string();
    for n in [0, 1, 299] {
        assert!(why(n).contains("a compressed document"), "{}", why(n));
    }
    // What is no dictionary at all.
    drop(store);
    run(
        folder,
        "UPDATE dictionaries SET content = x'37A430EC0100000000'",
    );
    let store = opened(folder);
    assert!(store.read(COLLECTION, &id(1)).is_err());
    // The store goes on, and compresses by none.
    flushed(&store, 2, written(1_000..1_100, "RECEIVED").into_iter());
    let found = store.read(COLLECTION, &id(1_000)).unwrap().unwrap();
    assert_eq!(&*found.body, body(1_000, "RECEIVED"));
}

#[test]
fn sql_says_when_a_flush_has_not_ended() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    flushed(&opened(folder), 1, written(0..3, "RECEIVED").into_iter());
    assert!(!Sql::open(folder).unwrap().is_flushing());
    run(
        folder,
        "UPDATE meta SET value = value + 1 WHERE key = 'folding'",
    );
    assert!(Sql::open(folder).unwrap().is_flushing());
}

#[test]
fn sql_reads_and_changes_nothing() {
    let folder = rialto_files::temporary_folder().unwrap();
    let folder = folder.path();
    let why = Sql::open(folder).err().unwrap().to_string();
    assert!(why.contains("there is no store"), "{why}");
    let store = opened(folder);
    flushed(&store, 1, written(0..300, "RECEIVED").into_iter());
    let sql = Sql::open(folder).unwrap();
    let mut none = |_: &[String], _| true;
    for text in [
        "DELETE FROM documents",
        "UPDATE documents SET version = 9 RETURNING id",
        "PRAGMA query_only = off",
        "PRAGMA journal_mode = delete",
        "COMMIT",
        "ATTACH 'other.db' AS other",
        "CREATE TEMP TABLE t (a)",
        "VACUUM",
        "SELECT 1; DELETE FROM documents",
        "",
        "SELECT",
    ] {
        let refused = sql.query(text, &mut none);
        assert!(
            matches!(refused, Err(SqlError::Writes | SqlError::Refused(_))),
            "{text}: {refused:?}"
        );
    }
    // A query sees one commit, whatever is written meanwhile.
    flushed(&store, 2, written(300..400, "RECEIVED").into_iter());
    let count = |sql: &Sql| {
        let mut rows = Vec::new();
        let query = "SELECT count(*), NULL, 0.5, x'0AFF', 'é' FROM documents";
        sql.query(query, &mut |_, row| {
            rows.push(serde_json::to_string(&row).unwrap());
            true
        })
        .unwrap();
        rows
    };
    assert_eq!(count(&sql), ["[300,null,0.5,\"X'0AFF'\",\"é\"]"]);
    assert_eq!(
        count(&Sql::open(folder).unwrap()),
        ["[400,null,0.5,\"X'0AFF'\",\"é\"]"]
    );
}
