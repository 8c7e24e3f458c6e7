//! Examples: for each operation of a document a request that the document takes, and the body of its answer.
//! What a document gives as an example is taken; what it does not give is made from the schemas, with members
//! that must be there and no others.

use std::cell::Cell;
use std::fmt::Write as _;

use regex::Regex;
use serde_json::{Map, Value, json};

/// Schemas inside of each other, at most: one that has itself as a member that must be there has no example.
const DEPTH_MAX: usize = 16;
/// Values of one example, at most: types that have themselves as members several times would make very many.
const VALUES_MAX: u32 = 1_000;
/// Items of one list, at most.
const ITEMS_MAX: u64 = 16;
/// Texts that are tried, in this order, where a schema wants a form and gives no example.
const TEXTS: [&str; 9] = [
    "1",
    "100",
    "example",
    "USD",
    "2026-01-31T09:00:00.000Z",
    "2026-01-31",
    "b51ec534-ee48-4575-b6a9-ead2955b8069",
    "https://example.com/hook",
    "b51ec534ee484575b6a9ead2955b8069b51ec534ee484575b6a9ead2955b8069",
];

/// A request that a document takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// In upper case.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names as the document spells them, with values.
    pub headers: Vec<(String, String)>,
    /// In JSON, with a member a line.
    pub body: Option<String>,
}

/// A request of an operation. `item` is the path's item, which has the operation under `method`.
#[must_use]
pub fn request(root: &Value, path: &str, item: &Value, method: &str) -> Request {
    let operation = &item[method];
    let mut target = path.to_owned();
    let mut query = String::new();
    let mut headers: Vec<(String, String)> = Vec::new();
    let listed = [item, operation].map(|of| of["parameters"].as_array());
    for parameter in listed.into_iter().flatten().flatten() {
        let parameter = resolved(root, parameter);
        let name = parameter["name"].as_str().unwrap_or_default();
        let text = || text(&parameter_value(root, parameter));
        match parameter["in"].as_str() {
            Some("path") => target = target.replace(&format!("{{{name}}}"), &encoded(&text())),
            Some("query") if parameter["required"] == true => {
                let sign = if query.is_empty() { '?' } else { '&' };
                let _ = write!(query, "{sign}{name}={}", encoded(&text()));
            }
            Some("header") if parameter["required"] == true => {
                headers.push((name.to_owned(), text()));
            }
            _ => {}
        }
    }
    let body = resolved(root, &operation["requestBody"]);
    let content = body["content"].as_object();
    let media = content.and_then(|content| content.iter().next());
    let has_type = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    if let Some((media_type, _)) = media.filter(|_| !has_type) {
        headers.push(("Content-Type".to_owned(), media_type.clone()));
    }
    Request {
        method: method.to_uppercase(),
        target: target + &query,
        headers,
        body: media.and_then(|(_, media)| body_of(root, media)),
    }
}

/// The body of an answer or a request of this media type object (`schema`, `example`); none if it has no
/// form that could be shown as JSON.
#[must_use]
pub fn body_of(root: &Value, media: &Value) -> Option<String> {
    let schema = media.get("schema")?;
    let is_binary = resolved(root, schema)["format"] == "binary";
    let value = given(media).unwrap_or_else(|| Maker::of(root).value(schema, 0));
    (!is_binary).then(|| format!("{value:#}"))
}

/// What a reference within the document stands for; a value that is none stands for itself.
fn resolved<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    let mut value = value;
    for _ in 0..DEPTH_MAX {
        let Some(pointer) = value["$ref"].as_str().and_then(|r| r.strip_prefix('#')) else {
            return value;
        };
        value = root.pointer(pointer).unwrap_or(&Value::Null);
    }
    value
}

/// The example that somebody wrote.
fn given(of: &Value) -> Option<Value> {
    let named = of["examples"]
        .as_object()
        .and_then(|all| all.values().next());
    let first = of.get("example").or_else(|| of["examples"].get(0));
    first.or_else(|| named?.get("value")).cloned()
}

fn parameter_value(root: &Value, parameter: &Value) -> Value {
    given(parameter).unwrap_or_else(|| Maker::of(root).value(&parameter["schema"], 0))
}

/// Makes one example of a document's schemas.
struct Maker<'r> {
    root: &'r Value,
    /// Values that may be made yet.
    left: Cell<u32>,
}

impl<'r> Maker<'r> {
    const fn of(root: &'r Value) -> Self {
        Self {
            root,
            left: Cell::new(VALUES_MAX),
        }
    }

