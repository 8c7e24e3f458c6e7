//! Changes of a scheme's text, so that a form can make a release: comments, and all that is not named, stay as they are.
//!
//! A draft is checked where it is planned. Here only its text is.

mod toml_values;

use std::collections::BTreeSet;

use rialto_manifest::ComponentKind;
use rialto_manifest::scheme::SchemeDocument;
use rialto_manifest::values::{Digest, Name};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

use toml_values::item;

/// A rule's key for its digest.
const DIGEST: &str = "digest";

/// One change of a scheme's text.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(
    rename_all = "kebab-case",
    rename_all_fields = "camelCase",
    tag = "edit",
    deny_unknown_fields
)]
pub enum Edit {
    /// Give a rule another component or other lines. A name that the scheme does not have declares a rule.
    Rule {
        /// The rule's name in the scheme.
        name: Name,
        /// Its component, which must be stored already.
        #[serde(default)]
        digest: Option<Digest>,
        /// Keys of its table with new values. Null removes one.
        #[serde(default)]
        set: Map<String, Json>,
    },
    /// Take a rule out of the scheme.
    RemoveRule {
        /// The rule's name in the scheme.
        name: Name,
    },
    /// Bind these rules to a step, in this order. None leaves the step without rules.
    Step {
        /// The step.
        step: Name,
        /// The bindings.
        bindings: Vec<NewBinding>,
    },
}

/// A binding of a rule to a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewBinding {
    /// The place that it has now, from 0. Without it, a new binding.
    #[serde(default)]
    pub was: Option<usize>,
    /// Keys of its table with new values. Null removes one.
    #[serde(default)]
    pub set: Map<String, Json>,
}

/// Why a text cannot be changed so.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NotEdited {
    /// The text is no TOML.
    #[error("scheme.toml cannot be read: {0}")]
    Text(String),
    /// Something in the text has another form.
    #[error("`{0}` of scheme.toml has a form that cannot be changed here: change the text")]
    Form(String),
    /// A place that the step does not have.
    #[error("the step `{step}` has no binding at place {was}")]
    NoBinding {
        /// The step.
        step: String,
        /// The place, from 0.
        was: usize,
    },
    /// The same binding twice.
    #[error("the binding at place {was} of the step `{step}` can have one new place")]
    Twice {
        /// The step.
        step: String,
        /// The place, from 0.
        was: usize,
    },
    /// A rule without a component.
    #[error("the scheme has no rule `{0}`: name the digest of its component")]
    NoRule(String),
    /// A value that TOML does not have.
    #[error("`{0}` is null within a value, and TOML has no null: leave it out")]
    Null(String),
    /// A whole number that TOML does not have.
    #[error("`{0}` has a whole number above 9223372036854775807, which TOML does not have")]
    TooLarge(String),
}

/// The document with these changes, one after the other.
///
/// # Errors
/// At the first change that cannot be made.
pub fn edited(document: &SchemeDocument, edits: &[Edit]) -> Result<SchemeDocument, NotEdited> {
    let mut text: DocumentMut = document
        .text()
        .parse()
        .map_err(|error: toml_edit::TomlError| NotEdited::Text(error.to_string()))?;
    let mut digests = document.digests().clone();
    for edit in edits {
        match edit {
            Edit::Rule { name, digest, set } => {
                let known = digests.get(ComponentKind::Rule, name.as_str());
                let Some(digest) = digest.or(known) else {
                    return Err(NotEdited::NoRule(name.to_string()));
                };
                rule(&mut text, name, digest, set)?;
                digests.insert(ComponentKind::Rule, name.clone(), digest);
            }
            Edit::RemoveRule { name } => {
                if let Some(rules) = text.get_mut("rules").and_then(Item::as_table_like_mut) {
                    rules.remove(name.as_str());
                }
                digests.rules.remove(name);
            }
            Edit::Step { step, bindings } => bind(&mut text, step, bindings)?,
        }
    }
    Ok(SchemeDocument::new(text.to_string(), digests))
}

/// Declares a rule, or changes its table.
fn rule(
    text: &mut DocumentMut,
    name: &Name,
    digest: Digest,
    set: &Map<String, Json>,
) -> Result<(), NotEdited> {
    let form = |what: &str| NotEdited::Form(what.to_owned());
    let rules = text.entry("rules").or_insert_with(implicit);
    let rules = rules.as_table_like_mut().ok_or_else(|| form("rules"))?;
    if rules.get(name.as_str()).is_none() {
        let mut table = Table::new();
        let path = format!("components/{name}.wasm");
        table.insert("component", toml_edit::value(path));
        rules.insert(name.as_str(), Item::Table(table));
    }
    let table = rules
        .get_mut(name.as_str())
        .and_then(Item::as_table_like_mut);
    let table = table.ok_or_else(|| form(&format!("rules.{name}")))?;
    if table.contains_key(DIGEST) {
        table.insert(DIGEST, toml_edit::value(digest.to_string()));
    }
    overlay(table, set)
}

/// Puts the bindings of a step into this order.
fn bind(text: &mut DocumentMut, step: &Name, wanted: &[NewBinding]) -> Result<(), NotEdited> {
    let form = |what: String| NotEdited::Form(what);
    let steps = text.entry("steps").or_insert_with(implicit);
    let steps = steps
        .as_table_like_mut()
        .ok_or_else(|| form("steps".into()))?;
    let before = match steps.get(step.as_str()) {
        None => ArrayOfTables::new(),
        Some(item) => {
            let tables = item.clone().into_array_of_tables();
            tables.map_err(|_| form(format!("steps.{step}")))?
        }
    };
    if wanted.is_empty() {
        steps.remove(step.as_str());
        return Ok(());
    }
    let mut used = BTreeSet::new();
    let mut after = ArrayOfTables::new();
    for binding in wanted {
        let mut table = match binding.was {
            None => Table::new(),
            Some(was) => {
                let step = step.to_string();
                if !used.insert(was) {
                    return Err(NotEdited::Twice { step, was });
                }
                let table = before.get(was).cloned();
                table.ok_or(NotEdited::NoBinding { step, was })?
            }
        };
        overlay(&mut table, &binding.set)?;
        // The text has them in this order, and no longer where they were.
        forget_places(&mut table);
        after.push(table);
    }
    steps.insert(step.as_str(), Item::ArrayOfTables(after));
    Ok(())
}

/// A table of which only the tables within it are written.
fn implicit() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn forget_places(table: &mut Table) {
    table.set_position(None);
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => forget_places(table),
            Item::ArrayOfTables(tables) => tables.iter_mut().for_each(forget_places),
            Item::None | Item::Value(_) => {}
        }
    }
}

/// Gives keys of a table new values. A value that it has already stays as it is written.
fn overlay(table: &mut dyn toml_edit::TableLike, set: &Map<String, Json>) -> Result<(), NotEdited> {
    for (key, value) in set {
        if value.is_null() {
            table.remove(key);
        } else if table.get(key).and_then(toml_values::json).as_ref() != Some(value) {
            let new = item(key, value)?;
            table.remove(key);
            table.insert(key, new);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
