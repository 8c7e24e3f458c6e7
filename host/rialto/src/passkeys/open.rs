//! Challenges that wait for a browser's response, in memory. Their number is bounded for each person.

use std::sync::Arc;

use parking_lot::Mutex;
use rialto_engine::Timestamp;
use rialto_webauthn::options;

/// How long a challenge waits, in milliseconds.
pub const LIFETIME_MS: u64 = 300_000;
/// The most challenges of a person. A further one removes the oldest.
pub const OPEN_MAX: usize = 16;

/// A challenge that was given to a person.
#[derive(Clone, Debug)]
pub struct Challenge {
    /// Its id: random, so that nobody guesses it.
    pub id: String,
    /// The person.
    pub person: Arc<str>,
    /// What authenticators know the person by; base64url.
    pub handle: String,
    /// The random bytes that the authenticator signs; base64url.
    pub bytes: String,
    /// When it was given.
    pub given: Timestamp,
    /// When its time is over.
    pub expires: Timestamp,
}

impl Challenge {
    /// The challenge as browsers are told it.
    #[must_use]
    pub fn told(&self) -> options::Challenge<'_> {
        options::Challenge {
            bytes: &self.bytes,
            seconds: LIFETIME_MS / 1_000,
        }
    }
}

/// Challenges, and what each is for.
pub struct Open<T>(Mutex<Vec<(Challenge, T)>>);

impl<T> Default for Open<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Open<T> {
    /// Add a challenge. Returns its id.
    pub fn add(&self, now: Timestamp, challenge: Challenge, what: T) -> String {
        let mut all = self.0.lock();
        all.retain(|(one, _)| now < one.expires);
        let own = |(one, _): &(Challenge, T)| one.person == challenge.person;
        if all.iter().filter(|one| own(one)).count() >= OPEN_MAX
            && let Some(oldest) = all.iter().position(own)
        {
            all.remove(oldest);
        }
        let id = challenge.id.clone();
        all.push((challenge, what));
        id
    }

    /// Take a person's challenge out.
    pub fn take(&self, now: Timestamp, person: &str, id: &str) -> Option<(Challenge, T)> {
        self.take_if(now, person, id, |_| true)
    }

    /// Take a person's challenge out if it is for this.
    pub fn take_if(
        &self,
        now: Timestamp,
        person: &str,
        id: &str,
        fits: impl FnOnce(&T) -> bool,
    ) -> Option<(Challenge, T)> {
        let mut all = self.0.lock();
        let place = all.iter().position(|(one, _)| is(one, now, person, id))?;
        fits(&all[place].1).then(|| all.remove(place))
    }

    /// Take all challenges of a person out.
    pub fn remove_all(&self, person: &str) {
        self.0.lock().retain(|(one, _)| *one.person != *person);
    }
}

impl<T: Clone> Open<T> {
    /// A person's challenge, and what it is for.
    pub fn get(&self, now: Timestamp, person: &str, id: &str) -> Option<(Challenge, T)> {
        let all = self.0.lock();
        let found = all.iter().find(|(one, _)| is(one, now, person, id));
        found.cloned()
    }
}

fn is(one: &Challenge, now: Timestamp, person: &str, id: &str) -> bool {
    one.id == id && *one.person == *person && now < one.expires
}
