//! Verifies tokens by rules that may change at any time. A token that was verified before costs a hash and a look into
//! the cache.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use parking_lot::{Mutex, RwLock};

use crate::cache::{Cache, Digest, Verified};
use crate::invalid::Invalid;
use crate::rules::Rules;
use crate::token::{Claims, Parts, TOKEN_BYTES_MAX};

/// The most tokens that the cache keeps, by default.
pub const TOKENS_MAX: usize = 20_000;

/// Verifies tokens.
pub struct Verifier {
    rules: Mutex<Option<Arc<Current>>>,
    cache: RwLock<Cache>,
}

/// Rules, with a number for each change of them.
struct Current {
    rules: Rules,
    generation: u64,
}

impl Verifier {
    /// A verifier without rules, which refuses each token. It keeps at most this number of verified tokens.
    #[must_use]
    pub fn new(tokens_max: usize) -> Self {
        Self {
            rules: Mutex::new(None),
            cache: RwLock::new(Cache::new(tokens_max)),
        }
    }

    /// Verify by these rules from now on. Tokens that were verified by other rules are judged again.
    pub fn set_rules(&self, rules: Rules) {
        let mut current = self.rules.lock();
        let before = current.as_ref();
        if before.is_some_and(|current| current.rules.is_same(&rules)) {
            return;
        }
        let generation = before.map_or(0, |current| current.generation) + 1;
        *current = Some(Arc::new(Current { rules, generation }));
    }

    /// What a token says, if its signature, issuer, audience and times are right at `now` (UTC, seconds since 1970).
    /// The state of its client and its certificate are checked by [`Claims`].
    ///
    /// # Errors
    /// Why it is refused.
    pub fn verify(&self, token: &str, now: u64) -> Result<Arc<Claims>, Invalid> {
        // Before anything is computed from it.
        if token.len() > TOKEN_BYTES_MAX {
            return Err(Invalid::TooLong);
        }
        let current = self.rules.lock().clone();
        let current = current.ok_or(Invalid::UnknownKey)?;
        let digest = sha256(token);
        let known = self.cache.read().find(&digest);
        let is_current = |known: &Arc<Verified>| known.rules == current.generation;
        let claims = match known {
            Some(known) if is_current(&known) => known.claims.clone(),
            Some(known) => self.judge_again(digest, &known, &current, now)?,
            None => self.judge(digest, token, &current, now)?,
        };
        claims.check_time(now)?;
        Ok(claims)
    }

    /// Verify a token.
    fn judge(
        &self,
        digest: Digest,
        token: &str,
        current: &Current,
        now: u64,
    ) -> Result<Arc<Claims>, Invalid> {
        let parts = Parts::of(token)?;
        let key = current.rules.keys.get(&parts.key);
        let key = key.ok_or(Invalid::UnknownKey)?;
        if !key.verifies(parts.message.as_bytes(), &parts.signature) {
            return Err(Invalid::Signature);
        }
        let claims = Arc::new(parts.claims()?);
        claims.check_rules(&current.rules)?;
        claims.check_time(now)?;
        let verified = Verified {
            claims: claims.clone(),
            key_id: parts.key.into(),
            key: key.clone(),
            rules: current.generation,
        };
        self.cache.write().keep(digest, verified, now);
        Ok(claims)
    }

    /// Judge a token that was verified by other rules: its signature is right if its key is still the same.
    fn judge_again(
        &self,
        digest: Digest,
        known: &Verified,
        current: &Current,
        now: u64,
    ) -> Result<Arc<Claims>, Invalid> {
        match current.rules.keys.get(&*known.key_id) {
            None => return Err(Invalid::UnknownKey),
            Some(key) if *key != known.key => return Err(Invalid::Signature),
            Some(_) => {}
        }
        known.claims.check_rules(&current.rules)?;
        let verified = Verified {
            claims: known.claims.clone(),
            key_id: known.key_id.clone(),
            key: known.key.clone(),
            rules: current.generation,
        };
        self.cache.write().keep(digest, verified, now);
        Ok(known.claims.clone())
    }

    #[cfg(test)]
    fn known(&self) -> usize {
        self.cache.read().len()
    }
}

impl Default for Verifier {
    fn default() -> Self {
        Self::new(TOKENS_MAX)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier")
    }
}

fn sha256(token: &str) -> Digest {
    let mut bytes = Digest::default();
    bytes.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
    bytes
}

#[cfg(test)]
#[path = "../tests/all/issuer.rs"]
mod issuer;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::issuer::{Issuer, NOW};
    use super::*;

    #[test]
    fn cache_is_bounded_and_forgets_expired_tokens() {
        let issuer = Issuer::new();
        let verifier = Verifier::new(3);
        verifier.set_rules(issuer.rules());
        let token = |n: u64, expires: u64| {
            let claims =
                issuer.claims_with(&[("jti", json!(n.to_string())), ("exp", json!(expires))]);
            issuer.token(&claims)
        };
        for n in 0..10 {
            verifier.verify(&token(n, NOW + 100), NOW).unwrap();
            assert!(verifier.known() <= 3);
        }
        assert_eq!(verifier.known(), 3);
        // All of them are over: the next one stays alone.
        verifier.verify(&token(10, NOW + 900), NOW + 500).unwrap();
        assert_eq!(verifier.known(), 1);
        // What is refused is not kept.
        verifier.verify(&token(11, NOW), NOW + 500).unwrap_err();
        assert_eq!(verifier.known(), 1);
    }

    #[test]
    fn same_rules_are_no_change() {
        let issuer = Issuer::new();
        let verifier = Verifier::default();
        let generation = || {
            verifier
                .rules
                .lock()
                .as_ref()
                .map(|current| current.generation)
        };
        for _ in 0..3 {
            verifier.set_rules(issuer.rules());
            assert_eq!(generation(), Some(1));
        }
        verifier.set_rules(Issuer::new().rules());
        assert_eq!(generation(), Some(2));
    }
}
