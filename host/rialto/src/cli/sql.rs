//! `rialto sql`: a query of a store's tables.

use std::path::PathBuf;

use anyhow::Context as _;
use rialto_store_sqlite::{Sql, SqlRow};
use serde_json::{Map, Value};

use super::{folders_of, needs_a_folder};
use crate::out::{self, Unwritten};
use crate::words::plain;

/// Rows whose longest values say how wide the columns are.
const MEASURED: usize = 100;

/// Query the tables of a store with SQL, beside a running host or without one.
///
/// The view `named_documents` has component, collection, id, version and body. In all other tables `document(body)` is the JSON
/// of a document's body. The tables are about a second behind a running host. Nothing can be changed.
#[derive(Debug, clap::Args)]
pub(super) struct SqlQuery {
    /// One query in SQLite's SQL.
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
        let store = Sql::open(&folder)?;
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

    fn row(&mut self, names: &[String], row: SqlRow) -> Result<(), Unwritten> {
        if self.is_json {
            let members = names.iter().cloned().zip(row);
            return out::json(&members.collect::<Map<String, Value>>());
        }
        let cells: Vec<String> = row.iter().map(cell).collect();
        if let Some(widths) = &self.widths {
            return out::line(line(&cells, widths));
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
        let widths: Vec<usize> = (0..heads.len()).map(|n| width(n).unwrap_or(0)).collect();
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
