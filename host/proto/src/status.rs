//! The gRPC status of a function's refusal. It follows from the name of the refusal's case. The typed refusal is in the
//! status's details. The code is for simple clients and for automatic retries.

use crate::names;

/// The codes that a refusal can have, by gRPC's numbers. None of them makes a client try again by itself:
/// the same call would be refused again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// `INVALID_ARGUMENT`: the call can never be right.
    InvalidArgument = 3,
    /// `NOT_FOUND`: what it names is not there.
    NotFound = 5,
    /// `ALREADY_EXISTS`: what it would make is there.
    AlreadyExists = 6,
    /// `FAILED_PRECONDITION`: not as things are.
    FailedPrecondition = 9,
}

/// How the first word of a case says its code.
const FIRST_WORDS: &[(&str, Code)] = &[
    ("unknown", Code::NotFound),
    ("no", Code::NotFound),
    ("malformed", Code::InvalidArgument),
    ("invalid", Code::InvalidArgument),
    ("duplicate", Code::AlreadyExists),
    ("exists", Code::AlreadyExists),
];

/// The code for a case of the WIT's error type.
#[must_use]
pub fn code(case: &str) -> Code {
    let first = case.split('-').next().unwrap_or(case);
    let found = FIRST_WORDS.iter().find(|(word, _)| *word == first);
    found.map_or(Code::FailedPrecondition, |(_, code)| *code)
}

/// The case as `google.rpc.ErrorInfo` wants its reason: `EXCEEDS_LIMITS`.
#[must_use]
pub fn reason(case: &str) -> String {
    names::snake(case).to_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_of_a_case_says_its_code() {
        assert_eq!(code("unknown-account"), Code::NotFound);
        assert_eq!(code("malformed"), Code::InvalidArgument);
        assert_eq!(code("duplicate-request"), Code::AlreadyExists);
        assert_eq!(code("exceeds-limits"), Code::FailedPrecondition);
        assert_eq!(code("notable"), Code::FailedPrecondition);
        assert_eq!(reason("exceeds-limits"), "EXCEEDS_LIMITS");
    }
}
