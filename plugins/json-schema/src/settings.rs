//! For tests: whether a component's `settings.schema.json` describes the type that reads its settings.

use std::fmt::{self, Debug, Display};

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde_json::{Map, Value, json};

use crate::judge::Schema;

/// A text that no enumeration has.
const NO_VALUE: &str = "no such value";

/// Check that a schema describes settings of the type `T`: both have the same members, each member has the `default` of
/// the code, values of each `enum` are those that the code takes, and other members are refused.
///
/// # Panics
/// If not: the test fails.
#[track_caller]
pub fn describes<T: DeserializeOwned + Default + PartialEq + Debug>(schema: &str) {
    let document: Value = serde_json::from_str(schema).expect("the schema is JSON");
    let schema = Schema::of(document.clone()).expect("the schema is a JSON Schema");
    describes_members::<T>(&document, "");
    let members = document["properties"].as_object().expect("`properties`");
    let read = |name: &str, value: &Value| serde_json::from_value::<T>(json!({ (name): value }));
    let mut defaults = Map::new();
    for (name, member) in members {
        assert!(
            member["description"].is_string(),
            "`{name}` has a description"
        );
        let default = member.get("default").expect("each member has a default");
        let settings = read(name, default).expect("a default can be read");
        assert_eq!(settings, T::default(), "the default of `{name}`");
        for value in member["enum"].as_array().into_iter().flatten() {
            assert!(read(name, value).is_ok(), "`{name}` = {value}");
            assert!(
                read(name, &json!(NO_VALUE)).is_err(),
                "`{name}` takes any text"
            );
        }
        defaults.insert(name.clone(), default.clone());
    }
    let judged = schema.judge(&Value::Object(defaults));
    assert_eq!(judged, Ok(()), "the defaults fit the schema");
    assert!(
        schema.judge(&json!({ (NO_VALUE): 1 })).is_err(),
        "other members are refused"
    );
}

/// Check that the schema at a place of a document has the members of the type `T`, and no other ones.
///
/// # Panics
/// If not: the test fails.
#[track_caller]
pub fn describes_members<T: DeserializeOwned>(document: &Value, pointer: &str) {
    let schema = document.pointer(pointer).expect("there is a schema");
    let members = schema["properties"].as_object().expect("`properties`");
    let mut described: Vec<&str> = members.keys().map(String::as_str).collect();
    let mut taken = members_of::<T>();
    described.sort_unstable();
    taken.sort_unstable();
    assert_eq!(described, taken, "the members of {pointer:?}");
    assert_eq!(
        schema["additionalProperties"],
        json!(false),
        "of {pointer:?}"
    );
}

/// The names of the members that a type reads.
fn members_of<T: DeserializeOwned>() -> Vec<&'static str> {
    let asked = T::deserialize(Asks).err();
    asked
        .map(|Members(names)| names.to_vec())
        .unwrap_or_default()
}

/// Gives nothing to read. It answers with the names for which a type asks.
struct Asks;

#[derive(Debug)]
struct Members(&'static [&'static str]);

impl<'de> Deserializer<'de> for Asks {
    type Error = Members;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Members> {
        Err(Members(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Members> {
        Err(Members(fields))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "asked for {:?}", self.0)
    }
}

impl std::error::Error for Members {}

impl de::Error for Members {
    fn custom<D: Display>(_: D) -> Self {
        Self(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields, rename_all = "camelCase")]
    struct Settings {
        is_open: bool,
        webhook: Option<String>,
    }

    fn schema(properties: &Value) -> String {
        json!({ "type": "object", "additionalProperties": false, "properties": properties })
            .to_string()
    }

    fn open(default: bool) -> Value {
        json!({ "type": "boolean", "default": default, "description": "d" })
    }

    fn webhook() -> Value {
        json!({ "type": ["string", "null"], "default": null, "description": "d" })
    }

    #[test]
    fn schema_with_the_members_and_defaults_of_the_code_describes_it() {
        describes::<Settings>(&schema(
            &json!({ "isOpen": open(false), "webhook": webhook() }),
        ));
    }

    #[test]
    #[should_panic(expected = "the default of `isOpen`")]
    fn other_default_is_found() {
        describes::<Settings>(&schema(
            &json!({ "isOpen": open(true), "webhook": webhook() }),
        ));
    }

    #[test]
    #[should_panic(expected = "the members of")]
    fn missing_member_is_found() {
        describes::<Settings>(&schema(&json!({ "webhook": webhook() })));
    }
}
