//! Answers of calls that only read, to be given again without a call.
//!
//! A component's function often does nothing but read a few documents, and most of its work is to decode them. Its answer
//! then depends on its arguments, on these documents and on the release. So an answer is remembered with what was read for
//! it, and given again as long as each of these documents has the same body. The turn reads them all the same: its budget
//! and its conflicts with other turns are those of a call.
//!
//! What a component did not get from storage or configuration makes an answer one that is not remembered: see
//! [`Guest::acts`](crate::guest::Guest::acts). Nor are calls remembered of a component that imports WASI, or that is told
//! who calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use foldhash::HashMap;
use parking_lot::Mutex;
use rialto_engine::{DocumentKey, Interrupt, Name, Turn};
use rialto_values::Values;

use crate::guest::Active;

/// Bytes of all answers of one component, with what was read for them. Beyond it, all are forgotten.
const BYTES_MAX: usize = 4 << 20;
/// Bytes of one answer, with what was read for it.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Bytes of an answer beside those of its texts, roughly.
const ENTRY: usize = 256;
/// Documents that were read for one answer.
const READ_MAX: usize = 16;

/// The credit of a function whose answers are often given again. Without credit its answers are not looked for.
const CREDIT_MAX: i32 = 64;
/// What an answer costs that was not known.
const UNKNOWN: i32 = 1;
/// What an answer costs that cannot be remembered.
const UNFIT: i32 = 16;
/// What an answer brings that is given again.
const GIVEN: i32 = 8;
/// How many calls a function without credit is left alone before it is tried again, and its credit then.
const LEFT_ALONE: i32 = 4_096;
const TRIED_AGAIN: i32 = 32;

/// What a component has read for an answer, in order.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    documents: Vec<(DocumentKey, Option<Name>)>,
    /// Whether it has done anything else.
    acts: bool,
}

impl Reading {
    /// Something happened for which an answer must not be remembered.
    pub fn acts(&mut self) {
        self.acts = true;
    }

    /// What was read for a part of the answer.
    fn extend(&mut self, part: Self) {
        self.acts |= part.acts;
        self.documents.extend(part.documents);
    }
}

impl Active {
    /// The component with the turn has read a document.
    pub(crate) fn has_read(&mut self, key: DocumentKey, body: Option<&Name>) {
        let Some(reading) = &mut self.reading else {
            return;
        };
        if self.turn.has_written(&key) || reading.documents.len() == READ_MAX {
            reading.acts();
        } else if !reading.acts {
            reading.documents.push((key, body.cloned()));
        }
    }

    /// What was read for an answer to the component with the turn, whose own answer may depend on it.
    pub(crate) fn has_been_answered(&mut self, read: Option<Reading>) {
        if let Some(reading) = &mut self.reading {
            match read {
                Some(part) => reading.extend(part),
                None => reading.acts(),
            }
        }
    }
}

/// An answer, and what was read for it.
#[derive(Debug)]
pub(crate) struct Answer {
    documents: Vec<(DocumentKey, Option<Name>)>,
    pub results: Values,
    /// Roughly, with the call.
    bytes: usize,
}

