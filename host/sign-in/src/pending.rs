//! A sign-in that is under way. The browser has it in a cookie, and the host has nothing: state, nonce and PKCE verifier
//! are codes of the cookie under a key of this process. So strangers who begin sign-ins use up no memory, and nobody but
//! this process makes a state that fits a cookie.

use data_encoding::BASE64URL_NOPAD;
use rialto_signatures::secrets::{MAC_BYTES, MacKey, same_secret};
use sha2::{Digest as _, Sha256};

/// The longest cookie, in characters.
const COOKIE_CHARS_MAX: usize = 2048;

/// A sign-in that is under way.
pub(crate) struct Pending {
    cookie: String,
    /// When it ends; seconds since 1970.
    until: u64,
    /// What the caller wanted to be told at its end.
    then: String,
}

impl Pending {
    /// A new one. The random bytes are used once.
    pub(crate) fn new(random: &[u8; 32], until: u64, then: &str) -> Self {
        let random = BASE64URL_NOPAD.encode(random);
        let coded = BASE64URL_NOPAD.encode(then.as_bytes());
        Self {
            cookie: format!("{random}.{until}.{coded}"),
            until,
            then: then.to_owned(),
        }
    }

    /// The one of a browser, if this state is of its cookie.
    pub(crate) fn of(cookie: &str, key: &MacKey, state: &str) -> Result<Self, &'static str> {
        if cookie.len() > COOKIE_CHARS_MAX {
            return Err("its cookie is too long");
        }
        if !same_secret(code(key, "state", cookie).as_bytes(), state.as_bytes()) {
            return Err("its state is not of its cookie");
        }
        // The state covers the cookie, so this process has made it.
        Self::read(cookie).ok_or("its cookie cannot be read")
    }

    fn read(cookie: &str) -> Option<Self> {
        let mut parts = cookie.split('.').skip(1);
        let until = parts.next()?.parse().ok()?;
        let then = BASE64URL_NOPAD.decode(parts.next()?.as_bytes()).ok()?;
        Some(Self {
            cookie: cookie.to_owned(),
            until,
            then: String::from_utf8(then).ok()?,
        })
    }

    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    pub(crate) fn then(self) -> String {
        self.then
    }

    pub(crate) const fn is_over(&self, now: u64) -> bool {
        now >= self.until
    }

    pub(crate) fn state(&self, key: &MacKey) -> String {
        code(key, "state", &self.cookie)
    }

    pub(crate) fn nonce(&self, key: &MacKey) -> String {
        code(key, "nonce", &self.cookie)
    }

    /// The PKCE verifier: 43 characters.
    pub(crate) fn verifier(&self, key: &MacKey) -> String {
        code(key, "verifier", &self.cookie)
    }

    /// The PKCE challenge (S256).
    pub(crate) fn challenge(&self, key: &MacKey) -> String {
        let digest: [u8; 32] = Sha256::digest(self.verifier(key)).into();
        BASE64URL_NOPAD.encode(&digest)
    }
}

fn code(key: &MacKey, what: &str, cookie: &str) -> String {
    let code: [u8; MAC_BYTES] = key.code(&[what.as_bytes(), b"\n", cookie.as_bytes()]);
    BASE64URL_NOPAD.encode(&code)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn state_belongs_to_one_cookie_of_one_process() {
        let (key, other_key) = (MacKey::new(&[1; 32]), MacKey::new(&[2; 32]));
        let pending = Pending::new(&[7; 32], 1_000, "/a");
        let (cookie, state) = (pending.cookie().to_owned(), pending.state(&key));
        let again = Pending::of(&cookie, &key, &state).unwrap();
        assert_eq!(again.verifier(&key), pending.verifier(&key));
        assert_eq!(again.nonce(&key), pending.nonce(&key));
        assert!(!again.is_over(999) && again.is_over(1_000));
        assert_eq!(again.then(), "/a");
        let other = Pending::new(&[8; 32], 1_000, "/a");
        assert!(Pending::of(other.cookie(), &key, &state).is_err());
        assert!(Pending::of(&cookie, &other_key, &state).is_err());
        assert!(Pending::of(&cookie, &key, &state[1..]).is_err());
        assert!(Pending::of(&cookie, &key, "").is_err());
        let longer = cookie.replace(".1000.", ".9000.");
        assert!(Pending::of(&longer, &key, &state).is_err());
    }

    #[test]
    fn state_nonce_and_verifier_differ() {
        let key = MacKey::new(&[1; 32]);
        let pending = Pending::new(&[7; 32], 1_000, "/");
        let (state, nonce) = (pending.state(&key), pending.nonce(&key));
        let (verifier, challenge) = (pending.verifier(&key), pending.challenge(&key));
        let all = std::collections::BTreeSet::from([&state, &nonce, &verifier, &challenge]);
        assert_eq!(all.len(), 4);
        assert_eq!(verifier.len(), 43);
    }
}
