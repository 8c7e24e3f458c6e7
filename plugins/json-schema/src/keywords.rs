//! The keywords, and the form that each must have.

use regex_lite::Regex;
use serde_json::{Map, Value};

use crate::{Problem, join};

/// How deep schemas may lie in each other.
const DEPTH_MAX: usize = 64;
/// The dialect.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The names of types.
pub(crate) const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// The form of a keyword's value.
enum Form {
    Schema,
    Schemas,
    SchemaOf,
    SchemaByPattern,
    Types,
    Pattern,
    Values,
    Number,
    PositiveNumber,
    Count,
    Flag,
    Names,
    NamesOf,
    Text,
    Reference,
    Anchor,
    Dialect,
    Any,
    /// The specification has it, and it is not judged here. The text says what to write instead.
    Refused(&'static str),
}

fn form(keyword: &str) -> Option<Form> {
    Some(match keyword {
        "additionalProperties"
        | "propertyNames"
        | "items"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contentSchema" => Form::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Form::Schemas,
        "$defs" | "definitions" | "properties" | "dependentSchemas" => Form::SchemaOf,
        "patternProperties" => Form::SchemaByPattern,
        "type" => Form::Types,
        "pattern" => Form::Pattern,
        "enum" => Form::Values,
        "maximum" | "exclusiveMaximum" | "minimum" | "exclusiveMinimum" => Form::Number,
        "multipleOf" => Form::PositiveNumber,
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxContains" | "minContains"
        | "maxProperties" | "minProperties" => Form::Count,
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Form::Flag,
        "required" => Form::Names,
        "dependentRequired" => Form::NamesOf,
        "title" | "description" | "format" | "$comment" | "contentEncoding"
        | "contentMediaType" => Form::Text,
        "$ref" => Form::Reference,
        "$anchor" => Form::Anchor,
        "$schema" => Form::Dialect,
        "const" | "default" | "examples" => Form::Any,
        "$dynamicRef" | "$dynamicAnchor" => Form::Refused("use `$ref` and `$anchor`"),
        "unevaluatedProperties" => Form::Refused("use `additionalProperties`"),
        "unevaluatedItems" => Form::Refused("use `items`"),
        "$vocabulary" => Form::Refused("leave it out"),
        "$recursiveRef" | "$recursiveAnchor" | "dependencies" | "additionalItems" => {
            Form::Refused("it is of an older JSON Schema: write the schema in that of 2020-12")
        }
        _ => return None,
    })
}

/// Check that a document is a schema. Members that the specification does not know are annotations.
pub(crate) fn check(document: &Value) -> Result<(), Vec<Problem>> {
    let mut checker = Checker {
        root: document,
        problems: Vec::new(),
    };
    checker.schema(document, "", 0);
    if checker.problems.is_empty() {
        Ok(())
    } else {
        Err(checker.problems)
    }
}

/// The subschema to which a reference within the document leads.
pub(crate) fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = reference.strip_prefix('#')?;
    let fragment = percent_decoded(fragment)?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&fragment);
    }
    anchored(root, &fragment, 0)
}

fn anchored<'a>(schema: &'a Value, anchor: &str, depth: usize) -> Option<&'a Value> {
    let members = schema.as_object().filter(|_| depth <= DEPTH_MAX)?;
    if members.get("$anchor").and_then(Value::as_str) == Some(anchor) {
        return Some(schema);
    }
    let mut below: Vec<&Value> = Vec::new();
    for (keyword, value) in members {
        match form(keyword) {
            Some(Form::Schema) => below.push(value),
            Some(Form::Schemas) => below.extend(value.as_array().into_iter().flatten()),
            Some(Form::SchemaOf | Form::SchemaByPattern) => {
                below.extend(value.as_object().into_iter().flat_map(Map::values));
            }
            _ => {}
        }
    }
    below
        .into_iter()
        .find_map(|schema| anchored(schema, anchor, depth + 1))
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

