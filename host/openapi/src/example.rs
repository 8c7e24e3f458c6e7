//! Makes examples for each operation of a document: a valid request, and the body of its answer.
//!
//! An example of the document is used as it is. Other values are made from the schemas, with required members only.
//!
//! The document comes from a component, so the length of an example and the memory for making it are bounded. Beyond
//! the bound, a value is null, or there is no example.

mod size;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use regex::RegexBuilder;
use serde_json::{Map, Value, json};

use size::{pretty, weight};

/// Bytes of one example, at most: of a request with its headers and its body, or of an answer's body.
const BYTES_MAX: usize = 64 << 10;
/// The deepest nesting of schemas. A schema that requires itself as a member has no example.
const DEPTH_MAX: usize = 16;
/// The most values of one example. Recursive types could otherwise make very many.
const VALUES_MAX: u32 = 1_000;
/// Items of one list, at most.
const ITEMS_MAX: u64 = 16;
/// Properties that are looked at for all examples of a document, at most.
const PROPERTIES_MAX: usize = 1_000_000;
/// Patterns of a document that are looked at, at most.
const PATTERNS_MAX: usize = 1_000;
/// Bytes of a pattern that is looked at, at most.
const PATTERN_BYTES_MAX: usize = 4 << 10;
/// The most bytes of a compiled pattern, and again of the memory for matching. There is one pattern at a time.
const COMPILED_BYTES_MAX: usize = 1 << 20;
/// Texts that are tried in this order for a schema with a pattern or format but without an example.
const TEXTS: [&str; 10] = [
    "1",
    "100",
    "example",
    "USD",
    "2026-01-31T09:00:00.000Z",
    "2026-01-31",
    "b51ec534-ee48-4575-b6a9-ead2955b8069",
    "https://example.com/hook",
    "b51ec534ee484575b6a9ead2955b8069b51ec534ee484575b6a9ead2955b8069",
    "Tue, 15 Nov 1994 08:12:31 GMT",
];
/// Indexes of the texts that are tried first where a schema asks only for a length: words before numbers.
const PLAIN: [usize; 2] = [2, 0];

/// A valid request.
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

/// The examples of a document. Each pattern is tried once for all of them.
#[derive(Debug)]
pub struct Examples<'r> {
    root: &'r Value,
    patterns: Patterns<'r>,
    /// How many more properties may be looked at.
    properties: Cell<usize>,
}

impl<'r> Examples<'r> {
    /// Of the document with this root.
    #[must_use]
    pub fn of(root: &'r Value) -> Self {
        Self {
            root,
            patterns: Patterns::default(),
            properties: Cell::new(PROPERTIES_MAX),
        }
    }

    /// A request of an operation: the one that `item`, the path's item, has under `method`.
    #[must_use]
    pub fn request(&self, path: &str, item: &'r Value, method: &str) -> Request {
        let operation = &item[method];
        let maker = self.maker();
        let mut target = path.to_owned();
        let mut query = String::new();
        let mut headers: Vec<(String, String)> = Vec::new();
        let listed = [item, operation].map(|of| of["parameters"].as_array());
        for parameter in listed.into_iter().flatten().flatten() {
            let parameter = resolved(self.root, parameter);
            let place = parameter["in"].as_str();
            let must = place == Some("path") || parameter["required"] == true;
            let name = parameter["name"].as_str().unwrap_or_default();
            if !must || !maker.takes(name.len()) {
                continue;
            }
            let text = text(&maker.parameter_value(parameter));
            match place {
                Some("path") => target = filled(target, name, &encoded(&text)),
                Some("query") => {
                    let sign = if query.is_empty() { '?' } else { '&' };
                    let _ = write!(query, "{sign}{name}={}", encoded(&text));
                }
                Some("header") => headers.push((name.to_owned(), text)),
                _ => {}
            }
        }
        let body = resolved(self.root, &operation["requestBody"]);
        let content = body["content"].as_object();
        let media = content.and_then(|content| content.iter().next());
        let has_type = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if let Some((media_type, _)) =
            media.filter(|(name, _)| !has_type && maker.takes(name.len()))
        {
            headers.push(("Content-Type".to_owned(), media_type.clone()));
        }
        Request {
            method: method.to_uppercase(),
            target: target + &query,
            headers,
            body: media.and_then(|(_, media)| maker.body_of(media)),
        }
    }

