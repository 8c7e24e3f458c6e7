//! Tests and conformance cases that documents name must exist.

use std::collections::BTreeSet;

use super::Finding;
use super::files::TextFile;

/// The documents that name tests of defences and invariants.
const DOCUMENTS: [&str; 4] = [
    "ARCHITECTURE.md",
    "README.md",
    "docs/development.md",
    "docs/security.md",
];
/// The fewest underscores of a test's name: five words.
const UNDERSCORES_MIN: usize = 4;
/// The sign for the omitted end of a long name.
const REST: char = '…';

/// Missing tests, and missing cases of the conformance suite, that documents name.
pub fn findings(files: &[TextFile]) -> Vec<Finding> {
    let sources: Vec<&TextFile> = files
        .iter()
        .filter(|file| file.path.extension().is_some_and(|kind| kind == "rs"))
        .collect();
    let functions: BTreeSet<&str> = sources
        .iter()
        .flat_map(|file| functions(&file.text))
        .collect();
    let cases: Vec<&str> = sources
        .iter()
        .filter(|file| file.path.starts_with("tests/conformance/src"))
        .map(|file| file.text.as_str())
        .collect();
    let is_there = |name: &str| match name.strip_suffix(REST) {
        Some(begin) => functions
            .range(begin..)
            .next()
            .is_some_and(|f| f.starts_with(begin)),
        None => functions.contains(name),
    };
    let is_case = |name: &str| {
        let quoted = format!("\"{name}\"");
        cases.iter().any(|text| text.contains(&quoted))
    };
    let documents = files
        .iter()
        .filter(|file| DOCUMENTS.iter().any(|name| file.path.as_os_str() == *name));
    let mut findings = Vec::new();
    for document in documents {
        for (number, line) in document.text.lines().enumerate() {
            let mut missing = |what: String| {
                findings.push(Finding {
                    file: document.path.clone(),
                    line: number + 1,
                    message: format!("{what} is not there: name the test that shows it"),
                });
            };
            for name in quoted(line) {
                if is_test(name) && !is_there(name) {
                    missing(format!("the test `{name}`"));
                }
            }
            for name in cases_of(line) {
                if !is_case(name) {
                    missing(format!("the conformance case `{name}`"));
                }
            }
        }
    }
    findings
}

/// The names of all functions of a source.
fn functions(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("fn ").map(|(at, _)| {
        let name = &text[at + 3..];
        let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        &name[..end.unwrap_or(name.len())]
    })
}

/// The texts in backquotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Whether a text is a test's name. Metrics have a prefix.
fn is_test(word: &str) -> bool {
    let name = word.strip_suffix(REST).unwrap_or(word);
    let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    name.chars().all(of_name)
        && name.matches('_').count() >= UNDERSCORES_MIN
        && !name.starts_with("rialto_")
}

/// The cases of the conformance suite that a line names: after the word `conformance`, until the sentence ends.
fn cases_of(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split("conformance ").skip(1);
    parts.flat_map(|part| {
        let part = part.split([';', '|']).next().unwrap_or_default();
        quoted(part).filter(|name| {
            let of_name = |c: char| c.is_ascii_lowercase() || c == '-' || c == '/';
            name.matches('/').count() == 1 && name.chars().all(of_name)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.into(),
            text: text.into(),
        }
    }

    #[test]
    fn missing_named_test_or_case_is_found() {
        let source = "#[test]\nfn what_is_there_is_found() {}";
        let cases = "case!(\"parties/blocked\", blocked)";
        let found = |line: &str| {
            let files = [
                file("a.rs", source),
                file("tests/conformance/src/cases.rs", cases),
                file("docs/security.md", line),
            ];
            findings(&files).len()
        };
        assert_eq!(found("| `what_is_there_is_found`, `what_is_there_…` |"), 0);
        assert_eq!(found("| `what_is_there_is_lost` |"), 1);
        assert_eq!(found("| `what_is_here_and_…` |"), 1);
        assert_eq!(
            found("`rialto_requests_outbound_of_all`, `Engine::submit`"),
            0
        );
        assert_eq!(found("conformance `parties/blocked`; `signatures/x`"), 0);
        assert_eq!(
            found("the conformance cases `parties/blocked`, `parties/lost`"),
            1
        );
    }
}