struct Checker<'a> {
    root: &'a Value,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn note(&mut self, pointer: &str, message: impl Into<String>) {
        self.problems.push(Problem::new(pointer, message));
    }

    fn schema(&mut self, schema: &Value, pointer: &str, depth: usize) {
        if depth > DEPTH_MAX {
            return self.note(pointer, format!("lies deeper than {DEPTH_MAX} schemas"));
        }
        match schema {
            Value::Bool(_) => {}
            Value::Object(members) => {
                for (keyword, value) in members {
                    self.keyword(keyword, value, &join(pointer, keyword), depth);
                }
            }
            _ => self.note(pointer, "must be a schema: an object, `true` or `false`"),
        }
    }

    fn keyword(&mut self, keyword: &str, value: &Value, pointer: &str, depth: usize) {
        if keyword == "$id" {
            if depth > 0 || !value.is_string() {
                self.note(pointer, "must be a text at the root, and nowhere else");
            }
            return;
        }
        let Some(form) = form(keyword) else { return };
        let is = |holds: bool, wanted: &str| (!holds).then(|| format!("must be {wanted}"));
        let wrong = match form {
            Form::Schema => {
                self.schema(value, pointer, depth + 1);
                None
            }
            Form::Schemas => self.schemas(value, pointer, depth),
            Form::SchemaOf => self.schema_of(value, pointer, depth, false),
            Form::SchemaByPattern => self.schema_of(value, pointer, depth, true),
            Form::Types => is(
                is_types(value),
                &format!("one of {}, or several", TYPES.join(", ")),
            ),
            Form::Pattern => match value.as_str() {
                None => Some("must be a text".to_owned()),
                Some(pattern) => bad_pattern(pattern),
            },
            Form::Values => is(value.is_array(), "a list of values"),
            Form::Number => is(value.is_number(), "a number"),
            Form::PositiveNumber => is(
                value.as_f64().is_some_and(|number| number > 0.0),
                "a number above 0",
            ),
            Form::Count => is(
                crate::numbers::count(value).is_some(),
                "a whole number from 0 on",
            ),
            Form::Flag => is(value.is_boolean(), "true or false"),
            Form::Names => is(is_names(value), "a list of different names"),
            Form::NamesOf => is(
                value
                    .as_object()
                    .is_some_and(|members| members.values().all(is_names)),
                "an object with lists of different names",
            ),
            Form::Text => is(value.is_string(), "a text"),
            Form::Reference => self.reference(value),
            Form::Anchor => is(
                value.as_str().is_some_and(is_anchor),
                "a letter or `_`, and then letters, digits, `-`, `_` or `.`",
            ),
            Form::Dialect => is(
                value
                    .as_str()
                    .is_some_and(|uri| uri.trim_end_matches('#') == DIALECT),
                &format!("`{DIALECT}`"),
            ),
            Form::Any => None,
            Form::Refused(instead) => Some(format!("`{keyword}` is not judged here: {instead}")),
        };
        if let Some(message) = wrong {
            self.note(pointer, message);
        }
    }

    fn schemas(&mut self, value: &Value, pointer: &str, depth: usize) -> Option<String> {
        let list = value.as_array().filter(|list| !list.is_empty());
        let Some(list) = list else {
            return Some("must be a list of at least one schema".to_owned());
        };
        for (at, schema) in list.iter().enumerate() {
            self.schema(schema, &join(pointer, &at.to_string()), depth + 1);
        }
        None
    }

    fn schema_of(
        &mut self,
        value: &Value,
        pointer: &str,
        depth: usize,
        by_pattern: bool,
    ) -> Option<String> {
        let Some(members) = value.as_object() else {
            return Some("must be an object of schemas".to_owned());
        };
        for (name, schema) in members {
            let pointer = join(pointer, name);
            if let Some(why) = by_pattern.then(|| bad_pattern(name)).flatten() {
                self.note(&pointer, why);
            }
            self.schema(schema, &pointer, depth + 1);
        }
        None
    }

    fn reference(&self, value: &Value) -> Option<String> {
        let Some(reference) = value.as_str() else {
            return Some("must be a text".to_owned());
        };
        if !reference.starts_with('#') {
            return Some("must lead into this document: `#/$defs/…`".to_owned());
        }
        let found = resolve(self.root, reference);
        let is_schema = found.is_some_and(|found| found.is_object() || found.is_boolean());
        (!is_schema).then(|| format!("leads to no schema: `{reference}`"))
    }
}

fn bad_pattern(pattern: &str) -> Option<String> {
    let error = Regex::new(pattern).err()?;
    Some(format!(
        "is no pattern that is judged here (no look-around, no references back, no classes of Unicode): {error}"
    ))
}

fn is_types(value: &Value) -> bool {
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(list) => !list.is_empty() && list.iter().all(is_type) && is_names(value),
        one => is_type(one),
    }
}

fn is_names(value: &Value) -> bool {
    let Some(list) = value.as_array() else {
        return false;
    };
    let is_new = |(at, name): (usize, &Value)| name.is_string() && !list[..at].contains(name);
    list.iter().enumerate().all(is_new)
}

fn is_anchor(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next();
    first.is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
