//! The release that comes into force next, at an instant.
//!
//! Each turn compares that instant with its own. The first turn from it on makes the release current. Turns before it, also
//! those that look later because they run again, run on the release before.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use rialto_engine::Timestamp;

use crate::release::Release;

/// A release that comes into force at an instant.
pub struct Next {
    /// The instant of the first turn that runs on it.
    pub from: Timestamp,
    /// The release; none while it is not ready.
    pub release: Option<Arc<Release>>,
    /// The release of the turns before.
    pub before: Option<Arc<Release>>,
}

/// What an instant says about the release of a turn.
pub(crate) enum InForce {
    /// The current one is.
    Current,
    /// This one, which was current before.
    Before(Arc<Release>),
    /// The next one, of this number, which must become current.
    Next(u64),
    /// The next one, which is not ready. It should be since this instant.
    NotReady(Timestamp),
}

/// The next release, if there is one.
#[derive(Default)]
pub(crate) struct NextRelease {
    next: ArcSwapOption<Next>,
    changing: Mutex<()>,
}

impl NextRelease {
    pub(crate) fn set(&self, next: Option<Next>) {
        let _changing = self.changing.lock();
        self.next.store(next.map(Arc::new));
    }

    pub(crate) fn at(&self, now: Timestamp) -> InForce {
        let next = self.next.load();
        let Some(next) = &*next else {
            return InForce::Current;
        };
        match (&next.release, &next.before) {
            (None, _) if next.from <= now => InForce::NotReady(next.from),
            (Some(release), _) if next.from <= now => InForce::Next(release.number),
            (_, Some(before)) => InForce::Before(before.clone()),
            (_, None) => InForce::Current,
        }
    }

    /// Expect no release any more if another one than the expected one becomes current. Without this the next turn would
    /// bring the expected one back.
    pub(crate) fn is_overtaken_by(&self, number: u64) {
        let _changing = self.changing.lock();
        let next = self.next.load();
        let expected = next.as_ref().and_then(|next| next.release.as_ref());
        if expected.is_some_and(|expected| expected.number != number) {
            self.next.store(None);
        }
    }

    /// Make the next release current, unless another one is expected by now.
    pub(crate) fn begins(&self, make_current: impl FnOnce(Arc<Release>)) {
        let _changing = self.changing.lock();
        let next = self.next.load_full();
        if let Some(release) = next.as_ref().and_then(|next| next.release.clone()) {
            make_current(release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_that_is_not_ready_refuses_turns_from_its_instant() {
        let next = NextRelease::default();
        assert!(matches!(next.at(Timestamp(10)), InForce::Current));
        next.set(Some(Next {
            from: Timestamp(10),
            release: None,
            before: None,
        }));
        assert!(matches!(next.at(Timestamp(9)), InForce::Current));
        for at in [10, 11] {
            let found = next.at(Timestamp(at));
            assert!(matches!(found, InForce::NotReady(Timestamp(10))), "{at}");
        }
        next.set(None);
        assert!(matches!(next.at(Timestamp(11)), InForce::Current));
    }
}
