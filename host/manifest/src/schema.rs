//! The JSON schemas of the documents, made from the types that read them.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value as Json;

use crate::lock::LockFile;
use crate::operator::OperatorFile;
use crate::scheme::SchemeFile;

/// The schema of `rialto.toml`.
pub static OPERATOR: LazyLock<Json> = LazyLock::new(schema_of::<OperatorFile>);
/// The schema of `scheme.toml`.
pub static SCHEME: LazyLock<Json> = LazyLock::new(schema_of::<SchemeFile>);
/// The schema of `scheme.lock`, which is generated and so has no published one.
pub(crate) static LOCK: LazyLock<Json> = LazyLock::new(schema_of::<LockFile>);

/// The published schemas: file name and schema.
#[must_use]
pub fn schemas() -> [(&'static str, &'static Json); 2] {
    [
        ("rialto.schema.json", &*OPERATOR),
        ("scheme.schema.json", &*SCHEME),
    ]
}

fn schema_of<T: JsonSchema>() -> Json {
    let settings = SchemaSettings::draft2020_12().with_transform(WithoutNull);
    settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Removes null from types, because TOML has no null. An optional key is just not required.
#[derive(Clone, Debug)]
struct WithoutNull;

impl Transform for WithoutNull {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        if object.get("default") == Some(&Json::Null) {
            object.remove("default");
        }
        if let Some(Json::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".to_owned(), only);
            }
        }
        if let Some(Json::Array(choices)) = object.get_mut("anyOf") {
            choices.retain(|choice| choice["type"] != "null");
            if let [Json::Object(only)] = choices.as_slice() {
                let only = only.clone();
                object.remove("anyOf");
                for (key, value) in only {
                    object.entry(key).or_insert(value);
                }
            }
        }
    }
}
