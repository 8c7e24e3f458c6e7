//! Values with the defaults of what is not there.

use serde_json::{Map, Value};

use crate::judge::Schema;
use crate::keywords::resolve;

/// How deep defaults are filled in.
const DEPTH_MAX: u32 = 32;

/// The value with the `default` of each member that is not there: of `properties`, also behind `$ref`, of objects within
/// objects. Elements of lists stay as they are.
#[must_use]
pub fn with_defaults(schema: &Schema, mut value: Value) -> Value {
    fill(schema.document(), schema.document(), &mut value, DEPTH_MAX);
    value
}

fn fill(root: &Value, schema: &Value, value: &mut Value, depth: u32) {
    let (Some(members), Some(left)) = (schema.as_object(), depth.checked_sub(1)) else {
        return;
    };
    if let Some(target) = members.get("$ref").and_then(Value::as_str) {
        // Checked when the schema was read.
        if let Some(target) = resolve(root, target) {
            fill(root, target, value, left);
        }
    }
    let Some(object) = value.as_object_mut() else {
        return;
    };
    let properties = members.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flat_map(Map::iter) {
        if !object.contains_key(name)
            && let Some(default) = default_of(root, schema, left)
        {
            object.insert(name.clone(), default.clone());
        }
        if let Some(value) = object.get_mut(name) {
            fill(root, schema, value, left);
        }
    }
}

fn default_of<'a>(root: &'a Value, schema: &'a Value, depth: u32) -> Option<&'a Value> {
    if let Some(default) = schema.get("default") {
        return Some(default);
    }
    let target = schema.get("$ref").and_then(Value::as_str)?;
    default_of(root, resolve(root, target)?, depth.checked_sub(1)?)
}
