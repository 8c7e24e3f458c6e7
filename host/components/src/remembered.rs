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
use wasmtime::component::Val;

use crate::guest::Active;
use crate::values::size;

/// Bytes of all answers of one component, with what was read for them. Beyond it, all are forgotten.
const BYTES_MAX: usize = 4 << 20;
/// Bytes of one answer, with what was read for it.
const ANSWER_BYTES_MAX: usize = 64 << 10;
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
    pub results: Vec<Val>,
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

/// A call: the function's index among the exports, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call(Vec<u8>);

impl Call {
    /// None if an argument is a number with a fraction: two that are not equal may be the same to a component.
    pub fn new(export: usize, params: &[Val]) -> Option<Self> {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend(export.to_le_bytes());
        params
            .iter()
            .try_for_each(|value| append(&mut bytes, value))?;
        Some(Self(bytes))
    }
}

/// Append a value of a known type, so that different values have different bytes.
fn append(bytes: &mut Vec<u8>, value: &Val) -> Option<()> {
    fn text(bytes: &mut Vec<u8>, text: &str) {
        bytes.extend(text.len().to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    fn all(bytes: &mut Vec<u8>, values: &[Val]) -> Option<()> {
        bytes.extend(values.len().to_le_bytes());
        values.iter().try_for_each(|value| append(bytes, value))
    }
    fn payload(bytes: &mut Vec<u8>, payload: Option<&Val>) -> Option<()> {
        bytes.push(u8::from(payload.is_some()));
        payload.map_or(Some(()), |value| append(bytes, value))
    }
    match value {
        Val::Bool(v) => bytes.push(u8::from(*v)),
        Val::S8(v) => bytes.extend(v.to_le_bytes()),
        Val::U8(v) => bytes.push(*v),
        Val::S16(v) => bytes.extend(v.to_le_bytes()),
        Val::U16(v) => bytes.extend(v.to_le_bytes()),
        Val::S32(v) => bytes.extend(v.to_le_bytes()),
        Val::U32(v) => bytes.extend(v.to_le_bytes()),
        Val::S64(v) => bytes.extend(v.to_le_bytes()),
        Val::U64(v) => bytes.extend(v.to_le_bytes()),
        Val::Char(v) => bytes.extend(u32::from(*v).to_le_bytes()),
        Val::String(v) | Val::Enum(v) => text(bytes, v),
        Val::List(values) | Val::Tuple(values) => all(bytes, values)?,
        Val::Record(fields) => {
            for (_, value) in fields {
                append(bytes, value)?;
            }
        }
        Val::Variant(case, inner) => {
            text(bytes, case);
            payload(bytes, inner.as_deref())?;
        }
        Val::Option(inner) => payload(bytes, inner.as_deref())?,
        Val::Result(result) => {
            let (Ok(inner) | Err(inner)) = result;
            bytes.push(u8::from(result.is_ok()));
            payload(bytes, inner.as_deref())?;
        }
        Val::Flags(names) => {
            bytes.extend(names.len().to_le_bytes());
            names.iter().for_each(|name| text(bytes, name));
        }
        _ => return None,
    }
    Some(())
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

    /// The call, if answers of this function are worth looking for.
    pub fn call(&self, export: usize, params: &[Val]) -> Option<Call> {
        let credit = self.credits.get(export)?;
        let has = credit.load(Ordering::Relaxed) + CREDIT_MAX;
        if has > 0 {
            return Call::new(export, params);
        }
        let next = if has > -LEFT_ALONE {
            has - 1
        } else {
            TRIED_AGAIN
        };
        credit.store(next - CREDIT_MAX, Ordering::Relaxed);
        None
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
        export: usize,
        call: Call,
        reading: Option<Reading>,
        results: &[Val],
    ) -> Option<Reading> {
        let reading = reading.filter(|reading| !reading.acts);
        let Some(reading) = reading else {
            self.change(export, -UNFIT);
            return None;
        };
        self.change(export, -UNKNOWN);
        let documents = reading.documents.iter();
        let read = documents.map(|(key, body)| key.id.len() + body.as_ref().map_or(0, |b| b.len()));
        let bytes = call.0.len() + read.sum::<usize>() + results.iter().map(size).sum::<usize>();
        if bytes <= ANSWER_BYTES_MAX {
            let answer = Answer {
                documents: reading.documents.clone(),
                results: results.to_vec(),
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

    fn text(text: &str) -> Val {
        Val::String(text.to_owned())
    }

    fn call(params: &[Val]) -> Call {
        Call::new(0, params).unwrap()
    }

    fn some(value: Val) -> Val {
        Val::Option(Some(Box::new(value)))
    }

    #[test]
    fn different_arguments_of_a_type_are_different_calls() {
        let list = |texts: &[&str]| Val::List(texts.iter().map(|one| text(one)).collect());
        let record = |a: &str, b: &str| {
            Val::Record(vec![("a".to_owned(), text(a)), ("b".to_owned(), text(b))])
        };
        let variant =
            |case: &str, inner: Option<Val>| Val::Variant(case.to_owned(), inner.map(Box::new));
        let same_type = [
            vec![text(""), text("a"), text("ab")],
            vec![
                list(&[]),
                list(&[""]),
                list(&["", ""]),
                list(&["a", "b"]),
                list(&["ab"]),
            ],
            vec![record("a", "b"), record("ab", ""), record("", "ab")],
            vec![
                Val::Option(None),
                some(Val::Option(None)),
                some(some(text(""))),
            ],
            vec![
                variant("a", None),
                variant("b", None),
                variant("b", Some(text(""))),
            ],
            vec![
                Val::Result(Ok(None)),
                Val::Result(Err(None)),
                Val::Result(Err(Some(Box::new(Val::Bool(false))))),
                Val::Result(Err(Some(Box::new(Val::Bool(true))))),
            ],
            vec![Val::U64(0), Val::U64(256), Val::U64(u64::MAX)],
            vec![Val::Flags(Vec::new()), Val::Flags(vec!["a".to_owned()])],
        ];
        for values in same_type {
            for (n, one) in values.iter().enumerate() {
                for (m, other) in values.iter().enumerate() {
                    let [one, other] = [one, other].map(|value| call(std::slice::from_ref(value)));
                    assert_eq!(one == other, n == m, "{values:?}: {n} and {m}");
                }
            }
        }
        assert_ne!(call(&[text("ab"), text("")]), call(&[text("a"), text("b")]));
        assert_ne!(Call::new(0, &[]), Call::new(1, &[]));
        assert_eq!(Call::new(0, &[Val::Float64(0.0)]), None);
    }

    #[test]
    fn answers_take_no_more_memory_than_they_may() {
        let answers = Answers::of(1);
        let long = "x".repeat(ANSWER_BYTES_MAX / 2);
        for n in 0..1_000 {
            let call = call(&[Val::U32(n % 300)]);
            answers.keep(0, call, Some(Reading::default()), &[text(&long)]);
            let kept = answers.kept.lock();
            let bytes: usize = kept.answers.values().map(|answer| answer.bytes).sum();
            assert_eq!(kept.bytes, bytes);
            assert!(bytes <= BYTES_MAX && !kept.answers.is_empty());
        }
        let too_long = "x".repeat(ANSWER_BYTES_MAX);
        let last = call(&[Val::U32(1_000)]);
        let read = answers.keep(
            0,
            last.clone(),
            Some(Reading::default()),
            &[text(&too_long)],
        );
        assert!(read.is_some() && answers.find(&last).is_none());
    }

    #[test]
    fn a_function_without_credit_is_left_alone_and_tried_again() {
        let answers = Answers::of(1);
        let tries = |most: usize| {
            (0..most)
                .take_while(|_| answers.call(0, &[]).is_some())
                .count()
        };
        assert_eq!(tries(10), 10);
        for _ in 0..CREDIT_MAX / UNFIT {
            let acted = Reading {
                acts: true,
                ..Reading::default()
            };
            assert!(answers.keep(0, call(&[]), Some(acted), &[]).is_none());
        }
        let alone = (0..2 * LEFT_ALONE).take_while(|_| answers.call(0, &[]).is_none());
        assert_eq!(alone.count(), usize::try_from(LEFT_ALONE).unwrap() + 1);
        for _ in 0..100 {
            answers.was_given(0);
        }
        assert_eq!(
            answers.credits[0].load(Ordering::Relaxed),
            0,
            "no more than the most"
        );
        assert!(answers.call(1, &[]).is_none(), "there is no such function");
    }
}
