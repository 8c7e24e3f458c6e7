//! The answers of a payee, so that a repeated request gets exactly the same answer.
//!
//! A switch delivers at least once. Without this memory a second delivery would be answered with another
//! timestamp, which is a different message.

use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::limits::REMEMBERED_ANSWERS_MAX;

/// The latest answers, by the path of their callback.
#[derive(Debug, Default)]
pub(super) struct Memory {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    answers: HashMap<Box<str>, Bytes>,
    order: VecDeque<Box<str>>,
}

impl Memory {
    /// The answer that was given before, if it is remembered.
    pub(super) fn recall(&self, path: &str) -> Option<Bytes> {
        self.state.lock().answers.get(path).cloned()
    }

    /// Remembers an answer. The oldest one is forgotten for it when the memory is full.
    pub(super) fn remember(&self, path: &str, answer: Bytes) {
        let mut state = self.state.lock();
        if state.answers.insert(path.into(), answer).is_none() {
            state.order.push_back(path.into());
            if state.order.len() > REMEMBERED_ANSWERS_MAX
                && let Some(oldest) = state.order.pop_front()
            {
                state.answers.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_answers_are_forgotten_first() {
        let memory = Memory::default();
        for n in 0..=REMEMBERED_ANSWERS_MAX {
            memory.remember(&n.to_string(), Bytes::from(n.to_string()));
        }
        assert_eq!(memory.recall("0"), None);
        assert_eq!(memory.recall("1"), Some(Bytes::from_static(b"1")));
        assert_eq!(memory.state.lock().answers.len(), REMEMBERED_ANSWERS_MAX);
    }
}
