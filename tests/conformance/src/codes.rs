//! The error codes of the served document, and those that the cases received.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

/// The document.
const DOCUMENT: &str = include_str!("../../../plugins/contexts/fsp-interop-api/openapi.yaml");
/// How an entry of its list of errors begins.
const ENTRY: &str = "- {code: '";
/// Codes that no case can provoke from outside, and the tests that see them.
const ELSEWHERE: [(&str, &str); 2] = [
    (
        "2001",
        "a component has to fail: tests/e2e/tests/all/errors.rs",
    ),
    (
        "2003",
        "a host has to be overloaded: tests/e2e/tests/all/overload.rs",
    ),
];

/// The codes that the document announces.
///
/// # Errors
/// When it has no list of them any more.
pub fn announced() -> Result<BTreeSet<&'static str>> {
    let lines = DOCUMENT.lines();
    let entries = lines.filter_map(|line| line.trim().strip_prefix(ENTRY));
    let codes: BTreeSet<&str> = entries.filter_map(|entry| entry.get(..4)).collect();
    Some(codes)
        .filter(|codes| !codes.is_empty())
        .context("openapi.yaml announces no errors")
}

/// The announced codes that no case received, without those that are seen elsewhere.
///
/// # Errors
/// As [`announced`].
pub fn untold(told: &BTreeSet<String>) -> Result<Vec<&'static str>> {
    let mut codes = announced()?;
    codes.retain(|code| {
        let elsewhere = ELSEWHERE.iter().any(|(known, _)| known == code);
        !elsewhere && !told.contains(*code)
    });
    Ok(codes.into_iter().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    #[test]
    fn a_code_that_nobody_was_told_is_found() {
        let announced = announced().unwrap();
        assert!(ELSEWHERE.iter().all(|(code, _)| announced.contains(code)));
        let mut told: BTreeSet<String> = announced.iter().map(ToString::to_string).collect();
        assert_eq!(untold(&told).unwrap(), [""; 0]);
        assert!(told.remove("3105"));
        assert_eq!(untold(&told).unwrap(), ["3105"]);
    }
}
