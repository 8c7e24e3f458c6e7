//! The memory of signatures: who has had a key, and which signed messages were accepted. Each is a small
//! document, so that senders do not conflict. Only messages that must not be repeated write one.
//!
//! - `signers`: one for each name that had a key, a participant's or a future one's. It stays: if a key is
//!   lost, strangers must not be able to use its owner's name.
//! - `signed-messages`: one for each message without an id for idempotency. It is needed while the message's
//!   `Date` is recent, and removed later: an addition removes old ones.

use rialto_sdk::canonical::sha256_hex;
use rialto_sdk::documents::{Collection, Range, Store};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fmt;

/// Key owners, by the ids of participants or future participants.
const SIGNERS: Collection<Signer> = Collection::new("signers");
/// Accepted signed messages, by [`Fingerprint`].
const TAKEN: Collection<Taken> = Collection::new("signed-messages");

/// A message is remembered for this many times the window of its `Date`: a clock that is set back, or a longer
/// window, makes it recent again.
const WINDOWS_KEPT: u64 = 2;
/// How often an addition removes old messages, and how many at most: twice as many as were added in between, so
/// that old ones do not accumulate.
const SWEPT_AT_ONCE: u32 = 32;

/// A key owner.
#[derive(Debug, Serialize, Deserialize)]
struct Signer {
    /// When the key was first seen, in milliseconds since 1970.
    since: u64,
}

/// An accepted signed message.
#[derive(Debug, Serialize, Deserialize)]
struct Taken {
    /// When, in milliseconds since 1970.
    at: u64,
    /// The signer.
    signer: String,
}

/// The identity of a signed message, without its signature: on P-256, anybody can make a second signature from
/// a known one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// The protected `Date`, in milliseconds since 1970.
    date: u64,
    /// SHA-256 of the encoded protected header and the body.
    digest: String,
}

impl Fingerprint {
    /// The fingerprint of a message with this protected header (base64url), which protects this `Date`, and
    /// this body.
    #[must_use]
    pub fn of(protected_header: &str, body: &str, date: u64) -> Self {
        // Base64url has no dot, so the header's end is unambiguous.
        let digest = sha256_hex(format!("{protected_header}.{body}").as_bytes());
        Self { date, digest }
    }

    /// The id of its document, ordered by `Date` within its shard.
    fn id(&self) -> String {
        let Self { date, digest } = self;
        format!("{}/{}/{digest}", self.shard(), seconds(*date))
    }

    /// A removal reads one of sixteen shards, so that concurrent removals seldom conflict.
    fn shard(&self) -> &str {
        &self.digest[..1]
    }

    /// Whether its addition removes old ones: one in sixteen does.
    fn sweeps(&self) -> bool {
        self.digest[1..].starts_with('0')
    }
}

/// Seconds since 1970 as text that sorts by time.
fn seconds(instant: u64) -> String {
    format!("{:012}", instant / 1_000)
}

/// The memory, as a trait.
pub trait Memory: fmt::Debug {
    /// Whether a participant is known to have had a key.
    fn has_had_key(&self, signer: &str) -> bool;
    /// Records a key owner. Returns whether it was on disk already.
    fn note_key(&self, signer: &str, now: u64) -> bool;
    /// When this message was accepted, in milliseconds since 1970; none if it never was.
    fn taken_at(&self, message: &Fingerprint) -> Option<u64>;
    /// Records an accepted message of a signer. `Date` was checked with this window, in milliseconds before and
    /// after now.
    fn take(&self, message: &Fingerprint, signer: &str, now: u64, window: u64);
}

/// The memory in documents.
#[derive(Debug, Default)]
pub struct Documents<S>(pub RefCell<S>);

impl<S: Store + fmt::Debug> Memory for Documents<S> {
    fn has_had_key(&self, signer: &str) -> bool {
        let mut store = self.0.borrow_mut();
        SIGNERS.within(&mut *store).get(signer).is_some()
    }

