//! Tests that a group is atomic: of any size, and never partly visible.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rialto_engine::CollectionId;
use rialto_engine::store::{ScanRange, Store};

use crate::Backend;
use crate::samples::{dead_letter, delivery, group, outbound, put, reminder, remove};
use crate::session::Session;

/// More rows of every kind than one statement of a database takes, written and removed again.
pub fn a_big_group_is_written_whole<P: Backend>() {
    const MANY: u64 = 9_000;
    let mut session = Session::<P>::default();
    let mut big = group(1);
    big.documents = (0..MANY)
        .map(|n| put(1, &format!("id-{n}"), 1, "{\"some\":\"body\"}"))
        .collect();
    big.deliveries_added = (0..MANY).map(delivery).collect();
    big.reminders_set = (0..MANY)
        .map(|n| reminder("one", &format!("id-{n}"), n))
        .collect();
    big.outbound_added = (0..MANY).map(outbound).collect();
    big.dead_letters_added = (0..MANY).map(|n| dead_letter(MANY + n)).collect();
    session.write(&big);
    session.compare();
    session.reopen();

    let mut undone = group(2);
    let (gone, written) = (0..MANY).partition::<Vec<_>, _>(|n| !n.is_multiple_of(100));
    undone.documents = gone
        .iter()
        .map(|n| remove(1, &format!("id-{n}"), 2))
        .chain(written.iter().map(|n| put(1, &format!("id-{n}"), 2, "2")))
        .collect();
    undone.deliveries_removed = gone.clone();
    undone.reminders_removed = gone
        .iter()
        .map(|n| ("one".into(), format!("id-{n}").into()))
        .collect();
    undone.outbound_removed = gone.clone();
    undone.dead_letters_removed = gone.iter().map(|n| MANY + n).collect();
    session.write(&undone);
    session.compare();
    session.reopen();
}

/// While one thread writes groups, others scan: every scan is of one moment, and not of one before
/// the last write that had returned when it began.
pub fn readers_see_a_group_whole_and_see_what_was_acknowledged<P: Backend>() {
    const GROUPS: u64 = 150;
    const DOCUMENTS: usize = 20;
    let things = CollectionId(1);
    let mut session = Session::<P>::default();
    let next = |n: u64| {
        let mut next = group(n);
        next.documents = (0..DOCUMENTS)
            .map(|at| put(1, &format!("id-{at:02}"), n, &n.to_string()))
            .collect();
        // One that is there after every other group only.
        next.documents.push(match n.is_multiple_of(2) {
            true => put(1, "even", n, "0"),
            false => remove(1, "even", n),
        });
        next
    };
    session.write(&next(1));
    let acknowledged = AtomicU64::new(1);
    let over = AtomicBool::new(false);
    let store = session.store();
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    while !over.load(Ordering::Acquire) {
                        let at_least = acknowledged.load(Ordering::Acquire);
                        let one = store.read(things, "id-07").expect("it can be read");
                        let one = one.expect("it is there").version;
                        assert!(one >= at_least, "{one} is older than {at_least}");
                        let seen = store.scan(things, &ScanRange::all(), 1_000);
                        let seen = seen.expect("they can be scanned");
                        let version = seen.last().expect("they are there").version;
                        assert!(version >= one, "{version} is older than {one}");
                        assert!(seen.iter().all(|d| d.version == version), "{seen:?}");
                        let even = usize::from(version.is_multiple_of(2));
                        assert_eq!(seen.len(), DOCUMENTS + even, "{seen:?}");
                    }
                })
            })
            .collect();
        // A reader that fails ends the writing, too.
        for n in 2..=GROUPS {
            store.write(&next(n)).expect("it can be written");
            acknowledged.store(n, Ordering::Release);
            if readers.iter().any(|reader| reader.is_finished()) {
                break;
            }
        }
        over.store(true, Ordering::Release);
    });
}
