//! No field of a contract is called by a word that a client's language keeps for itself: from the contracts
//! come protobuf's messages, and in Python nobody can write `request.from`.

use std::path::Path;

use super::Finding;
use super::files::TextFile;

/// Python's words. They have those of most other languages that would be in the way of a field.
const KEPT: [&str; 32] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];
/// Fields that were there before this rule. Clients have them; the packages' next versions will not.
const BEFORE: [(&str, &str); 2] = [
    ("rialto:accounts-and-balances@0.1.0", "from"),
    ("rialto:participant-lifecycle-management@0.1.0", "from"),
];

/// Fields of a file's contracts that are called so.
pub fn findings(file: &TextFile) -> Vec<Finding> {
    let is_contract =
        file.path.starts_with("wit") && file.path.extension().is_some_and(|end| end == "wit");
    if !is_contract {
        return Vec::new();
    }
    let package = file
        .text
        .lines()
        .find_map(|line| line.strip_prefix("package "));
    let package = package.unwrap_or_default().trim_end_matches(';');
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for name in named(code).filter(|name| KEPT.contains(name)) {
            if !BEFORE.contains(&(package, name)) {
                findings.push(finding(&file.path, number + 1, name));
            }
        }
    }
    findings
}

/// What a line gives a name to: a field or a parameter (`name: …`), or a case of a variant (`name(…)`).
fn named(code: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '%');
    code.match_indices([':', '('])
        .filter_map(move |(at, _)| {
            let before = &code[..at];
            let start = before.rfind(|c| !is_of_name(c)).map_or(0, |last| last + 1);
            before.get(start..)
        })
        .map(|name| name.trim_start_matches('%'))
}

fn finding(file: &Path, line: usize, name: &str) -> Finding {
    Finding {
        file: file.to_owned(),
        line,
        message: format!(
            "`{name}` is a word that clients' languages keep for themselves: call the field otherwise, such as `since` for `from`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<usize> {
        let file = TextFile {
            path: path.into(),
            text: text.to_owned(),
        };
        findings(&file).iter().map(|finding| finding.line).collect()
    }

    const FIELD: &str =
        "interface a {\n    record b {\n        %from: option<u64>,\n        to: u64,\n    }\n}\n";

    #[test]
    fn new_contract_versions_have_no_field_called_from() {
        let of = |package: &str| format!("package rialto:{package};\n{FIELD}");
        let path = "wit/accounts-and-balances/participant-accounts.wit";
        assert_eq!(found(path, &of("accounts-and-balances@0.2.0")), [4]);
        assert_eq!(found(path, &of("accounts-and-balances@0.1.0")), [0; 0]);
        assert_eq!(found("wit/quoting/quoting.wit", &of("quoting@0.1.0")), [4]);
        assert_eq!(found("plugins/sdk/a.rs", &of("quoting@0.1.0")), [0; 0]);
    }

    #[test]
    fn names_of_parameters_and_cases_are_found() {
        let text = "package rialto:a@0.1.0;\n\
                    /// From: where.\n\
                    f: func(class: string, in: u64);\n\
                    variant v {\n    pass(u64),\n    passed(string),\n}\n\
                    use rialto:common/types@0.1.0.{fsp-id};\n";
        assert_eq!(found("wit/a/a.wit", text), [3, 3, 5]);
    }
}
