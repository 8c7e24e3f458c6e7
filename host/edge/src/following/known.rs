//! What is known of each name, how old it is, and what must be asked.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long after its last request a name is asked about.
pub(crate) const FOLLOWED_FOR: Duration = Duration::from_secs(10);
/// How long after a question the same is not asked again for a request that waits. It is shorter than the time between
/// two regular questions.
const RECENT: Duration = Duration::from_millis(300);
/// The most names that are asked about. Requests of others wait for their answers.
const NAMES_MAX: usize = 2_000;

/// What is known of a name.
pub(crate) struct Known<V> {
    /// What the component has said of it, if anything.
    pub value: Option<V>,
    /// When the question was asked.
    pub asked: Option<Instant>,
    /// When its last request came.
    used: Instant,
}

/// What is known of those who send requests.
pub(crate) struct KnownNames<V> {
    all: HashMap<Arc<str>, Known<V>>,
    /// The names that requests wait for.
    wants: HashSet<Arc<str>>,
}

impl<V> Default for KnownNames<V> {
    fn default() -> Self {
        Self {
            all: HashMap::new(),
            wants: HashSet::new(),
        }
    }
}

/// Whether something was asked so short a time ago that it is not asked again at once.
pub(crate) fn is_recent(asked: Option<Instant>, now: Instant) -> bool {
    asked.is_some_and(|asked| now.saturating_duration_since(asked) < RECENT)
}

impl<V> KnownNames<V> {
    /// A name in which a request has come.
    pub fn of(&mut self, name: &Arc<str>, now: Instant) -> &Known<V> {
        if !self.all.contains_key(name) {
            self.make_room();
        }
        let known = self.all.entry(name.clone()).or_insert_with(|| Known {
            value: None,
            asked: None,
            used: now,
        });
        known.used = known.used.max(now);
        known
    }

    /// Forget the name that was away for the longest time, if there are too many.
    fn make_room(&mut self) {
        if self.all.len() < NAMES_MAX {
            return;
        }
        let oldest = self.all.iter().min_by_key(|(_, known)| known.used);
        if let Some(name) = oldest.map(|(name, _)| name.clone()) {
            self.all.remove(&name);
        }
    }

    /// A request waits for this name.
    pub fn want(&mut self, name: Arc<str>) {
        self.wants.insert(name);
    }

    /// Names that requests wait for. What was asked a short time ago stays for the next regular question: a client that
    /// sends many wrong requests must not cause many questions.
    pub fn wanted(&mut self, now: Instant) -> Vec<Arc<str>> {
        let (wants, all) = (&mut self.wants, &self.all);
        let asked = |name: &Arc<str>| all.get(name).and_then(|known| known.asked);
        wants
            .extract_if(|name| !is_recent(asked(name), now))
            .collect()
    }

    /// Names that must be asked about regularly: none while no requests come. Those that are away are forgotten.
    pub fn followed(&mut self, now: Instant) -> Vec<Arc<str>> {
        let is_away = |used: Instant| now.saturating_duration_since(used) > FOLLOWED_FOR;
        self.all.retain(|_, known| !is_away(known.used));
        // Names for which a request waits are among those that have sent one lately.
        self.wants.clear();
        self.all.keys().cloned().collect()
    }

    /// An answer: of these names the component has said what is found.
    pub fn answered(
        &mut self,
        asked: Instant,
        names: &[Arc<str>],
        mut found: HashMap<Arc<str>, V>,
    ) {
        for name in names {
            if let Some(known) = self.all.get_mut(name)
                && known.asked < Some(asked)
            {
                known.asked = Some(asked);
                known.value = found.remove(name);
            }
        }
    }
}
