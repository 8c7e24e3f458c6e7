//! Rules about the text of files: length, opening sentence, forbidden texts.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Finding;
use super::files::TextFile;

/// The longest Rust file, in lines: a longer one has more than one subject.
const LINES_MAX: usize = 800;

/// Forbidden texts in code, with the reason. They are split, so that this file does not break the rule.
const FORBIDDEN: [(&str, &str); 2] = [
    (
        concat!(".unw", "rap()"),
        "outside tests say why it cannot fail: `.expect(\"proof\")`, or give the error on",
    ),
    (
        concat!("unbounded", "_channel"),
        "every queue has a bound: use a bounded channel",
    ),
];

/// Prefixes of paths that only exist on one machine.
const MACHINE_PATHS: [&str; 4] = [
    concat!("/wo", "rk/"),
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
];

/// The fence of code in a comment.
const FENCE: &str = "```";
/// Languages of code in comments that rustdoc does not run.
const SHOWN_ONLY: [&str; 6] = ["text", "json", "toml", "sh", "sql", "wit"];

/// Files that are compiled for tests only: those of `#[cfg(test)] mod name;`.
pub fn test_modules(files: &[TextFile]) -> HashSet<PathBuf> {
    let mut modules = HashSet::new();
    for file in files {
        let folder = match file.path.file_stem().and_then(|stem| stem.to_str()) {
            Some("lib" | "main" | "mod") => file.path.with_file_name(""),
            _ => file.path.with_extension(""),
        };
        for (marker, line) in file.text.lines().zip(file.text.lines().skip(1)) {
            let name = line
                .strip_prefix("mod ")
                .and_then(|rest| rest.strip_suffix(';'));
            if let Some(name) = name.filter(|_| marker == "#[cfg(test)]") {
                modules.insert(folder.join(format!("{name}.rs")));
                modules.insert(folder.join(name).join("mod.rs"));
            }
        }
    }
    modules
}

/// The problems of a file's text.
pub fn findings(file: &TextFile, tests: &HashSet<PathBuf>) -> Vec<Finding> {
    let mut findings = machine_paths(file);
    if file
        .path
        .extension()
        .is_some_and(|extension| extension == "rs")
    {
        findings.extend(shape(file));
        findings.extend(doc_tests(file));
        if !is_test(&file.path) && !tests.contains(&file.path) {
            findings.extend(forbidden(file));
        }
    }
    findings
}

fn finding(file: &TextFile, line: usize, message: impl Into<String>) -> Finding {
    Finding {
        file: file.path.clone(),
        line,
        message: message.into(),
    }
}

fn machine_paths(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (n, line) in file.text.lines().enumerate() {
        let found = MACHINE_PATHS.iter().find(|path| begins_a_path(line, path));
        if let Some(path) = found {
            let message = format!("`{path}` is a path of one machine: name it from the repository");
            findings.push(finding(file, n + 1, message));
        }
    }
    findings
}

/// Whether the text has an absolute path with this prefix: `/x/y`, not `a/x/y` or `http://host/x/y`.
fn begins_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '}')))
    })
}

fn shape(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = file.text.lines().count();
    if lines > LINES_MAX {
        let message = format!("{lines} lines, more than {LINES_MAX}: give each subject a file");
        findings.push(finding(file, 0, message));
    }
    if !file.text.starts_with("//! ") {
        let message = "begins without a `//!` sentence that says what belongs here";
        findings.push(finding(file, 1, message));
    }
    findings
}

/// Code in comments that rustdoc would run as a test. Doc tests are not run, so there must be none.
fn doc_tests(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut inside = false;
    for (n, line) in file.text.lines().enumerate() {
        let line = line.trim_start();
        let comment = ["///", "//!"]
            .iter()
            .find_map(|mark| line.strip_prefix(mark));
        let Some(fence) = comment.and_then(|text| text.trim().strip_prefix(FENCE)) else {
            continue;
        };
        if !inside && !SHOWN_ONLY.contains(&fence) {
            let message = format!(
                "is a doc test, and doc tests are not run: write a test, or say what it is ({})",
                SHOWN_ONLY.join(", ")
            );
            findings.push(finding(file, n + 1, message));
        }
        inside = !inside;
    }
    findings
}

