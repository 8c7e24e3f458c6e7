//! Tests of reads and scans of documents.

use rialto_engine::CollectionId;
use rialto_engine::store::{ScanRange, Store};

use crate::Backend;
use crate::samples::{AWKWARD, IDS, group, put, remove};
use crate::session::{Session, compare_scan};

const THINGS: CollectionId = CollectionId(1);

/// A collection with all of [`IDS`], beside others.
fn with_ids<P: Backend>() -> Session<P> {
    let mut session = Session::<P>::default();
    let mut all = group(1);
    for (n, id) in IDS.iter().enumerate() {
        all.documents.push(put(1, id, 1, &n.to_string()));
        all.documents.push(put(2, id, 1, "\"of another\""));
    }
    session.write(&all);
    session
}

fn ids<P: Backend>(session: &Session<P>, range: &ScanRange, limit: u32) -> Vec<String> {
    let found = session.store().scan(THINGS, range, limit);
    let found = found.expect("a collection can be scanned");
    found.iter().map(|d| d.id.to_string()).collect()
}

/// Over several groups, with the version that the last one gave it.
pub fn a_document_is_read_as_it_was_written_last<P: Backend>() {
    let mut session = Session::<P>::default();
    for n in 1..=5 {
        let mut next = group(n);
        next.documents = vec![put(1, "a", n * 3, &n.to_string()), put(1, "b", n, "0")];
        session.write(&next);
        let found = session.store().read(THINGS, "a").expect("it can be read");
        let found = found.expect("it is there");
        assert_eq!((found.version, &*found.body), (n * 3, &*n.to_string()));
        session.compare();
    }
    assert_eq!(session.store().read(THINGS, "c"), Ok(None));
    assert_eq!(session.store().read(CollectionId(9), "a"), Ok(None));
    session.reopen();
}

/// From reads, scans and visits, and it can be written again.
pub fn a_removed_document_is_gone<P: Backend>() {
    let mut session = with_ids::<P>();
    let mut removal = group(2);
    removal.documents = vec![remove(1, "a", 2), remove(1, "é", 2), put(1, "new", 1, "1")];
    session.write(&removal);
    assert_eq!(session.store().read(THINGS, "a"), Ok(None));
    session.compare();
    session.reopen();
    let mut again = group(3);
    again.documents = vec![put(1, "a", 3, "\"again\""), remove(1, "new", 2)];
    session.write(&again);
    session.compare();
    session.reopen();
}

/// The longest ones that the engine lets through, empty ones, and what is awkward in SQL, JSON,
/// files and other encodings.
pub fn ids_and_bodies_may_hold_any_text<P: Backend>() {
    use rialto_engine::limits::{BODY_BYTES_MAX, ID_BYTES_MAX};
    let mut session = Session::<P>::default();
    let mut all = group(1);
    let printable = AWKWARD.replace('\u{0}', "");
    all.documents = vec![
        put(1, &"z".repeat(ID_BYTES_MAX), 1, "0"),
        put(1, &"\u{10ffff}".repeat(ID_BYTES_MAX / 4), 1, "1"),
        put(1, &printable, u64::from(u32::MAX) + 1, AWKWARD),
        put(u32::MAX, " ", 1, ""),
        put(1, "long", 1, &"\"é\",".repeat(BODY_BYTES_MAX / 5)),
    ];
    session.write(&all);
    session.compare();
    session.reopen();
}

/// From one id to another, from one to the end, by a prefix, nothing at all.
pub fn a_scan_is_in_byte_order_within_its_range<P: Backend>() {
    let session = with_ids::<P>();
    let mut ordered = IDS.to_vec();
    ordered.sort_unstable_by_key(|id| id.as_bytes());
    assert_eq!(ids(&session, &ScanRange::all(), 1_000), ordered);
    assert_eq!(
        ids(&session, &ScanRange::prefix("a"), 1_000),
        ["a", "a/b", "ab", "abc"]
    );
    let last = ScanRange::prefix("\u{10ffff}");
    assert_eq!(ids(&session, &last, 1_000), ["\u{10ffff}"]);
    for from in IDS.iter().chain(&["", "aa", "zz"]) {
        let store = session.store();
        let range = ScanRange {
            from: (*from).to_owned(),
            to: None,
        };
        compare_scan(store, &session.model, THINGS, &range, 1_000);
        compare_scan(
            store,
            &session.model,
            THINGS,
            &ScanRange::prefix(from),
            1_000,
        );
        for to in IDS {
            let to = Some(to.to_owned());
            let range = ScanRange {
                to,
                ..range.clone()
            };
            compare_scan(store, &session.model, THINGS, &range, 1_000);
        }
    }
}

/// Also where more documents than the limit have been removed or written again before.
pub fn a_scan_gives_the_first_documents_up_to_its_limit<P: Backend>() {
    let mut session = with_ids::<P>();
    let scans = |session: &Session<P>| {
        for limit in [1, 2, 5, 15, 16, 17, 1_000] {
            let (store, model) = (session.store(), &session.model);
            compare_scan(store, model, THINGS, &ScanRange::all(), limit);
            compare_scan(store, model, THINGS, &ScanRange::prefix("a"), limit);
        }
    };
    scans(&session);
    let mut ordered = IDS.to_vec();
    ordered.sort_unstable();
    let mut change = group(2);
    change.documents = ordered[..6].iter().map(|id| remove(1, id, 2)).collect();
    change.documents.push(put(1, ordered[7], 2, "\"new\""));
    change.documents.push(put(1, "a-new", 1, "\"new\""));
    session.write(&change);
    scans(&session);
    session.reopen();
    scans(&session);
}

/// Neighbours by number, with the same ids.
pub fn collections_do_not_mix<P: Backend>() {
    let mut session = with_ids::<P>();
    let mut change = group(2);
    change.documents = vec![remove(1, "a", 2), put(2, "b", 2, "2"), put(3, "a", 1, "3")];
    session.write(&change);
    session.compare();
    let of_none = session
        .store()
        .scan(CollectionId(4), &ScanRange::all(), 1_000);
    assert_eq!(of_none, Ok(vec![]));
    session.reopen();
}
