//! Tests of what a store returns when it is opened again.

use rialto_engine::Name;
use rialto_engine::store::Store as _;

use crate::Backend;
use crate::samples::{collection, dead_letter, delivery, group, outbound, put, reminder, remove};
use crate::session::Session;

/// Also after it was opened twice, with nothing written in between.
pub fn a_new_store_has_nothing<P: Backend>() {
    let mut session = Session::<P>::default();
    session.compare();
    session.reopen();
}

/// Something of every kind, each with something in every field.
pub fn written_items_are_returned<P: Backend>() {
    let mut session = Session::<P>::default();
    let mut first = group(3);
    first.collections = (1..=3).map(collection).collect();
    first.documents = vec![put(1, "a", 1, "{}"), put(2, "a", 7, "[1,2]")];
    // Not in the order of their ids: deliveries come back in it.
    first.deliveries_added = [12, 10, 11, 13, 14].map(delivery).to_vec();
    first.reminders_set = vec![reminder("one", "x", 1), reminder("two", "x", 2)];
    first.outbound_added = [21, 20, 22].map(outbound).to_vec();
    first.dead_letters_added = vec![dead_letter(30), dead_letter(31)];
    session.write(&first);
    session.compare();
    session.reopen();

    let mut second = group(4);
    second.collections = vec![collection(4)];
    second.documents = vec![put(4, "b", 1, "true")];
    second.deliveries_added = vec![delivery(15)];
    second.reminders_set = vec![reminder("one", "y", 3)];
    second.outbound_added = vec![outbound(23)];
    second.dead_letters_added = vec![dead_letter(32)];
    session.write(&second);
    session.reopen();
    session.reopen();
}

/// Made deliveries, cancelled reminders, reported requests: those of an earlier group, before and
/// after the store was opened again.
pub fn finished_items_are_not_returned<P: Backend>() {
    let mut session = Session::<P>::default();
    let mut begun = group(1);
    begun.deliveries_added = (10..16).map(delivery).collect();
    begun.reminders_set = ["x", "y", "z"].map(|id| reminder("one", id, 1)).to_vec();
    begun.outbound_added = (20..24).map(outbound).collect();
    session.write(&begun);

    let mut done = group(2);
    done.deliveries_removed = vec![11, 14];
    done.reminders_removed = vec![("one".into(), "y".into())];
    done.outbound_removed = vec![20];
    session.write(&done);
    session.reopen();

    let mut done = group(3);
    done.deliveries_removed = vec![10, 12, 13, 15];
    done.reminders_removed = vec![("one".into(), "z".into()), ("one".into(), "x".into())];
    done.outbound_removed = vec![23, 21, 22];
    session.write(&done);
    session.reopen();
}

/// Each start is counted for what was pending then, also when nothing was written since.
pub fn a_delivery_has_its_redelivery_count<P: Backend>() {
    let backend = P::new();
    let starts = |store: &P::Store| -> Vec<(u64, u32)> {
        let recovered = store.recover().expect("a store recovers");
        let deliveries = recovered.deliveries.iter();
        deliveries.map(|d| (d.id, d.redeliveries)).collect()
    };
    let store = backend.open();
    assert_eq!(starts(&store), []);
    let mut first = group(1);
    first.deliveries_added = vec![delivery(10), delivery(11)];
    store.write(&first).expect("a group is written");
    drop(store);
    for start in 1..=2 {
        assert_eq!(starts(&backend.open()), [(10, start), (11, start)]);
    }
    let store = backend.open();
    assert_eq!(starts(&store), [(10, 3), (11, 3)]);
    let mut second = group(2);
    second.deliveries_added = vec![delivery(12)];
    second.deliveries_removed = vec![11];
    store.write(&second).expect("a group is written");
    drop(store);
    assert_eq!(starts(&backend.open()), [(10, 4), (12, 1)]);
}