fn forbidden(file: &TextFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (n, line) in file.text.lines().enumerate() {
        if begins_tests(&file.text, n, line) {
            break;
        }
        let code = line.split("//").next().unwrap_or(line);
        for (text, reason) in FORBIDDEN {
            if code.contains(text) {
                findings.push(finding(file, n + 1, format!("`{text}`: {reason}")));
            }
        }
    }
    findings
}

/// Whether the module of tests at a file's end begins at this line.
pub fn begins_tests(text: &str, n: usize, line: &str) -> bool {
    let next = text.lines().nth(n + 1).unwrap_or("");
    line == "#[cfg(test)]" && next.starts_with("mod ") && next.ends_with('{')
}

fn is_test(path: &Path) -> bool {
    // `tests/simulator` is a library, and has to keep a library's rules.
    if path.starts_with("tests/e2e") {
        return true;
    }
    let inner = path.strip_prefix("tests").unwrap_or(path);
    let named = |part: &std::ffi::OsStr| part == "tests" || part == "benches" || part == "tests.rs";
    inner.iter().any(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile {
            path: path.into(),
            text: text.to_owned(),
        }
    }

    fn messages(path: &str, text: &str) -> Vec<String> {
        let findings = findings(&file(path, text), &HashSet::new());
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_good_file_has_no_findings() {
        let text = "//! Things.\n\nfn f() {}\n\n#[cfg(test)]\nmod tests {\n    x.unwrap();\n}\n";
        assert_eq!(messages("host/a/src/lib.rs", text), [""; 0]);
        assert_eq!(
            messages("host/a/tests/a.rs", "//! T.\nx.unwrap();\n"),
            [""; 0]
        );
        assert_eq!(
            messages("host/a/src/b/tests.rs", "//! T.\nx.unwrap();\n"),
            [""; 0]
        );
    }

    #[test]
    fn each_rule_is_found_with_its_line() {
        let found = messages("host/a/src/lib.rs", "fn f() {\n    x.unwrap(); // why\n}\n");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("host/a/src/lib.rs:1: begins without"));
        assert!(found[1].starts_with("host/a/src/lib.rs:2: `.unwrap()`"));
        let found = messages("tests/simulator/src/lib.rs", "//! T.\nx.unwrap();\n");
        assert_eq!(found.len(), 1, "{found:?}");
        let long = format!("//! T.\n{}", "\n".repeat(LINES_MAX));
        assert_eq!(messages("a.rs", &long).len(), 1);
    }

    #[test]
    fn code_in_comments_is_shown_and_not_run() {
        let fence = FENCE;
        let code = |language: &str| {
            format!("//! A.\n/// {fence}{language}\n/// x\n/// {fence}\nfn f() {{}}\n")
        };
        assert_eq!(messages("a.rs", &code("text")), [""; 0]);
        for language in ["", "rust", "no_run"] {
            let found = messages("a.rs", &code(language));
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with("a.rs:2: is a doc test"), "{found:?}");
        }
    }

    #[test]
    fn modules_that_only_tests_have_are_tests() {
        let files = [
            file(
                "a/src/ledger.rs",
                "//! L.\n#[cfg(test)]\nmod invariants;\nmod entry;\n",
            ),
            file("a/src/lib.rs", "//! A.\n#[cfg(test)]\nmod model;\n"),
        ];
        let modules = test_modules(&files);
        assert!(modules.contains(Path::new("a/src/ledger/invariants.rs")));
        assert!(modules.contains(Path::new("a/src/model.rs")));
        assert!(!modules.contains(Path::new("a/src/ledger/entry.rs")));
        let model = file("a/src/model.rs", "//! M.\nx.unwrap();\n");
        assert_eq!(findings(&model, &modules), []);
    }

    #[test]
    fn machine_paths_are_absolute_ones() {
        let home = MACHINE_PATHS[1];
        assert_eq!(messages("a.md", &format!("see {home}me/x")).len(), 1);
        assert_eq!(messages("a.md", &format!("see docs{home}x")).len(), 0);
        assert_eq!(
            messages("a.md", &format!("http://a.example{home}x")).len(),
            0
        );
    }
}
