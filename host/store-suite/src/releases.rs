//! Tests of releases in a store. Their changes are durable at once, and only the newest writer may make them.

use rialto_engine::Timestamp;
use rialto_engine::store::{Store as _, StoreError};
use rialto_store::{HostStore, StoredActivation, StoredRelease};

use crate::Backend;
use crate::session::Session;

/// A change of what is kept.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Keep a component under this digest.
    Component(&'static str),
    /// Keep a release.
    Release(u64),
    /// The activation of a release begins; 0 when it is given up.
    Activating(u64),
    /// A release is current, and no activation is under way.
    Current(u64),
}

/// What is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Kept {
    /// Those of these digests that there are.
    components: Vec<&'static str>,
    /// The numbers of the releases, in their order.
    releases: Vec<u64>,
    /// Those that were ever current.
    once_current: Vec<u64>,
    /// The one whose activation is under way; 0 for none.
    activating: u64,
    /// The current one; 0 before the first.
    current: u64,
    /// The activations: their releases, what was current before, and whether they were done.
    activations: Vec<(u64, u64, bool)>,
}

const DIGESTS: [&str; 2] = ["sha256:first", "sha256:late"];

/// A release.
pub(crate) fn release(number: u64) -> StoredRelease {
    StoredRelease {
        number,
        digest: format!("sha256:{number}"),
        document: "{}".to_owned(),
        created_at: Timestamp(number),
        note: String::new(),
        maker: "anna".to_owned(),
        approver: None,
        waits_on: None,
    }
}

fn make(store: &dyn HostStore, change: Change) -> Result<(), StoreError> {
    match change {
        Change::Component(digest) => store.add_component(digest, b"\0asm"),
        Change::Release(number) => store.add_release(&release(number)),
        Change::Activating(0) => store.set_activating_release(0),
        Change::Activating(number) => store.begin_activation(&StoredActivation {
            release: number,
            before: 0,
            at: Timestamp(number),
            person: "anna".to_owned(),
            operator: String::new(),
            note: String::new(),
            done: false,
        }),
        Change::Current(number) => store.set_current_release(number),
    }
}

fn kept(store: &dyn HostStore) -> Kept {
    let read = || {
        let mut kept = Kept {
            releases: store.releases()?.iter().map(|r| r.number).collect(),
            once_current: store.releases_once_current()?,
            activating: store.activating_release()?,
            current: store.current_release()?,
            ..Kept::default()
        };
        for digest in DIGESTS {
            if store.component(digest)?.is_some() {
                kept.components.push(digest);
            }
        }
        let activations = store.activations()?.into_iter();
        kept.activations = activations.map(|a| (a.release, a.before, a.done)).collect();
        Ok::<_, StoreError>(kept)
    };
    read().expect("what is kept can be read")
}

fn first(store: &dyn HostStore) {
    for change in [
        Change::Component(DIGESTS[0]),
        Change::Component(DIGESTS[0]),
        Change::Release(1),
        Change::Activating(1),
        Change::Current(1),
        Change::Release(2),
        Change::Activating(2),
    ] {
        make(store, change).unwrap_or_else(|e| panic!("{change:?}: {e}"));
    }
}

fn after_first() -> Kept {
    Kept {
        components: vec![DIGESTS[0]],
        releases: vec![1, 2],
        once_current: vec![1],
        activating: 2,
        current: 1,
        activations: vec![(1, 0, true), (2, 1, false)],
    }
}

/// Also when it is opened again. A component twice is kept once; a release twice is refused.
pub fn what_is_kept_is_as_it_was_changed_last<B: Backend<Store: HostStore>>() {
    let mut session = Session::<B>::default();
    assert_eq!(kept(session.store()), Kept::default());
    first(session.store());
    assert_eq!(kept(session.store()), after_first());
    make(session.store(), Change::Release(2)).expect_err("the number is taken");
    session.reopen();
    assert_eq!(kept(session.store()), after_first());
    make(session.store(), Change::Current(2)).expect("it becomes current");
    let current = Kept {
        once_current: vec![1, 2],
        activating: 0,
        current: 2,
        activations: vec![(1, 0, true), (2, 1, true)],
        ..after_first()
    };
    assert_eq!(kept(session.store()), current);
}

/// Else a host that lost its store could make a release current in it.
pub fn a_store_that_was_taken_over_keeps_nothing_more<B: Backend<Store: HostStore>>() {
    let session = Session::<B>::default();
    first(session.store());
    let newer = session.backend.intrude();
    newer.recover().expect("a store recovers");
    for change in [
        Change::Component(DIGESTS[1]),
        Change::Release(3),
        Change::Activating(1),
        Change::Activating(0),
        Change::Current(2),
    ] {
        let changed = make(session.store(), change);
        assert_eq!(changed, Err(StoreError::Fenced), "{change:?}");
    }
    assert_eq!(kept(&newer), after_first());
    make(&newer, Change::Current(2)).expect("the newer one changes it");
}