    /// The body of an answer or a request of this media type object (`schema`, `example`); none if it has no
    /// form that could be shown as JSON, or is too long.
    #[must_use]
    pub fn body_of(&self, media: &'r Value) -> Option<String> {
        self.maker().body_of(media)
    }

    fn maker(&self) -> Maker<'r, '_> {
        Maker {
            root: self.root,
            patterns: &self.patterns,
            properties: &self.properties,
            values: Cell::new(VALUES_MAX),
            bytes: Cell::new(BYTES_MAX),
        }
    }
}

/// A path with a parameter's value filled in, unless the path would become too long.
fn filled(path: String, name: &str, value: &str) -> String {
    let place = format!("{{{name}}}");
    let longer = path.matches(&place).count().saturating_mul(value.len());
    if path.len().saturating_add(longer) > BYTES_MAX {
        return path;
    }
    path.replace(&place, value)
}

/// The target of a reference within the document. A value that is no reference is returned as it is.
fn resolved<'r>(root: &'r Value, value: &'r Value) -> &'r Value {
    let mut value = value;
    for _ in 0..DEPTH_MAX {
        let Some(pointer) = value["$ref"].as_str().and_then(|r| r.strip_prefix('#')) else {
            return value;
        };
        value = root.pointer(pointer).unwrap_or(&Value::Null);
    }
    value
}

/// The example in the document.
fn given(of: &Value) -> Option<&Value> {
    let named = of["examples"]
        .as_object()
        .and_then(|all| all.values().next());
    let first = of.get("example").or_else(|| of["examples"].get(0));
    first.or_else(|| named?.get("value"))
}

/// Which texts fit a document's patterns.
#[derive(Debug, Default)]
struct Patterns<'r>(RefCell<HashMap<&'r str, Option<Fitting>>>);

/// A bit for each of [`TEXTS`]: whether it fits. The first text has the lowest bit.
type Fitting = u16;

impl<'r> Patterns<'r> {
    /// The texts that fit a pattern; none if the pattern is invalid or too large.
    fn fitting(&self, pattern: &'r str) -> Option<Fitting> {
        if let Some(known) = self.0.borrow().get(pattern) {
            return *known;
        }
        if self.0.borrow().len() >= PATTERNS_MAX {
            return None;
        }
        let fitting = fitting(pattern);
        self.0.borrow_mut().insert(pattern, fitting);
        fitting
    }
}

/// See [`Patterns::fitting`].
fn fitting(pattern: &str) -> Option<Fitting> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return None;
    }
    let compiled = RegexBuilder::new(pattern)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .build()
        .ok()?;
    let fits = |(n, text): (usize, &&str)| Fitting::from(compiled.is_match(text)) << n;
    Some(TEXTS.iter().enumerate().map(fits).sum())
}

/// Bytes of indentation and line breaks around a value at this depth, with its closing bracket's line.
const fn around(depth: usize) -> usize {
    16 + 4 * depth
}

/// Makes one example of a document's schemas.
struct Maker<'r, 'e> {
    root: &'r Value,
    patterns: &'e Patterns<'r>,
    /// How many more properties may be looked at, for this example and all others of the document.
    properties: &'e Cell<usize>,
    /// How many more values may be made.
    values: Cell<u32>,
    /// How many more bytes it may have.
    bytes: Cell<usize>,
}

