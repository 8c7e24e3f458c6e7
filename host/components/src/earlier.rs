//! Releases that were current before and stay ready: their rules judge what was agreed while they were in force. They are
//! bounded in number. What was rolled back never judges again, unless it becomes current again.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::release::Release;

/// How many releases stay ready.
pub const KEPT_MAX: usize = 8;

/// What there is of a release that is not current.
#[derive(Clone)]
pub(crate) enum Earlier {
    /// It is ready.
    Ready(Arc<Release>),
    /// It was rolled back.
    Withdrawn,
    /// It is not ready: there were too many since, or it never was current.
    NotKept,
}

/// The releases that stay ready.
#[derive(Default)]
pub struct EarlierReleases {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The current one: a turn that began under the one before may ask for it.
    current: Option<Arc<Release>>,
    /// The one that was current last comes last.
    kept: Vec<Arc<Release>>,
    withdrawn: BTreeSet<u64>,
}

impl State {
    fn keep(&mut self, release: Arc<Release>) {
        self.kept.retain(|kept| kept.number != release.number);
        self.kept.push(release);
        if self.kept.len() > KEPT_MAX {
            self.kept.remove(0);
        }
    }

    /// A release has become current instead of another one.
    fn replaced(&mut self, before: u64, by: u64) {
        self.withdrawn.extend(by.saturating_add(1)..=before);
        self.withdrawn.remove(&by);
        self.kept
            .retain(|kept| kept.number != by && !self.withdrawn.contains(&kept.number));
    }
}

impl EarlierReleases {
    /// A release becomes current, perhaps instead of another one. That one's contexts serve nothing any more, so their idle
    /// instances are given up.
    pub(crate) fn begins(&self, release: Arc<Release>) {
        let number = release.number;
        let mut state = self.state.lock();
        let before = state.current.replace(release);
        let Some(before) = before.filter(|before| before.number != number) else {
            return;
        };
        state.replaced(before.number, number);
        if !state.withdrawn.contains(&before.number) {
            state.keep(before.clone());
        }
        drop(state);
        for member in &before.members {
            // The first look marks them, and the second one drops them.
            member.give_up_unused();
            member.give_up_unused();
        }
    }

    /// Remember which releases were rolled back before a start.
    pub fn withdraw(&self, numbers: BTreeSet<u64>) {
        self.state.lock().withdrawn = numbers;
    }

    /// Keep a release of before a start ready.
    pub fn keep(&self, release: Arc<Release>) {
        self.state.lock().keep(release);
    }

    /// The releases that are ready.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Release>> {
        self.state.lock().kept.clone()
    }

    pub(crate) fn get(&self, number: u64) -> Earlier {
        let state = self.state.lock();
        if state.withdrawn.contains(&number) {
            return Earlier::Withdrawn;
        }
        let mut kept = state.kept.iter().chain(&state.current);
        let found = kept.find(|release| release.number == number);
        found.map_or(Earlier::NotKept, |found| Earlier::Ready(found.clone()))
    }
}
