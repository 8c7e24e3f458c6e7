//! The rows of the interface catalogue that tests saw work. Each suite adds its rows to
//! `target/interfaces.json`. This module counts them by section, and compares them with the checked-in rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{process, repository};

/// The catalogue's rows, as the conformance suite keeps them.
const ROWS: &str = "tests/conformance/interfaces.json";
/// The checked-in rows: a list of ids.
const LANDED: &str = "tests/conformance/seen.json";

fn seen_path() -> PathBuf {
    repository::root().join("target/interfaces.json")
}

/// Removes the rows of earlier runs.
pub fn forget() -> Result<()> {
    match fs::remove_file(seen_path()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).context("removing target/interfaces.json")
        }
        _ => Ok(()),
    }
}

/// The number of rows seen, in one line per section.
pub fn counts() -> Result<Vec<String>> {
    let rows = repository::root().join(ROWS);
    let rows = fs::read_to_string(&rows).with_context(|| format!("reading {}", rows.display()))?;
    let rows: Vec<Value> = serde_json::from_str(&rows).context(ROWS)?;
    Ok(counted(&rows, &seen()?))
}

/// The cases that saw each row work. None if no suite has written yet.
fn seen() -> Result<BTreeMap<String, Vec<String>>> {
    match fs::read_to_string(seen_path()) {
        Ok(text) => serde_json::from_str(&text).context("target/interfaces.json"),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error).context("reading target/interfaces.json"),
    }
}

fn landed() -> Result<BTreeSet<String>> {
    let path = repository::root().join(LANDED);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text).context(LANDED)
}

/// Compares the seen rows with the checked-in ones, and prints new ones.
///
/// # Errors
/// If a checked-in row was not seen.
pub fn compare() -> Result<()> {
    let (landed, seen) = (landed()?, now(&seen()?));
    let new: Vec<&String> = seen.difference(&landed).collect();
    if !new.is_empty() {
        process::say(&format!(
            "{} rows are seen that {LANDED} does not list; `cargo xtask interfaces --accept` adds them: {new:?}",
            new.len()
        ));
    }
    let lost: Vec<&String> = landed.difference(&seen).collect();
    if lost.is_empty() {
        return Ok(());
    }
    bail!("rows of {LANDED} that no case has seen work now: {lost:?}")
}

/// Prints the counts, and compares.
///
/// # Errors
/// As [`compare`].
pub fn show() -> Result<()> {
    for line in counts()? {
        println!("{line}");
    }
    compare()
}

/// Adds the rows of the last run to the checked-in ones. Rows that it did not see stay: to give up a row,
/// remove it from the file by hand.
///
/// # Errors
/// If there was no run, or the file cannot be written.
pub fn accept() -> Result<()> {
    let mut all = landed()?;
    let before = all.len();
    all.extend(now(&seen()?));
    let text = serde_json::to_string_pretty(&all)? + "\n";
    let path = repository::root().join(LANDED);
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    process::say(&format!("{LANDED}: {before} rows, now {}", all.len()));
    Ok(())
}

/// The rows that a case saw.
fn now(seen: &BTreeMap<String, Vec<String>>) -> BTreeSet<String> {
    let seen = seen.iter().filter(|(_, cases)| !cases.is_empty());
    seen.map(|(row, _)| row.clone()).collect()
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
