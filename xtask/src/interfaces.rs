//! Which rows of the catalogue of interfaces the tests saw work: each suite adds its own to
//! `target/interfaces.json`, and here they are counted by section.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::repository;

/// The catalogue's rows, as the conformance suite keeps them.
const ROWS: &str = "tests/conformance/interfaces.json";

fn seen_path() -> PathBuf {
    repository::root().join("target/interfaces.json")
}

/// Forget what earlier runs saw.
pub fn forget() -> Result<()> {
    match fs::remove_file(seen_path()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).context("removing target/interfaces.json")
        }
        _ => Ok(()),
    }
}

/// How many rows were seen, in one line for each section.
pub fn counts() -> Result<Vec<String>> {
    let rows = repository::root().join(ROWS);
    let rows = fs::read_to_string(&rows).with_context(|| format!("reading {}", rows.display()))?;
    let rows: Vec<Value> = serde_json::from_str(&rows).context(ROWS)?;
    let seen = fs::read_to_string(seen_path()).unwrap_or_default();
    let seen: BTreeMap<String, Vec<String>> = serde_json::from_str(&seen).unwrap_or_default();
    Ok(counted(&rows, &seen))
}

fn counted(rows: &[Value], seen: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let text = |row: &Value, member: &str| row[member].as_str().unwrap_or_default().to_owned();
    let sections: BTreeSet<String> = rows.iter().map(|row| text(row, "section")).collect();
    let line = |section: &String| {
        let of: Vec<_> = rows
            .iter()
            .filter(|row| text(row, "section") == *section)
            .collect();
        let is_seen = |row: &&&Value| {
            let cases = seen.get(&text(row, "id"));
            cases.is_some_and(|cases| !cases.is_empty())
        };
        let count = of.iter().filter(is_seen).count();
        format!(
            "interfaces: section {section}: {count} of {} rows seen",
            of.len()
        )
    };
    sections.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_that_some_case_saw_are_counted_by_section() {
        let rows = [
            json!({ "id": "A-1", "section": "A" }),
            json!({ "id": "D-1", "section": "D" }),
            json!({ "id": "D-2", "section": "D" }),
        ];
        let seen = BTreeMap::from([
            ("D-1".to_owned(), vec!["a".to_owned()]),
            ("A-1".to_owned(), Vec::new()),
        ]);
        let expected = [
            "interfaces: section A: 0 of 1 rows seen",
            "interfaces: section D: 1 of 2 rows seen",
        ];
        assert_eq!(counted(&rows, &seen), expected);
    }
}