impl Answer {
    /// Whether it is the answer now: reads the same documents in the same order. A call would read them up to the first
    /// that has changed.
    pub fn is_current(&self, turn: &mut Turn) -> Result<bool, Interrupt> {
        for (key, seen) in &self.documents {
            if turn.has_written(key) || turn.read(key.clone())? != *seen {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What was read for it.
    pub fn reading(&self) -> Reading {
        Reading {
            documents: self.documents.clone(),
            acts: false,
        }
    }
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    /// The function's index among the exports.
    pub export: usize,
    /// Its arguments.
    pub given: Values,
}

/// The remembered answers of one component of a release.
#[derive(Default)]
pub(crate) struct Answers {
    kept: Mutex<Kept>,
    /// The credit of each function that it exports, less [`CREDIT_MAX`].
    credits: Vec<AtomicI32>,
}

#[derive(Default)]
struct Kept {
    answers: HashMap<Call, Arc<Answer>>,
    bytes: usize,
}

impl Kept {
    fn add(&mut self, call: Call, answer: Answer) {
        if self.bytes + answer.bytes > BYTES_MAX {
            *self = Self::default();
        }
        self.bytes += answer.bytes;
        if let Some(before) = self.answers.insert(call, Arc::new(answer)) {
            self.bytes -= before.bytes;
        }
    }
}

impl Answers {
    /// No answers yet, of a component that exports so many functions.
    pub fn of(exports: usize) -> Self {
        Self {
            kept: Mutex::default(),
            credits: (0..exports).map(|_| AtomicI32::new(0)).collect(),
        }
    }

    /// Whether answers of this function are worth looking for.
    pub fn are_worth_it(&self, export: usize) -> bool {
        let Some(credit) = self.credits.get(export) else {
            return false;
        };
        let has = credit.load(Ordering::Relaxed) + CREDIT_MAX;
        if has > 0 {
            return true;
        }
        let next = if has > -LEFT_ALONE {
            has - 1
        } else {
            TRIED_AGAIN
        };
        credit.store(next - CREDIT_MAX, Ordering::Relaxed);
        false
    }

    /// The answer that was given last.
    pub fn find(&self, call: &Call) -> Option<Arc<Answer>> {
        self.kept.lock().answers.get(call).cloned()
    }

    /// An answer was given again.
    pub fn was_given(&self, export: usize) {
        self.change(export, GIVEN);
    }

    /// Remember the answer to a call, if it may be. Returns what was read for it.
    pub fn keep(
        &self,
        mut call: Call,
        reading: Option<Reading>,
        results: &Values,
    ) -> Option<Reading> {
        let export = call.export;
        let reading = reading.filter(|reading| !reading.acts);
        let Some(reading) = reading else {
            self.change(export, -UNFIT);
            return None;
        };
        self.change(export, -UNKNOWN);
        let documents = reading.documents.iter();
        let read = documents.map(|(key, body)| key.id.len() + body.as_ref().map_or(0, |b| b.len()));
        let bytes = ENTRY + call.given.bytes().len() + read.sum::<usize>() + results.bytes().len();
        if bytes <= ANSWER_BYTES_MAX {
            call.given.shrink();
            let answer = Answer {
                documents: reading.documents.clone(),
                results: results.clone(),
                bytes,
            };
            self.kept.lock().add(call, answer);
        }
        Some(reading)
    }

    fn change(&self, export: usize, by: i32) {
        if let Some(credit) = self.credits.get(export) {
            let has = credit.load(Ordering::Relaxed);
            credit.store(has.saturating_add(by).min(0), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    /// A string's bytes.
    fn text(text: &str) -> Values {
        Values::default().behind(text).unwrap()
    }

    fn call(given: &str) -> Call {
        Call {
            export: 0,
            given: text(given),
        }
    }

    #[test]
    fn answers_take_no_more_memory_than_they_may() {
        let answers = Answers::of(1);
        let long = "x".repeat(ANSWER_BYTES_MAX / 2);
        for n in 0..1_000 {
            let call = call(&(n % 300).to_string());
            answers.keep(call, Some(Reading::default()), &text(&long));
            let kept = answers.kept.lock();
            let bytes: usize = kept.answers.values().map(|answer| answer.bytes).sum();
            assert_eq!(kept.bytes, bytes);
            assert!(bytes <= BYTES_MAX && !kept.answers.is_empty());
        }
        for n in 0..50_000 {
            answers.keep(call(&n.to_string()), Some(Reading::default()), &text(""));
            let kept = answers.kept.lock().answers.len();
            assert!(
                kept <= BYTES_MAX / ENTRY,
                "small ones take memory too: {kept}"
            );
        }
        let too_long = "x".repeat(ANSWER_BYTES_MAX);
        let last = call("last");
        let read = answers.keep(last.clone(), Some(Reading::default()), &text(&too_long));
        assert!(read.is_some() && answers.find(&last).is_none());
    }

    #[test]
    fn a_function_without_credit_is_left_alone_and_tried_again() {
        let answers = Answers::of(1);
        let tries = |most: usize| (0..most).take_while(|_| answers.are_worth_it(0)).count();
        assert_eq!(tries(10), 10);
        for _ in 0..CREDIT_MAX / UNFIT {
            let acted = Reading {
                acts: true,
                ..Reading::default()
            };
            assert!(answers.keep(call(""), Some(acted), &text("")).is_none());
        }
        let alone = (0..2 * LEFT_ALONE).take_while(|_| !answers.are_worth_it(0));
        assert_eq!(alone.count(), usize::try_from(LEFT_ALONE).unwrap() + 1);
        for _ in 0..100 {
            answers.was_given(0);
        }
        assert_eq!(
            answers.credits[0].load(Ordering::Relaxed),
            0,
            "no more than the most"
        );
        assert!(!answers.are_worth_it(1), "there is no such function");
    }
}
