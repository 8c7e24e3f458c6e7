//! Tests of releases in a store. Their changes are durable at once, and only the newest writer may make them.

use rialto_engine::store::{Store as _, StoreError};

use crate::Backend;
use crate::session::Session;

/// A change of what is kept.
#[derive(Clone, Copy, Debug)]
pub enum Change {
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
pub struct Kept {
    /// Those of these digests that there are.
    pub components: Vec<&'static str>,
    /// The numbers of the releases, in their order.
    pub releases: Vec<u64>,
    /// The one whose activation is under way; 0 for none.
    pub activating: u64,
    /// The current one; 0 before the first.
    pub current: u64,
}

/// A backend whose store keeps releases.
pub trait Releases: Backend {
    /// Make a change.
    ///
    /// # Errors
    /// As the store has it.
    fn change(store: &Self::Store, change: Change) -> Result<(), StoreError>;

    /// What there is now, of components with these digests.
    ///
    /// # Errors
    /// As the store has it.
    fn kept(store: &Self::Store, digests: &[&'static str]) -> Result<Kept, StoreError>;
}

const DIGESTS: [&str; 2] = ["sha256:first", "sha256:late"];

fn kept<P: Releases>(store: &P::Store) -> Kept {
    P::kept(store, &DIGESTS).expect("what is kept can be read")
}

fn first<P: Releases>(store: &P::Store) {
    for change in [
        Change::Component(DIGESTS[0]),
        Change::Component(DIGESTS[0]),
        Change::Release(1),
        Change::Activating(1),
        Change::Current(1),
        Change::Release(2),
        Change::Activating(2),
    ] {
        P::change(store, change).unwrap_or_else(|e| panic!("{change:?}: {e}"));
    }
}

fn after_first() -> Kept {
    Kept {
        components: vec![DIGESTS[0]],
        releases: vec![1, 2],
        activating: 2,
        current: 1,
    }
}

/// Also when it is opened again. A component twice is kept once; a release twice is refused.
pub fn what_is_kept_is_as_it_was_changed_last<P: Releases>() {
    let mut session = Session::<P>::default();
    assert_eq!(kept::<P>(session.store()), Kept::default());
    first::<P>(session.store());
    assert_eq!(kept::<P>(session.store()), after_first());
    P::change(session.store(), Change::Release(2)).expect_err("the number is taken");
    session.reopen();
    assert_eq!(kept::<P>(session.store()), after_first());
    P::change(session.store(), Change::Current(2)).expect("it becomes current");
    let current = Kept {
        activating: 0,
        current: 2,
        ..after_first()
    };
    assert_eq!(kept::<P>(session.store()), current);
}

/// Else a host that lost its store could make a release current in it.
pub fn a_store_that_was_taken_over_keeps_nothing_more<P: Releases>() {
    let session = Session::<P>::default();
    first::<P>(session.store());
    let newer = session.backend.intrude();
    newer.recover().expect("a store recovers");
    for change in [
        Change::Component(DIGESTS[1]),
        Change::Release(3),
        Change::Activating(1),
        Change::Activating(0),
        Change::Current(2),
    ] {
        let changed = P::change(session.store(), change);
        assert_eq!(changed, Err(StoreError::Fenced), "{change:?}");
    }
    assert_eq!(kept::<P>(&newer), after_first());
    P::change(&newer, Change::Current(2)).expect("the newer one changes it");
}
