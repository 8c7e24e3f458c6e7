//! Random sequences of groups, as an engine would write them, against the model.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};
use rialto_engine::CollectionId;
use rialto_engine::store::{DocumentWrite, Group, ScanRange, StoredReminder};

use crate::Backend;
use crate::model::Model;
use crate::samples::{
    IDS, collection, dead_letter, delivery, group, outbound, put, reminder, remove,
};
use crate::session::{Session, compare_scan};

/// Sequences tried; each has up to [`STEPS_MAX`] steps.
const SEQUENCES: u32 = 40;
const STEPS_MAX: usize = 30;
const COLLECTIONS: u32 = 3;

/// What one turn of a group does. An [`Index`] picks one of those that are there.
#[derive(Clone, Debug)]
enum Change {
    Put(u32, Index, u32),
    Remove(u32, Index),
    Deliver,
    Made(Index),
    GivenUp(Index),
    Retried(Index),
    Dropped(Index),
    Remind(Index),
    Cancel(Index),
    Send,
    Reported(Index),
}

#[derive(Clone, Debug)]
enum Step {
    Write(Vec<Change>),
    Scan(u32, Index, Option<Index>, u32),
    Reopen,
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<Index>;
    let collection = || 1..=COLLECTIONS;
    prop_oneof![
        6 => (collection(), index(), any::<u32>()).prop_map(|(c, id, body)| Change::Put(c, id, body)),
        3 => (collection(), index()).prop_map(|(c, id)| Change::Remove(c, id)),
        3 => Just(Change::Deliver),
        2 => index().prop_map(Change::Made),
        1 => index().prop_map(Change::GivenUp),
        1 => index().prop_map(Change::Retried),
        1 => index().prop_map(Change::Dropped),
        2 => index().prop_map(Change::Remind),
        1 => index().prop_map(Change::Cancel),
        2 => Just(Change::Send),
        2 => index().prop_map(Change::Reported),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let scan = (
        1..=COLLECTIONS,
        any::<Index>(),
        any::<Option<Index>>(),
        1..20u32,
    );
    prop_oneof![
        8 => vec(change(), 0..12).prop_map(Step::Write),
        3 => scan.prop_map(|(c, from, to, limit)| Step::Scan(c, from, to, limit)),
        1 => Just(Step::Reopen),
    ]
}

/// What the engine remembers between groups: numbers that it has given out.
#[derive(Default)]
struct Engine {
    lsn: u64,
    next_id: u64,
    versions: BTreeMap<(u32, &'static str), u64>,
    collections: u32,
}

impl Engine {
    /// The next group. What it removes was written by a group before; of a document and a reminder it
    /// has the last change only.
    fn group(&mut self, model: &Model, changes: &[Change]) -> Group {
        self.lsn += 1 + changes.len() as u64;
        let mut next = group(self.lsn);
        let mut documents: BTreeMap<(u32, &str), DocumentWrite> = BTreeMap::new();
        let mut reminders: BTreeMap<&str, Option<StoredReminder>> = BTreeMap::new();
        let (mut pending, mut sent, mut dead) = (
            model.delivery_ids(),
            model.outbound_ids(),
            model.dead_letter_ids(),
        );
        for change in changes {
            match change {
                Change::Put(c, id, body) => {
                    let key = (*c, *id.get(&IDS));
                    let write = put(key.0, key.1, self.version(key), &body.to_string());
                    documents.insert(key, write);
                    while self.collections < *c {
                        self.collections += 1;
                        next.collections.push(collection(self.collections));
                    }
                }
                Change::Remove(c, id) => {
                    let key = (*c, *id.get(&IDS));
                    documents.insert(key, remove(key.0, key.1, self.version(key)));
                }
                Change::Deliver => next.deliveries_added.push(delivery(self.fresh())),
                Change::Made(which) => next.deliveries_removed.extend(take(&mut pending, which)),
                Change::GivenUp(which) => {
                    let id = take(&mut pending, which);
                    next.deliveries_removed.extend(id);
                    next.dead_letters_added.extend(id.map(dead_letter));
                }
                Change::Retried(which) => {
                    let id = take(&mut dead, which);
                    next.dead_letters_removed.extend(id);
                    let again = id.map(|_| delivery(self.fresh()));
                    next.deliveries_added.extend(again);
                }
                Change::Dropped(which) => next.dead_letters_removed.extend(take(&mut dead, which)),
                Change::Remind(id) => {
                    let id = *id.get(&IDS);
                    let set = reminder("one", id, self.fresh());
                    reminders.insert(id, Some(set));
                }
                Change::Cancel(id) => {
                    reminders.insert(*id.get(&IDS), None);
                }
                Change::Send => next.outbound_added.push(outbound(self.fresh())),
                Change::Reported(which) => next.outbound_removed.extend(take(&mut sent, which)),
            }
        }
        next.documents = documents.into_values().collect();
        for (id, set) in reminders {
            match set {
                Some(set) => next.reminders_set.push(set),
                None => next.reminders_removed.push(("one".into(), id.into())),
            }
        }
        next.next_id = self.next_id + 1;
        next
    }

    fn fresh(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn version(&mut self, key: (u32, &'static str)) -> u64 {
        let version = self.versions.entry(key).or_default();
        *version += 1;
        *version
    }
}

/// Take one of these away, if there is one.
fn take(ids: &mut Vec<u64>, which: &Index) -> Option<u64> {
    (!ids.is_empty()).then(|| ids.swap_remove(which.index(ids.len())))
}

/// After every step all that can be read, after every opening all that is given back.
pub fn any_sequence_of_groups_gives_what_the_model_gives<P: Backend>() {
    let config = Config {
        cases: SEQUENCES,
        // A failure prints its steps; a file beside the sources would be this crate's, not the
        // backend's.
        failure_persistence: None,
        ..Config::default()
    };
    let steps = vec(step(), 1..STEPS_MAX);
    let ran = TestRunner::new(config).run(&steps, |steps| {
        let mut session = Session::<P>::default();
        let mut engine = Engine::default();
        for step in &steps {
            match step {
                Step::Write(changes) => {
                    let next = engine.group(&session.model, changes);
                    session.write(&next);
                    session.compare();
                }
                Step::Scan(c, from, to, limit) => {
                    let range = ScanRange {
                        from: (*from.get(&IDS)).to_owned(),
                        to: to.map(|to| (*to.get(&IDS)).to_owned()),
                    };
                    let (store, model) = (session.store(), &session.model);
                    compare_scan(store, model, CollectionId(*c), &range, *limit);
                }
                Step::Reopen => session.reopen(),
            }
        }
        session.reopen();
        Ok(())
    });
    if let Err(failure) = ran {
        panic!("{failure}");
    }
}
