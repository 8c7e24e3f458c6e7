//! `rialto sql`: a query of a store's tables.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use rialto_store_sqlite::{Sql, SqlRow};
use serde_json::{Map, Value};

use super::{folders_of, needs_a_folder};
use crate::out::{self, Unwritten};
use crate::words::plain;

/// How often a moment between two flushes is looked for, and the pause after each look. A flush takes some tenths of a second.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);
/// Characters of the widest column. A longer value moves what follows it in its row.
const WIDTH_MAX: usize = 60;
/// Rows whose longest values say how wide the columns are.
const MEASURED: usize = 100;

/// Query the tables of a store with SQL, beside a running host or without one.
///
/// The tables are about a second behind a running host. Nothing can be changed.
#[derive(Debug, clap::Args)]
pub(super) struct SqlQuery {
    /// One query in SQLite's SQL, of the view `named_documents` (component, collection, id, version, body) or of a table. In the
    /// table `documents`, `document(body)` is the JSON of a body
    #[arg(value_name = "QUERY")]
    text: String,
    /// Print one JSON object per row.
    #[arg(long)]
    json: bool,
    /// The scheme's folder.
    #[arg(long, value_name = "DIR", env = "RIALTO_SCHEME", default_value = ".")]
    at: PathBuf,
    /// The folder of the store. Without it, the folder that rialto.toml names.
    #[arg(long, value_name = "DIR", env = "RIALTO_STATE")]
    state: Option<PathBuf>,
}

impl SqlQuery {
    pub fn run(self) -> anyhow::Result<u8> {
        let state = self.state.as_deref();
        needs_a_folder(&self.at, state, "query the database with psql")?;
        let (folder, _) = folders_of(&self.at, state)?;
        let store = between_flushes(&folder)?;
        let mut shown = Shown::new(self.json);
        let mut written = Ok(());
        let names = store.query(&self.text, &mut |names, row| {
            written = shown.row(names, row);
            written.is_ok()
        });
        written?;
        let names = names.context("the query")?;
        shown.end(&names)?;
        Ok(0)
    }
}

/// Open the store between two flushes, if there is such a moment.
fn between_flushes(folder: &Path) -> anyhow::Result<Sql> {
    for _ in 0..TRIES {
        let store = Sql::open(folder)?;
        if !store.is_flushing() {
            return Ok(store);
        }
        std::thread::sleep(PAUSE);
    }
    let store = Sql::open(folder)?;
    if store.is_flushing() {
        out::note(
            "a flush is under way, or the host has crashed in one: of the newest turns the tables may have some documents and not others",
        );
    }
    Ok(store)
}

/// What is printed.
struct Shown {
    is_json: bool,
    /// The first rows, until there are enough of them to know the widths.
    first: Vec<Vec<String>>,
    widths: Option<Vec<usize>>,
}

impl Shown {
    fn new(is_json: bool) -> Self {
        Self {
            is_json,
            first: Vec::new(),
            widths: None,
        }
    }

    fn row(&mut self, names: &[String], row: SqlRow) -> anyhow::Result<()> {
        if self.is_json {
            // The last one of two members with one name would be the only one.
            if let Some(twice) = (1..names.len()).find(|n| names[..*n].contains(&names[*n])) {
                return Err(anyhow::anyhow!(
                    "two columns are called `{}`: give one of them another name with AS",
                    names[twice]
                ));
            }
            let members = names.iter().cloned().zip(row);
            return Ok(out::json(&members.collect::<Map<String, Value>>())?);
        }
        let cells: Vec<String> = row.iter().map(cell).collect();
        if let Some(widths) = &self.widths {
            return Ok(out::line(line(&cells, widths))?);
        }
        self.first.push(cells);
        if self.first.len() == MEASURED {
            self.begin(names)?;
        }
        Ok(())
    }

    /// Print the heads and the first rows.
    fn begin(&mut self, names: &[String]) -> Result<(), Unwritten> {
        let heads: Vec<String> = names.iter().map(|name| plain(name)).collect();
        let all = || self.first.iter().chain([&heads]);
        let width = |n: usize| all().map(|row| row[n].chars().count()).max();
        let widths = (0..heads.len()).map(|n| width(n).unwrap_or(0).min(WIDTH_MAX));
        let widths: Vec<usize> = widths.collect();
        out::line(line(&heads, &widths))?;
        for row in std::mem::take(&mut self.first) {
            out::line(line(&row, &widths))?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    fn end(&mut self, names: &[String]) -> Result<(), Unwritten> {
        if self.is_json || self.widths.is_some() {
            return Ok(());
        }
        if self.first.is_empty() {
            out::note("the query has no rows");
            return Ok(());
        }
        self.begin(names)
    }
}

/// A value for a terminal. A text that others wrote steers nothing.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        other => other.to_string(),
    }
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let cells = cells.iter().zip(widths);
    let cells: Vec<String> = cells
        .map(|(cell, width)| format!("{cell:<width$}"))
        .collect();
    cells.join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_does_not_make_its_column_wide() {
        let long = "x".repeat(100_000);
        let cells = [long.clone(), "a".to_owned(), "b".to_owned()];
        assert_eq!(line(&cells, &[WIDTH_MAX, 3, 1]), format!("{long}  a    b"));
    }
}
