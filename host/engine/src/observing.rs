//! Groups that are on disk, for who looks at them afterwards.

use std::sync::Arc;

use crate::engine::Engine;
use crate::ids::CollectionId;
use crate::store::Group;

/// Looks at groups when they are on disk.
pub trait CommitObserver: Send + Sync + 'static {
    /// Look at a group. The committer calls it after it has released all outputs, and waits for it: it must be quick, and
    /// must not block.
    fn committed(&self, group: &Group);
}

impl Engine {
    /// Have all later groups looked at. The first observer stays.
    pub fn observe_commits(&self, observer: Arc<dyn CommitObserver>) {
        let _ = self.shared.commit_observer.set(observer);
    }

    /// The number of a component's collection; none before the component has named it.
    #[must_use]
    pub fn collection(&self, component: &str, name: &str) -> Option<CollectionId> {
        self.shared.collections.find(component, name)
    }
}