impl<'r> Maker<'r, '_> {
    /// Takes so many bytes from the rest. If the rest is too small, nothing else fits either, and it returns false.
    fn takes(&self, bytes: usize) -> bool {
        let left = self.bytes.get().checked_sub(bytes);
        self.bytes.set(left.unwrap_or(0));
        left.is_some()
    }

    /// A value of the document; null if it is too long.
    fn copied(&self, written: &Value) -> Value {
        if self.takes(weight(written, self.bytes.get())) {
            written.clone()
        } else {
            Value::Null
        }
    }

    fn body_of(&self, media: &'r Value) -> Option<String> {
        let schema = media.get("schema")?;
        if resolved(self.root, schema)["format"] == "binary" {
            return None;
        }
        let value = match given(media) {
            Some(written) if self.takes(weight(written, self.bytes.get())) => written.clone(),
            Some(_) => return None,
            None => self.value(schema, 0),
        };
        pretty(&value, BYTES_MAX)
    }

    fn parameter_value(&self, parameter: &'r Value) -> Value {
        let written = given(parameter).map(|written| self.copied(written));
        written.unwrap_or_else(|| self.value(&parameter["schema"], 0))
    }

    /// A value of a schema; null if no value is small enough.
    fn value(&self, schema: &'r Value, depth: usize) -> Value {
        let schema = resolved(self.root, schema);
        let left = self.values.get().checked_sub(1);
        let Some(left) = left.filter(|_| depth <= DEPTH_MAX) else {
            return Value::Null;
        };
        self.values.set(left);
        let written = given(schema).or_else(|| {
            let fixed = schema.get("default").or_else(|| schema.get("const"));
            fixed.or_else(|| schema["enum"].get(0))
        });
        if let Some(written) = written {
            return self.copied(written);
        }
        let parts = items(&schema["allOf"])
            .take_while(|_| self.values.get() > 0)
            .map(|part| self.value(part, depth + 1));
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
            Some("string") => return self.copied(&self.string(schema).into()),
            Some("boolean") => return true.into(),
            Some("integer" | "number") => return self.number(schema),
            _ => {}
        }
        let mut members = Map::new();
        for part in whole {
            let Value::Object(part) = part else {
                return part;
            };
            members.extend(part);
        }
        Value::Object(members)
    }

    /// The required members, and those with an example.
    fn object(&self, schema: &'r Value, depth: usize) -> Value {
        let counts = [
            schema["required"].as_array().map_or(0, Vec::len),
            schema["properties"].as_object().map_or(0, Map::len),
        ];
        let left = self.properties.get().checked_sub(counts.iter().sum());
        self.properties.set(left.unwrap_or(0));
        if left.is_none() {
            return Value::Null;
        }
        let required: HashSet<&str> = items(&schema["required"])
            .filter_map(Value::as_str)
            .collect();
        let mut members = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(name.as_str()) || given(member).is_some() {
                if !self.takes(name.len() + around(depth + 1)) {
                    break;
                }
                members.insert(name.clone(), self.value(member, depth + 1));
            }
        }
        Value::Object(members)
    }

    fn array(&self, schema: &'r Value, depth: usize) -> Value {
        let least = schema["minItems"]
            .as_u64()
            .unwrap_or_default()
            .clamp(1, ITEMS_MAX);
        let most = schema["maxItems"].as_u64().unwrap_or(least);
        let one = |_| self.value(&schema["items"], depth + 1);
        let wanted = (0..least.min(most))
            .take_while(|_| self.values.get() > 0 && self.takes(around(depth + 1)));
        wanted.map(one).collect()
    }

    fn number(&self, schema: &Value) -> Value {
        if let Some(least) = schema.get("minimum") {
            return self.copied(least);
        }
        let above = schema["exclusiveMinimum"]
            .as_i64()
            .and_then(|least| least.checked_add(1));
        above.map_or_else(|| json!(1), |above| json!(above))
    }

    fn string(&self, schema: &'r Value) -> &'static str {
        let format = match schema["format"].as_str() {
            Some("uuid") => Some(6),
            Some("date-time") => Some(4),
            Some("date") => Some(5),
            Some("http-date") => Some(9),
            Some("uri") => Some(7),
            _ => None,
        };
        let pattern = schema["pattern"].as_str();
        let fitting = pattern.and_then(|pattern| self.patterns.fitting(pattern));
        let least = schema["minLength"].as_u64().unwrap_or_default();
        let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX);
        let fits = |place: &usize| {
            let length = TEXTS[*place].chars().count() as u64;
            (least..=most).contains(&length)
                && fitting.is_none_or(|fitting| (fitting >> *place) & 1 == 1)
        };
        let plain = PLAIN.into_iter().filter(|_| fitting.is_none());
        let mut all = format.into_iter().chain(plain).chain(0..TEXTS.len());
        all.find(fits).map_or("example", |place| TEXTS[place])
    }
}

/// A value as text of a header, a path or a query.
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
