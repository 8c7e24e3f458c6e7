//! JSON values as TOML, written as a person would, and TOML values as JSON.

use serde_json::{Map, Value as Json};
use toml_edit::{Array, InlineTable, Item, Table, Value};

use super::NotEdited;

/// The longest list that stands on one line, in characters.
const LINE_MAX: usize = 60;

/// A key's value. An object becomes a table of its own.
///
/// # Errors
/// For a null.
pub(super) fn item(key: &str, json: &Json) -> Result<Item, NotEdited> {
    match json {
        Json::Object(members) => {
            let mut table = Table::new();
            for (key, member) in members {
                table.insert(key, Item::Value(value(key, member, true)?));
            }
            Ok(Item::Table(table))
        }
        other => Ok(Item::Value(value(key, other, true)?)),
    }
}

fn value(key: &str, json: &Json, may_break: bool) -> Result<Value, NotEdited> {
    Ok(match json {
        Json::Null => return Err(NotEdited::Null(key.to_owned())),
        Json::Bool(is) => (*is).into(),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            // TOML has no such whole number, and a rounded one is another one.
            None if number.is_u64() => return Err(NotEdited::TooLarge(key.to_owned())),
            None => number.as_f64().unwrap_or_default().into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Object(members) => {
            let mut table = InlineTable::new();
            for (key, member) in members {
                table.insert(key, value(key, member, false)?);
            }
            table.into()
        }
        Json::Array(elements) => {
            let mut array = Array::new();
            for element in elements {
                array.push(value(key, element, false)?);
            }
            if may_break && json.to_string().len() > LINE_MAX {
                for element in array.iter_mut() {
                    element.decor_mut().set_prefix("\n    ");
                }
                array.set_trailing("\n");
                array.set_trailing_comma(true);
            }
            array.into()
        }
    })
}

/// A TOML value as JSON. None for what JSON does not have.
pub(super) fn json(item: &Item) -> Option<Json> {
    match item {
        Item::None => None,
        Item::Value(value) => of_value(value),
        Item::Table(table) => members(table.iter().map(|(key, item)| (key, json(item)))),
        Item::ArrayOfTables(tables) => {
            let all = tables.iter().map(|table| {
                let table = table.iter().map(|(key, item)| (key, json(item)));
                members(table)
            });
            all.collect::<Option<Vec<_>>>().map(Json::Array)
        }
    }
}

fn of_value(value: &Value) -> Option<Json> {
    Some(match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(whole) => (*whole.value()).into(),
        Value::Float(number) => serde_json::Number::from_f64(*number.value())?.into(),
        Value::Boolean(is) => (*is.value()).into(),
        Value::Datetime(at) => at.value().to_string().into(),
        Value::Array(elements) => {
            let all = elements.iter().map(of_value);
            Json::Array(all.collect::<Option<_>>()?)
        }
        Value::InlineTable(table) => {
            members(table.iter().map(|(key, value)| (key, of_value(value))))?
        }
    })
}

fn members<'a>(all: impl Iterator<Item = (&'a str, Option<Json>)>) -> Option<Json> {
    let members = all.map(|(key, value)| Some((key.to_owned(), value?)));
    members.collect::<Option<Map<_, _>>>().map(Json::Object)
}