/// Each start is counted for what was due by then and not for what was not, until it is set again.
pub fn a_reminder_has_its_redelivery_count<P: Backend>() {
    let backend = P::new();
    let due = reminder("one", "x", 1).due;
    let starts = |store: &P::Store, later: u64| -> Vec<(String, String, u32)> {
        store.recover().expect("a store recovers");
        let counted = store
            .count_overdue(due + later)
            .expect("starts are counted");
        let text = |name: Name| name.to_string();
        let counted = counted.into_iter();
        counted.map(|(c, id, n)| (text(c), text(id), n)).collect()
    };
    let is = |id: &str, starts| ("one".to_owned(), id.to_owned(), starts);
    let store = backend.open();
    assert_eq!(starts(&store, 0), []);
    let mut set = group(1);
    set.reminders_set = vec![reminder("one", "x", 1), reminder("one", "y", 10)];
    store.write(&set).expect("a group is written");
    drop(store);
    assert_eq!(starts(&backend.open(), 0), [is("x", 1)]);
    assert_eq!(starts(&backend.open(), 9), [is("x", 2), is("y", 1)]);
    let store = backend.open();
    assert_eq!(starts(&store, 9), [is("x", 3), is("y", 2)]);
    let mut again = group(2);
    again.reminders_set = vec![reminder("one", "x", 2)];
    again.reminders_removed = vec![("one".into(), "y".into())];
    store.write(&again).expect("a group is written");
    drop(store);
    assert_eq!(starts(&backend.open(), 9), [is("x", 1)]);
}

/// Also after the store was opened again.
pub fn the_poison_candidate_is_stored_until_it_is_cleared<P: Backend>() {
    let backend = P::new();
    let noted = || {
        let store = backend.open();
        store.recover().expect("a store recovers");
        let noted = store.poison_candidate().expect("it can be read");
        (store, noted)
    };
    for candidate in [None, Some("first"), Some("an \"awkward\" one"), None] {
        let (store, _) = noted();
        store.note_poison_candidate(candidate).expect("it is noted");
        drop(store);
        assert_eq!(noted().1.as_deref(), candidate);
    }
}

/// One component's reminder is not another's, though they have one id.
pub fn a_reminder_set_again_returns_as_set_last<P: Backend>() {
    let mut session = Session::<P>::default();
    let mut set = group(1);
    set.reminders_set = vec![reminder("one", "x", 1), reminder("two", "x", 2)];
    session.write(&set);
    let mut again = group(2);
    again.reminders_set = vec![reminder("one", "x", 3)];
    session.write(&again);
    session.reopen();
    let mut cancelled = group(3);
    cancelled.reminders_removed = vec![("one".into(), "x".into())];
    session.write(&cancelled);
    let mut again = group(4);
    again.reminders_set = vec![reminder("one", "x", 5)];
    session.write(&again);
    session.reopen();
}

/// Turns that only read have positions in the log, too.
pub fn a_group_without_changes_still_moves_the_log<P: Backend>() {
    let mut session = Session::<P>::default();
    session.write(&group(5));
    session.reopen();
    session.write(&group(9));
    session.write(&group(10));
    session.reopen();
}

/// A group merges its turns: what was made and removed in one of them shows only as removed.
pub fn a_removal_of_what_never_was_changes_nothing<P: Backend>() {
    let mut session = Session::<P>::default();
    let mut some = group(1);
    some.documents = vec![put(1, "a", 1, "1"), put(1, "c", 1, "1")];
    some.reminders_set = vec![reminder("one", "x", 1)];
    some.dead_letters_added = vec![dead_letter(30)];
    session.write(&some);
    let mut removal = group(2);
    removal.documents = vec![remove(1, "b", 2), remove(2, "a", 2)];
    removal.reminders_removed = vec![("one".into(), "y".into()), ("two".into(), "x".into())];
    removal.dead_letters_removed = vec![31];
    session.write(&removal);
    session.compare();
    session.reopen();
}

/// In the group that gives a delivery up it goes from the pending ones to the dead letters. A retry
/// makes a delivery with an id of its own.
pub fn a_dead_letter_stays_until_it_is_decided<P: Backend>() {
    let mut session = Session::<P>::default();
    let mut begun = group(1);
    begun.deliveries_added = (10..13).map(delivery).collect();
    session.write(&begun);
    let mut parked = group(2);
    parked.deliveries_removed = vec![10, 11, 12];
    parked.dead_letters_added = [11, 10, 12].map(dead_letter).to_vec();
    session.write(&parked);
    session.compare();
    session.reopen();
    let mut settled = group(3);
    settled.dead_letters_removed = vec![11];
    settled.deliveries_added = vec![delivery(50)];
    session.write(&settled);
    session.compare();
    session.reopen();
    let mut dropped = group(4);
    dropped.dead_letters_removed = vec![10, 12];
    session.write(&dropped);
    session.compare();
    session.reopen();
}
