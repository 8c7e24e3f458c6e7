//! An instance's cache across turns: which names are participants, and which key owners are on disk. Both facts
//! never end: an approved participant stays one, and a former key owner stays one. Anything else is read again.
//! An instance belongs to one release.

use crate::jws::memory::{Fingerprint, Memory};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::thread::LocalKey;

/// The most names per kind; an id has at most 32 characters.
const NAMES_MAX: usize = 4_096;

type Names = RefCell<BTreeSet<String>>;

thread_local! {
    static PARTICIPANTS: Names = const { RefCell::new(BTreeSet::new()) };
    static SIGNERS: Names = const { RefCell::new(BTreeSet::new()) };
}

/// Whether the fact holds for a name. Asks until it does.
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

/// Whether a name is a participant's. Calls `ask` if no earlier turn has found it.
pub fn is_participant(fsp: &str, ask: impl FnOnce() -> bool) -> bool {
    is_so(&PARTICIPANTS, fsp, ask)
}

/// A memory that stores each key owner once.
#[derive(Debug)]
pub struct Once<M>(pub M);

impl<M: Memory> Memory for Once<M> {
    fn has_had_key(&self, signer: &str) -> bool {
        self.0.has_had_key(signer)
    }

    fn note_key(&self, signer: &str, now: u64) -> bool {
        // An owner stored by this turn is not cached: the turn may run again.
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
        // Suppose that the turn runs again, and its write is lost.
        assert!(!memory.note_key("payerfsp", 5));
        memory.0.0.borrow_mut().0.clear();
        assert!(!memory.note_key("payerfsp", 6));
        assert!(memory.has_had_key("payerfsp"));
        // A later turn finds it, and no turn after that reads it.
        assert!(memory.note_key("payerfsp", 7));
        memory.0.0.borrow_mut().0.clear();
        assert!(memory.note_key("payerfsp", 8));
        assert!(memory.0.0.borrow().0.is_empty());
    }
}
