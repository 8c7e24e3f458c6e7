//! The catalogue of interfaces, and which of its rows were seen to work in which tests. The suites write it
//! one after the other into `target/interfaces.json`; each keeps what the others wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;

/// The rows, as the conformance suite keeps them.
const ROWS: &str = include_str!("../../conformance/interfaces.json");

/// A row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Row {
    /// Its id, such as `D-ManageFunds`.
    pub id: String,
    /// The section: `A` to `E` or `Events`.
    pub section: String,
    /// The name as the brief has it.
    pub name: String,
}

impl Row {
    /// Whether this is the row of an event of the contracts, such as `participant-account-added`.
    pub fn is_event(&self, event: &str) -> bool {
        self.section == "Events" && self.name.to_lowercase() == event.replace('-', "")
    }

    /// The name without the style of its transport.
    pub fn plain_name(&self) -> &str {
        self.name.split(" (").next().unwrap_or_default()
    }
}

/// All rows.
///
/// # Errors
/// When the copy cannot be read.
pub fn rows() -> Result<Vec<Row>> {
    serde_json::from_str(ROWS).context("tests/conformance/interfaces.json")
}

/// A case has seen these rows work.
///
/// # Errors
/// When the file cannot be written.
pub fn seen<'a>(case: &str, ids: impl Iterator<Item = &'a str>) -> Result<()> {
    change(|seen| {
        for id in ids {
            let cases = seen.entry(id.to_owned()).or_default();
            cases.insert(case.to_owned());
        }
    })
}

/// Rows by their ids, with the cases that saw them work.
pub type Seen = BTreeMap<String, BTreeSet<String>>;

/// Change what is written, one suite and one test after the other.
///
/// # Errors
/// When the file cannot be read or written.
pub fn change(change: impl FnOnce(&mut Seen)) -> Result<()> {
    let path = path();
    let lock = path.with_extension("lock");
    let lock = File::create(&lock).with_context(|| format!("opening {}", lock.display()))?;
    lock.lock().context("waiting for other tests")?;
    let mut seen = match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).with_context(|| path.display().to_string())?,
        Err(error) if error.kind() == ErrorKind::NotFound => Seen::new(),
        Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
    };
    change(&mut seen);
    let text = serde_json::to_string_pretty(&seen)? + "\n";
    // A reader without the lock gets the old or the new file, never half of one.
    let new = path.with_extension("json.new");
    fs::write(&new, text).with_context(|| format!("writing {}", new.display()))?;
    fs::rename(&new, &path).with_context(|| format!("writing {}", path.display()))
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/interfaces.json")
}
