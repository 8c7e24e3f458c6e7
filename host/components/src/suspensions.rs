//! Rules that are suspended: they are not asked, whatever release is current. Who may suspend them is decided elsewhere.

use std::collections::BTreeMap;

use arc_swap::ArcSwap;

/// The rules that are suspended, by the names of the scheme.
#[derive(Debug, Default)]
pub struct Suspensions {
    /// The end of each suspension, in milliseconds since 1970; none for one that ends when somebody ends it.
    rules: ArcSwap<BTreeMap<String, Option<u64>>>,
}

impl Suspensions {
    /// Replace all suspensions, for turns that ask a rule from now on.
    pub fn set(&self, rules: BTreeMap<String, Option<u64>>) {
        self.rules.store(rules.into());
    }

    /// Whether a rule is suspended at an instant, in milliseconds since 1970.
    #[must_use]
    pub fn suspends(&self, rule: &str, at: u64) -> bool {
        let rules = self.rules.load();
        let end = rules.get(rule);
        end.is_some_and(|end| end.is_none_or(|end| at < end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspension_ends_at_its_instant() {
        let suspensions = Suspensions::default();
        assert!(!suspensions.suspends("limits", 0));
        let rules = [("limits".to_owned(), Some(10)), ("fees".to_owned(), None)];
        suspensions.set(rules.into());
        assert!(suspensions.suspends("limits", 9) && !suspensions.suspends("limits", 10));
        assert!(suspensions.suspends("fees", u64::MAX) && !suspensions.suspends("other", 0));
        suspensions.set(BTreeMap::new());
        assert!(!suspensions.suspends("fees", 0));
    }
}
