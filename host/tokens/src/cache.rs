//! Tokens that were verified before, by their SHA-256. Verifying a signature costs far more than finding an entry here.
//! A full cache forgets the token that was verified longest ago.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::rules::Key;
use crate::token::Claims;

/// The SHA-256 of a token.
pub(crate) type Digest = [u8; 32];

/// A token with a right signature.
pub(crate) struct Verified {
    /// What it says.
    pub claims: Arc<Claims>,
    /// The id of its key.
    pub key_id: Arc<str>,
    /// The key that verified it.
    pub key: Arc<Key>,
    /// The generation of the rules that it fits.
    pub rules: u64,
}

/// The verified tokens.
pub(crate) struct Cache {
    entries: HashMap<Digest, Arc<Verified>>,
    /// The same tokens, the oldest first.
    oldest: VecDeque<Digest>,
    entries_max: usize,
}

impl Cache {
    /// An empty cache for so many tokens.
    pub fn new(entries_max: usize) -> Self {
        Self {
            entries: HashMap::new(),
            oldest: VecDeque::new(),
            entries_max: entries_max.max(1),
        }
    }

    pub fn find(&self, digest: &Digest) -> Option<Arc<Verified>> {
        self.entries.get(digest).cloned()
    }

    /// Keep a verified token. The oldest ones are forgotten if they have expired, or if the cache is full.
    pub fn keep(&mut self, digest: Digest, verified: Verified, now: u64) {
        if self.entries.insert(digest, Arc::new(verified)).is_none() {
            self.oldest.push_back(digest);
        }
        while let Some(oldest) = self.oldest.front() {
            let is_over = |verified: &Arc<Verified>| verified.claims.expires_at <= now;
            if self.entries.len() <= self.entries_max
                && !self.entries.get(oldest).is_some_and(is_over)
            {
                break;
            }
            self.entries.remove(oldest);
            self.oldest.pop_front();
        }
        assert_eq!(
            self.entries.len(),
            self.oldest.len(),
            "each token of the cache stands once in the order of their age"
        );
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}