    /// A value of a schema. Null where there is none that is small enough.
    fn value(&self, schema: &Value, depth: usize) -> Value {
        let schema = resolved(self.root, schema);
        let Some(left) = self
            .left
            .get()
            .checked_sub(1)
            .filter(|_| depth <= DEPTH_MAX)
        else {
            return Value::Null;
        };
        self.left.set(left);
        let written = given(schema).or_else(|| {
            let fixed = schema.get("default").or_else(|| schema.get("const"));
            fixed.or_else(|| schema["enum"].get(0)).cloned()
        });
        if let Some(written) = written {
            return written;
        }
        let parts = items(&schema["allOf"]).map(|part| self.value(part, depth + 1));
        let one = items(&schema["oneOf"])
            .chain(items(&schema["anyOf"]))
            .next();
        let one = one.map(|one| self.value(one, depth + 1));
        let mut whole: Vec<Value> = parts.chain(one).collect();
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.first().and_then(Value::as_str),
            kind => kind.as_str(),
        };
        match kind {
            Some("object") => whole.push(self.object(schema, depth)),
            None if schema["properties"].is_object() => whole.push(self.object(schema, depth)),
            Some("array") => return self.array(schema, depth),
            Some("string") => return string(schema).into(),
            Some("boolean") => return true.into(),
            Some("integer" | "number") => return number(schema),
            _ => {}
        }
        let mut members = Map::new();
        for part in &whole {
            let Value::Object(part) = part else {
                return part.clone();
            };
            members.extend(part.clone());
        }
        Value::Object(members)
    }

    /// The members that must be there, and those for which somebody wrote an example.
    fn object(&self, schema: &Value, depth: usize) -> Value {
        let required: Vec<&str> = items(&schema["required"])
            .filter_map(Value::as_str)
            .collect();
        let mut members = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&name.as_str()) || given(member).is_some() {
                members.insert(name.clone(), self.value(member, depth + 1));
            }
        }
        Value::Object(members)
    }

    fn array(&self, schema: &Value, depth: usize) -> Value {
        let least = schema["minItems"]
            .as_u64()
            .unwrap_or_default()
            .clamp(1, ITEMS_MAX);
        let most = schema["maxItems"].as_u64().unwrap_or(least);
        let one = |_| self.value(&schema["items"], depth + 1);
        let wanted = (0..least.min(most)).take_while(|_| self.left.get() > 0);
        wanted.map(one).collect()
    }
}

fn number(schema: &Value) -> Value {
    let least = schema.get("minimum").cloned();
    let above = schema["exclusiveMinimum"]
        .as_i64()
        .and_then(|least| least.checked_add(1))
        .map(|above| json!(above));
    least.or(above).unwrap_or_else(|| json!(1))
}

fn string(schema: &Value) -> String {
    let format = match schema["format"].as_str() {
        Some("uuid") => Some("b51ec534-ee48-4575-b6a9-ead2955b8069"),
        Some("date-time") => Some("2026-01-31T09:00:00.000Z"),
        Some("date") => Some("2026-01-31"),
        Some("http-date") => Some("Tue, 15 Nov 1994 08:12:31 GMT"),
        Some("uri") => Some("https://example.com/hook"),
        _ => None,
    };
    let pattern = schema["pattern"].as_str();
    let pattern = pattern.and_then(|pattern| Regex::new(pattern).ok());
    let least = schema["minLength"].as_u64().unwrap_or_default();
    let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX);
    let fits = |text: &&str| {
        (least..=most).contains(&(text.chars().count() as u64))
            && pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(text))
    };
    // Words before numbers where nothing but a length is asked for.
    let plain = ["example", "1"].into_iter().filter(|_| pattern.is_none());
    let mut all = format.into_iter().chain(plain).chain(TEXTS);
    all.find(fits).unwrap_or("example").to_owned()
}

/// A value as it stands in a header, a path or a query.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
        .to_string()
        .replace("%2D", "-")
        .replace("%2E", ".")
        .replace("%5F", "_")
        .replace("%3A", ":")
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_has_itself_many_times_ends() {
        let root = json!({"components": {"schemas": {"A": {
            "type": "object",
            "required": ["a", "b", "c"],
            "properties": {
                "a": {"$ref": "#/components/schemas/A"},
                "b": {"type": "array", "items": {"$ref": "#/components/schemas/A"}, "minItems": 1_000_000},
                "c": {"$ref": "#/components/schemas/A"},
            },
        }}}});
        let media = json!({"schema": {"$ref": "#/components/schemas/A"}});
        let body = body_of(&root, &media).unwrap_or_default();
        assert!(body.contains("null"));
        assert!(body.len() < 1 << 20, "{} bytes", body.len());
    }
}
