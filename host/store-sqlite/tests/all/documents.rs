//! Archives of documents: a file has exactly the archived documents, also after a crash.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rialto_engine::Timestamp;
use rialto_engine::store::Store as _;
use rialto_store_sqlite::ArchiveStore as _;
use rialto_store_sqlite::retention::{
    ArchivedBundle, Bundle, BundleKey, DocumentCipher, NoCipher, RetentionError, Sealing,
    documents_about,
};
use rialto_store_sqlite::{FlushPolicy, Snapshot, SqliteStore};
use rialto_store_suite::samples::{collection, group, put};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use crate::retention::FEW;

/// The collection's component and name.
const OF: (&str, &str) = ("component-1", "things-2");
const NOW: Timestamp = Timestamp(1_000);

/// A store with some documents in its tables, in segments of three.
fn filled(folder: &Path) -> SqliteStore {
    let open = || SqliteStore::open_with(folder, FEW).unwrap();
    {
        let store = open();
        store.recover().unwrap();
        for lsn in 1..=9 {
            let mut next = group(lsn);
            if lsn == 1 {
                next.collections = vec![collection(2)];
            }
            let body = format!("{{\"n\":{lsn}}}");
            next.documents = vec![put(2, &format!("d{lsn}"), lsn, &body)];
            store.write(&next).unwrap();
        }
    }
    let store = open();
    store.recover().unwrap();
    store
}

fn bundle(subject: &str, ids: &[&str]) -> Bundle {
    let document = |id: &&str| BundleKey {
        collection: OF.1.to_owned(),
        id: (*id).to_owned(),
        sha256: None,
    };
    Bundle {
        subject: subject.to_owned(),
        at: 7,
        documents: ids.iter().map(document).collect(),
        people: Vec::new(),
    }
}

fn ids(taken: &[ArchivedBundle]) -> Vec<Vec<&str>> {
    let ids = taken.iter().map(|one| one.documents.iter());
    ids.map(|documents| documents.map(|(_, id, _)| &**id).collect())
        .collect()
}

#[test]
fn bundles_to_remove_are_read_from_the_archive() {
    let outer = rialto_files::temporary_folder().unwrap();
    let folder = outer.path().join("archives");
    let store = filled(&outer.path().join("state"));
    assert!(store.full_segments().unwrap() >= 2);
    let collections = store.collections_of(OF.0).unwrap();
    let in_first = store.ids_in_segment(collections[OF.1], 0).unwrap();
    // Places begin with 1.
    assert_eq!(in_first, ["d1", "d2"]);
    // Two that are about the same follow each other: they are two all the same.
    let bundles = [
        bundle("account:a", &["d1"]),
        bundle("account:a", &["d2"]),
        bundle("transfer:t", &["d3", "d4"]),
        bundle("transfer:u", &["d5", "nothing"]),
    ];
    let of = (OF.0, "things", 0);
    let archived = store
        .archive_documents(of, &bundles, (&folder, &NoCipher), NOW)
        .unwrap();
    let (archive, taken) = archived.unwrap();
    assert_eq!(ids(&taken), [vec!["d1"], vec!["d2"], vec!["d3", "d4"]]);
    assert_eq!(
        archive.file,
        "documents-things-component-1-0000000000.jsonl.gz"
    );
    // As after a crash.
    let left = store.documents_to_take_out().unwrap();
    assert_eq!(left, std::slice::from_ref(&archive));
    let (head, again) = store
        .archived_documents((&folder, &NoCipher), &archive)
        .unwrap();
    assert_eq!(again, taken);
    assert_eq!(head.component.as_deref(), Some(OF.0));
    assert_eq!(head.kept.as_deref(), Some("things"));
    store.documents_taken_out(&archive).unwrap();
    assert_eq!(store.documents_to_take_out().unwrap(), []);
    // One that has changed since it was judged stays.
    let mut changed = bundle("transfer:t", &["d3", "d4"]);
    changed.documents[1].sha256 = Some("00".repeat(32));
    let archived = store.archive_documents(of, &[changed], (&folder, &NoCipher), NOW);
    assert!(archived.unwrap().is_none());
    // What is not there is no archive.
    let none = [bundle("transfer:u", &["nothing"])];
    assert!(
        store
            .archive_documents(of, &none, (&folder, &NoCipher), NOW)
            .unwrap()
            .is_none()
    );
    // Another one of the same segment has a name of its own.
    let more = [bundle("transfer:t", &["d3"])];
    let archived = store
        .archive_documents(of, &more, (&folder, &NoCipher), NOW)
        .unwrap();
    let (second, _) = archived.unwrap();
    assert_eq!(
        second.file,
        "documents-things-component-1-0000000000-1.jsonl.gz"
    );
    let found = documents_about(&store.archives().unwrap(), &folder, "transfer:t").unwrap();
    let found: Vec<(&str, &str)> = found
        .found
        .iter()
        .map(|(component, one)| (&**component, &*one.id))
        .collect();
    assert_eq!(found, [(OF.0, "d3"), (OF.0, "d4"), (OF.0, "d3")]);
    // Without its file nothing more can be taken out.
    std::fs::remove_file(folder.join(&second.file)).unwrap();
    let lost = store.archived_documents((&folder, &NoCipher), &second);
    assert!(matches!(lost, Err(RetentionError::Lost { .. })), "{lost:?}");
}