    fn note_key(&self, signer: &str, now: u64) -> bool {
        let mut store = self.0.borrow_mut();
        let signers = SIGNERS.within(&mut *store);
        !signers.insert_if_absent(signer, &Signer { since: now })
    }

    fn taken_at(&self, message: &Fingerprint) -> Option<u64> {
        let mut store = self.0.borrow_mut();
        let taken = TAKEN.within(&mut *store).get(&message.id());
        taken.map(|taken| taken.at)
    }

    fn take(&self, message: &Fingerprint, signer: &str, now: u64, window: u64) {
        let mut store = self.0.borrow_mut();
        if message.sweeps() {
            let before = now.saturating_sub(window.saturating_mul(WINDOWS_KEPT));
            sweep(&mut *store, message.shard(), before);
        }
        let taken = Taken {
            at: now,
            signer: signer.to_owned(),
        };
        // A repeated answer about a party keeps the time of the first.
        TAKEN
            .within(&mut *store)
            .insert_if_absent(&message.id(), &taken);
    }
}

/// Removes messages of a shard with a `Date` before an instant.
fn sweep(store: &mut impl Store, shard: &str, before: u64) {
    let from = format!("{shard}/");
    let to = format!("{shard}/{}", seconds(before));
    let range = Range::Between((from, to));
    let page = TAKEN.within(store).scan(&range, None, SWEPT_AT_ONCE);
    for (id, _) in page.documents {
        TAKEN.within(store).delete(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rialto_sdk::documents;

    const WINDOW: u64 = 300_000;

    fn memory() -> Documents<documents::Memory> {
        Documents::default()
    }

    fn message(n: u64, date: u64) -> Fingerprint {
        Fingerprint::of("AAAA", &n.to_string(), date)
    }

    #[test]
    fn key_owner_is_remembered_from_the_first_key_on() {
        let memory = memory();
        assert!(!memory.has_had_key("payerfsp"));
        assert!(!memory.note_key("payerfsp", 5));
        assert!(memory.note_key("payerfsp", 7));
        assert!(memory.has_had_key("payerfsp"));
        assert!(!memory.has_had_key("payeefsp"));
        let stored: Vec<String> = memory.0.borrow().0.values().cloned().collect();
        assert_eq!(stored, [r#"{"since":5}"#]);
    }

    #[test]
    fn signed_message_is_identified_by_header_body_and_date() {
        let memory = memory();
        let first = Fingerprint::of("AAAA", "{}", 1_000);
        memory.take(&first, "payerfsp", 1_500, WINDOW);
        memory.take(&first, "payerfsp", 2_500, WINDOW);
        assert_eq!(memory.taken_at(&first), Some(1_500));
        for other in [
            Fingerprint::of("AAAB", "{}", 1_000),
            Fingerprint::of("AAAA", "{ }", 1_000),
            Fingerprint::of("AAA", "A.{}", 1_000),
        ] {
            assert_eq!(memory.taken_at(&other), None, "{other:?}");
        }
    }

    #[test]
    fn remembered_message_is_removed_only_after_its_date() {
        let memory = memory();
        let start = 1_795_305_600_000;
        let kept = WINDOW * WINDOWS_KEPT;
        let mut most = 0;
        // One a second for an hour.
        for n in 0..3_600 {
            let now = start + n * 1_000;
            memory.take(&message(n, now), "payerfsp", now, WINDOW);
            // Those whose `Date` counts are all known.
            let oldest = n.saturating_sub(WINDOW / 1_000);
            let known = memory.taken_at(&message(oldest, start + oldest * 1_000));
            assert!(known.is_some(), "{n}");
            most = most.max(memory.0.borrow().0.len());
        }
        // What counts, and as much again as is not yet swept at most.
        let alive = usize::try_from(kept / 1_000).unwrap();
        assert!(most < alive * 2, "{most}");
    }

    #[test]
    fn ids_are_in_the_order_of_their_dates() {
        let earlier = message(1, 999_999_999_000).id();
        let later = message(1, 1_000_000_000_000).id();
        assert!(earlier[1..] < later[1..], "{earlier} {later}");
    }
}
