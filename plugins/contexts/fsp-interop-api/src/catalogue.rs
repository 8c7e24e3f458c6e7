//! A test: the OpenAPI document lists exactly the errors that the switch sends, with the names of the API
//! definition.

use rialto_sdk::errors;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Code and name of each listed error.
fn listed() -> Vec<(&'static str, &'static str)> {
    let document = include_str!("../openapi.yaml");
    let entries = document
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- {code: '"));
    let mut listed = Vec::new();
    for entry in entries {
        let (code, rest) = entry.split_once("', name: ").expect(entry);
        let (name, _) = rest.split_once(", when: '").expect(entry);
        listed.push((code, name));
    }
    listed
}

/// The folders of the demonstration's rules. Other rules have codes that only schemes with them send.
fn rules(plugins: &Path) -> Vec<PathBuf> {
    let scheme = fs::read_to_string(plugins.join("../schemes/demo/scheme.toml")).unwrap();
    let heads = scheme
        .lines()
        .filter_map(|line| line.strip_prefix("[rules."));
    let names = heads.filter_map(|head| head.strip_suffix(']'));
    let rules: Vec<PathBuf> = names
        .filter(|name| !name.contains('.'))
        .map(|name| plugins.join("rules").join(name))
        .collect();
    assert!(!rules.is_empty());
    rules
}

/// All Rust sources of the contexts and of the demonstration's rules, without their tests.
fn sources() -> Vec<String> {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = rules(&plugins);
    folders.push(plugins.join("contexts"));
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_test = name.starts_with("tests") || name == "catalogue.rs";
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if name.ends_with(".rs") && !is_test {
                let text = fs::read_to_string(path).unwrap();
                // A file's tests are at its end.
                let tests = "#[cfg(test)]\nmod tests {";
                let code = text.split(tests).next().unwrap_or_default();
                sources.push(code.to_owned());
            }
        }
    }
    sources
}

/// Texts that look like an error code: four digits.
fn codes(source: &str) -> impl Iterator<Item = &str> {
    let is_code = |text: &&str| text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit());
    source.split('"').filter(is_code)
}

#[test]
fn document_lists_exactly_the_errors_that_are_sent() {
    let listed = listed();
    let sources = sources();
    let sent: BTreeSet<&str> = sources.iter().flat_map(|source| codes(source)).collect();
    let codes: Vec<&str> = listed.iter().map(|(code, _)| *code).collect();
    assert_eq!(codes, sent.into_iter().collect::<Vec<_>>());
    for (code, name) in listed {
        let described = errors::error(code, "").description;
        assert_eq!(described, name, "{code}");
    }
}