/// Has a key for each person, which can be destroyed.
#[derive(Default)]
struct Cipher {
    destroyed: AtomicBool,
}

impl DocumentCipher for Cipher {
    fn seal(&self, people: &[String], document: &str) -> Sealing {
        match people {
            [] => Sealing::Plain,
            [one] if one == "busy" => Sealing::NotNow,
            _ => Sealing::Encrypted(document.chars().rev().collect()),
        }
    }

    fn open(&self, sealed: &str) -> Option<String> {
        let is_there = !self.destroyed.load(Ordering::Relaxed);
        is_there.then(|| sealed.chars().rev().collect())
    }
}

#[test]
fn documents_that_name_people_are_encrypted() {
    let outer = rialto_files::temporary_folder().unwrap();
    let folder = outer.path().join("archives");
    let store = filled(&outer.path().join("state"));
    let of_people = |subject, ids: &[&str], people: &[&str]| Bundle {
        people: people.iter().map(|name| (*name).to_owned()).collect(),
        ..bundle(subject, ids)
    };
    let bundles = [
        of_people("quote:a", &["d1", "d2"], &["anna"]),
        of_people("quote:b", &["d3"], &["busy"]),
        bundle("transfer:t", &["d4"]),
    ];
    let cipher = Cipher::default();
    let place = (&*folder, &cipher as &dyn DocumentCipher);
    let archived = store.archive_documents((OF.0, "things", 0), &bundles, place, NOW);
    let (archive, taken) = archived.unwrap().unwrap();
    // The one that cannot be encrypted now stays.
    assert_eq!(ids(&taken), [vec!["d1", "d2"], vec!["d4"]]);
    let mut text = String::new();
    rialto_archive::lines::<RetentionError>(&folder.join(&archive.file), &mut |line| {
        text.push_str(line);
        Ok(())
    })
    .unwrap();
    assert!(text.contains(r#"{"n":4}"#), "{text}");
    assert!(
        !text.contains(r#"{"n":1}"#) && !text.contains(r#"{"n":2}"#),
        "{text}"
    );
    // After a crash: the digests are of what the component has.
    let (_, again) = store.archived_documents(place, &archive).unwrap();
    assert_eq!(again, taken);
    let archives = store.archives().unwrap();
    let found = documents_about(&archives, &folder, "quote:a")
        .unwrap()
        .found;
    let bodies: Vec<Option<String>> = found.iter().map(|(_, one)| one.body(&cipher)).collect();
    assert_eq!(bodies, [1, 2].map(|n| Some(format!(r#"{{"n":{n}}}"#))));
    // With a destroyed key nothing can be compared, so nothing is removed.
    cipher.destroyed.store(true, Ordering::Relaxed);
    let (_, rest) = store.archived_documents(place, &archive).unwrap();
    assert_eq!(ids(&rest), [vec!["d4"]]);
    assert_eq!(found[0].1.body(&cipher), None);
}

#[test]
fn a_segment_that_was_asked_for_is_noted_for_good() {
    let outer = rialto_files::temporary_folder().unwrap();
    let state = outer.path().join("state");
    {
        let store = filled(&state);
        for segment in [1, 0, 1] {
            store.note_asked(OF.0, OF.1, segment).unwrap();
        }
    }
    let store = SqliteStore::open_with(&state, FlushPolicy::default()).unwrap();
    store.recover().unwrap();
    let asked = store.segments_asked(OF.0, OF.1).unwrap();
    assert_eq!(asked.into_iter().collect::<Vec<_>>(), [0, 1]);
    assert!(store.segments_asked(OF.0, "others").unwrap().is_empty());
}

#[test]
fn a_name_outside_the_folder_is_no_archive() {
    let outer = rialto_files::temporary_folder().unwrap();
    let (state, folder) = (outer.path().join("state"), outer.path().join("archives"));
    let store = filled(&state);
    let bundles = [bundle("transfer:t", &["d1"])];
    store
        .archive_documents((OF.0, "things", 0), &bundles, (&folder, &NoCipher), NOW)
        .unwrap();
    drop(store);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(state.join("rialto.db"));
        let mut connection = options.connect().await.unwrap();
        sqlx::query("UPDATE archives SET file = '../evil.jsonl.gz'")
            .execute(&mut connection)
            .await
            .unwrap();
        connection.close().await.unwrap();
    });
    let mut snapshot = Snapshot::open(&state).unwrap();
    let refused = snapshot.archives().unwrap_err().to_string();
    assert!(refused.contains("the name of an archive"), "{refused}");
}
