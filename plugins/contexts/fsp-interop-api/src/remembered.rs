//! What an instance remembers from one turn to the next, so that it does not ask again: who is a
//! participant, and of whom it is on disk that it had a key. Both are facts that nothing ends: who was let
//! in stays in, and who had a key has had it. What an instance does not remember it asks and reads as ever.
//! An instance is of one release.

use crate::jws::memory::{Fingerprint, Memory};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::thread::LocalKey;

/// Most names that are remembered of a kind; an id has 32 characters at most.
const NAMES_MAX: usize = 4_096;

type Names = RefCell<BTreeSet<String>>;

thread_local! {
    static PARTICIPANTS: Names = const { RefCell::new(BTreeSet::new()) };
    static SIGNERS: Names = const { RefCell::new(BTreeSet::new()) };
}

/// Whether this is so of a name: asked until it is.
fn is_so(names: &'static LocalKey<Names>, name: &str, ask: impl FnOnce() -> bool) -> bool {
    if names.with_borrow(|names| names.contains(name)) {
        return true;
    }
    let is_so = ask();
    if is_so {
        names.with_borrow_mut(|names| {
            if names.len() < NAMES_MAX {
                names.insert(name.to_owned());
            }
        });
    }
    is_so
}

/// Whether somebody is a participant: `ask` tells, of whom no earlier turn has seen it.
pub fn is_participant(fsp: &str, ask: impl FnOnce() -> bool) -> bool {
    is_so(&PARTICIPANTS, fsp, ask)
}

/// A memory that is not told again of keys that it has noted.
#[derive(Debug)]
pub struct Once<M>(pub M);

impl<M: Memory> Memory for Once<M> {
    fn has_had_key(&self, signer: &str) -> bool {
        self.0.has_had_key(signer)
    }

    fn note_key(&self, signer: &str, now: u64) -> bool {
        // What this turn notes itself is not remembered: the turn may be run again.
        is_so(&SIGNERS, signer, || self.0.note_key(signer, now))
    }

    fn taken_at(&self, message: &Fingerprint) -> Option<u64> {
        self.0.taken_at(message)
    }

    fn take(&self, message: &Fingerprint, signer: &str, now: u64, window: u64) {
        self.0.take(message, signer, now, window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jws::memory::Documents;
    use std::cell::Cell;

    #[test]
    fn who_is_a_participant_is_asked_until_it_is_one() {
        let asked = Cell::new(0);
        let ask = |answer: bool| {
            is_participant("payerfsp", || {
                asked.set(asked.get() + 1);
                answer
            })
        };
        assert!(!ask(false));
        assert!(!ask(false));
        assert!(ask(true));
        assert!(ask(false), "who was let in stays in");
        assert_eq!(asked.get(), 3);
        assert!(!is_participant("payeefsp", || false));
    }

    #[test]
    fn no_more_names_are_remembered_than_there_is_room_for() {
        for n in 0..=NAMES_MAX {
            assert!(is_participant(&n.to_string(), || true));
        }
        assert!(is_participant("0", || false));
        assert!(!is_participant(&NAMES_MAX.to_string(), || false));
    }

    #[test]
    fn key_is_noted_once_until_it_is_on_disk() {
        type Stored = Documents<rialto_sdk::documents::Memory>;
        let memory = Once(Stored::default());
        // The turn that writes it is run again, say, and what it wrote is gone.
        assert!(!memory.note_key("payerfsp", 5));
        memory.0.0.borrow_mut().0.clear();
        assert!(!memory.note_key("payerfsp", 6));
        assert!(memory.has_had_key("payerfsp"));
        // A later one finds it, and none after that looks.
        assert!(memory.note_key("payerfsp", 7));
        memory.0.0.borrow_mut().0.clear();
        assert!(memory.note_key("payerfsp", 8));
        assert!(memory.0.0.borrow().0.is_empty());
    }
}
