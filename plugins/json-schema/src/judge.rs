//! Which values fit a schema.
//!
//! Judging is bounded: by the number of schemas that are applied, since references can make a small schema apply itself
//! exponentially often, and by how deep they lie. Beyond a bound the value does not fit.

use std::cmp::Ordering;

use regex_lite::Regex;
use serde_json::{Map, Value};

use crate::keywords::{self, resolve};
use crate::numbers::{compare, count, is_multiple, is_whole, same};
use crate::{Problem, join};

/// How often a schema may be applied to a value, in all.
const APPLIED_MAX: u32 = 50_000;
/// How deep applied schemas may lie.
const DEPTH_MAX: u32 = 128;
/// The most problems that are told.
const PROBLEMS_MAX: usize = 20;
/// The most elements that are compared with each other.
const UNIQUE_MAX: usize = 1_000;

/// A document that is a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema(Value);

impl Schema {
    /// Read a schema.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn of(document: Value) -> Result<Self, Vec<Problem>> {
        keywords::check(&document)?;
        Ok(Self(document))
    }

    /// The document.
    #[must_use]
    pub const fn document(&self) -> &Value {
        &self.0
    }

    /// Judge a value.
    ///
    /// # Errors
    /// What does not fit, the first 20 of it.
    pub fn judge(&self, value: &Value) -> Result<(), Vec<Problem>> {
        let mut judge = Judge {
            root: &self.0,
            applied: 0,
            is_over: false,
        };
        let mut problems = Vec::new();
        judge.apply(&self.0, value, "", 0, &mut problems);
        if judge.is_over {
            let message = "cannot be judged: the schema applies itself too often";
            problems = vec![Problem::new("", message)];
        }
        problems.truncate(PROBLEMS_MAX);
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems)
        }
    }
}

struct Judge<'a> {
    root: &'a Value,
    applied: u32,
    is_over: bool,
}

type Problems = Vec<Problem>;

impl<'a> Judge<'a> {
    fn fits(&mut self, schema: &'a Value, value: &Value, depth: u32) -> bool {
        let mut problems = Vec::new();
        self.apply(schema, value, "", depth, &mut problems);
        problems.is_empty()
    }

    fn apply(
        &mut self,
        schema: &'a Value,
        value: &Value,
        at: &str,
        depth: u32,
        out: &mut Problems,
    ) {
        self.applied += 1;
        self.is_over = self.is_over || self.applied > APPLIED_MAX || depth > DEPTH_MAX;
        if self.is_over {
            return;
        }
        let members = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return out.push(Problem::new(at, "must not be there")),
            Value::Object(members) => members,
            // Checked when the schema was read.
            _ => return,
        };
        self.any(members, value, at, depth + 1, out);
        match value {
            Value::Number(_) => numbers(members, value, at, out),
            Value::String(text) => texts(members, text, at, out),
            Value::Array(list) => self.lists(members, list, at, depth + 1, out),
            Value::Object(object) => self.objects(members, object, at, depth + 1, out),
            _ => {}
        }
    }

    /// Keywords for all values.
    fn any(
        &mut self,
        schema: &'a Map<String, Value>,
        value: &Value,
        at: &str,
        depth: u32,
        out: &mut Problems,
    ) {
        if let Some(types) = schema.get("type")
            && !is_of(types, value)
        {
            out.push(Problem::new(
                at,
                format!("must be {}, not {}", wanted(types), kind(value)),
            ));
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.iter().any(|one| same(one, value))
        {
            let list: Vec<String> = allowed.iter().take(20).map(Value::to_string).collect();
            out.push(Problem::new(
                at,
                format!("must be one of {}", list.join(", ")),
            ));
        }
        if let Some(constant) = schema.get("const")
            && !same(constant, value)
        {
            out.push(Problem::new(at, format!("must be {constant}")));
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str)
            && let Some(target) = resolve(self.root, reference)
        {
            self.apply(target, value, at, depth, out);
        }
        for schema in list_of(schema, "allOf") {
            self.apply(schema, value, at, depth, out);
        }
        if schema.contains_key("anyOf") {
            let mut any = list_of(schema, "anyOf").iter();
            if !any.any(|schema| self.fits(schema, value, depth)) {
                out.push(Problem::new(at, "fits none of the schemas of `anyOf`"));
            }
        }
        if schema.contains_key("oneOf") {
            let all = list_of(schema, "oneOf").iter();
            let fitting = all.filter(|schema| self.fits(schema, value, depth)).count();
            if fitting != 1 {
                let message = format!("fits {fitting} of the schemas of `oneOf`, and must fit one");
                out.push(Problem::new(at, message));
            }
        }
        if let Some(not) = schema.get("not")
            && self.fits(not, value, depth)
        {
            out.push(Problem::new(at, "fits the schema of `not`"));
        }
        if let Some(condition) = schema.get("if") {
            let holds = self.fits(condition, value, depth);
            if let Some(then) = schema.get(if holds { "then" } else { "else" }) {
                self.apply(then, value, at, depth, out);
            }
        }
    }

    fn lists(
        &mut self,
        schema: &'a Map<String, Value>,
        list: &[Value],
        at: &str,
        depth: u32,
        out: &mut Problems,
    ) {
        sizes(
            schema,
            ("minItems", "maxItems"),
            list.len(),
            "elements",
            at,
            out,
        );
        let prefix = list_of(schema, "prefixItems");
        for (n, (schema, value)) in prefix.iter().zip(list).enumerate() {
            self.apply(schema, value, &join(at, &n.to_string()), depth, out);
        }
        if let Some(items) = schema.get("items") {
            for (n, value) in list.iter().enumerate().skip(prefix.len()) {
                self.apply(items, value, &join(at, &n.to_string()), depth, out);
            }
        }
        if let Some(contains) = schema.get("contains") {
            let fitting = list
                .iter()
                .filter(|value| self.fits(contains, value, depth));
            let fitting = fitting.count() as u64;
            let least = schema.get("minContains").and_then(count).unwrap_or(1);
            let most = schema
                .get("maxContains")
                .and_then(count)
                .unwrap_or(u64::MAX);
            if fitting < least || fitting > most {
                out.push(Problem::new(
                    at,
                    format!("has {fitting} elements that fit `contains`"),
                ));
            }
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            if list.len() > UNIQUE_MAX {
                out.push(Problem::new(
                    at,
                    format!("has more than {UNIQUE_MAX} elements to compare"),
                ));
                return;
            }
            let is_again = |(n, value): (usize, &Value)| list[..n].iter().any(|o| same(o, value));
            if list.iter().enumerate().any(is_again) {
                out.push(Problem::new(at, "has an element twice"));
            }
        }
    }

    fn objects(
        &mut self,
        schema: &'a Map<String, Value>,
        object: &Map<String, Value>,
        at: &str,
        depth: u32,
        out: &mut Problems,
    ) {
        sizes(
            schema,
            ("minProperties", "maxProperties"),
            object.len(),
            "members",
            at,
            out,
        );
        for name in list_of(schema, "required").iter().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                out.push(Problem::new(at, format!("lacks `{name}`")));
            }
        }
        for (name, needed) in map_of(schema, "dependentRequired") {
            for needed in needed
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                if object.contains_key(name) && !object.contains_key(needed) {
                    out.push(Problem::new(
                        at,
                        format!("has `{name}`, and lacks `{needed}`"),
                    ));
                }
            }
        }
        for (name, schema) in map_of(schema, "dependentSchemas") {
            if object.contains_key(name) {
                let whole = Value::Object(object.clone());
                self.apply(schema, &whole, at, depth, out);
            }
        }
        if let Some(names) = schema.get("propertyNames") {
            for name in object.keys() {
                if !self.fits(names, &Value::String(name.clone()), depth) {
                    out.push(Problem::new(
                        &join(at, name),
                        "has a name that is not allowed",
                    ));
                }
            }
        }
        let by_name = schema.get("properties").and_then(Value::as_object);
        let by_pattern: Vec<(Regex, &Value)> = map_of(schema, "patternProperties")
            // Checked when the schema was read.
            .filter_map(|(pattern, schema)| Some((Regex::new(pattern).ok()?, schema)))
            .collect();
        for (name, value) in object {
            let pointer = join(at, name);
            let mut is_known = false;
            if let Some(schema) = by_name.and_then(|schemas| schemas.get(name)) {
                is_known = true;
                self.apply(schema, value, &pointer, depth, out);
            }
            for (pattern, schema) in &by_pattern {
                if pattern.is_match(name) {
                    is_known = true;
                    self.apply(schema, value, &pointer, depth, out);
                }
            }
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) if !is_known => {
                    out.push(Problem::new(&pointer, "is not known"));
                }
                Some(others) if !is_known => self.apply(others, value, &pointer, depth, out),
                _ => {}
            }
        }
    }
}

fn list_of<'a>(schema: &'a Map<String, Value>, keyword: &str) -> &'a [Value] {
    let list = schema.get(keyword).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

fn map_of<'a>(
    schema: &'a Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let map = schema.get(keyword).and_then(Value::as_object);
    map.into_iter().flatten()
}

fn numbers(schema: &Map<String, Value>, value: &Value, at: &str, out: &mut Problems) {
    let Value::Number(number) = value else { return };
    let bounds: [(&str, &[Ordering], &str); 4] = [
        ("minimum", &[Ordering::Less], "at least"),
        (
            "exclusiveMinimum",
            &[Ordering::Less, Ordering::Equal],
            "more than",
        ),
        ("maximum", &[Ordering::Greater], "at most"),
        (
            "exclusiveMaximum",
            &[Ordering::Greater, Ordering::Equal],
            "less than",
        ),
    ];
    for (keyword, beyond, words) in bounds {
        if let Some(Value::Number(bound)) = schema.get(keyword)
            && beyond.contains(&compare(number, bound))
        {
            out.push(Problem::new(
                at,
                format!("is {number}, and must be {words} {bound}"),
            ));
        }
    }
    if let Some(Value::Number(of)) = schema.get("multipleOf")
        && !is_multiple(number, of)
    {
        out.push(Problem::new(
            at,
            format!("is {number}, which is no multiple of {of}"),
        ));
    }
}

fn texts(schema: &Map<String, Value>, text: &str, at: &str, out: &mut Problems) {
    sizes(
        schema,
        ("minLength", "maxLength"),
        text.chars().count(),
        "characters",
        at,
        out,
    );
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        // Checked when the schema was read.
        && let Ok(pattern) = Regex::new(pattern)
        && !pattern.is_match(text)
    {
        out.push(Problem::new(
            at,
            format!("must match the pattern `{}`", pattern.as_str()),
        ));
    }
}

fn sizes(
    schema: &Map<String, Value>,
    (least, most): (&str, &str),
    size: usize,
    of: &str,
    at: &str,
    out: &mut Problems,
) {
    let size = size as u64;
    if let Some(least) = schema
        .get(least)
        .and_then(count)
        .filter(|least| size < *least)
    {
        out.push(Problem::new(
            at,
            format!("has {size} {of}, and must have at least {least}"),
        ));
    }
    if let Some(most) = schema.get(most).and_then(count).filter(|most| size > *most) {
        out.push(Problem::new(
            at,
            format!("has {size} {of}, and may have {most}"),
        ));
    }
}

fn is_of(types: &Value, value: &Value) -> bool {
    let is_one = |name: &Value| match name.as_str() {
        Some("integer") => value.as_number().is_some_and(is_whole),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("object") => value.is_object(),
        Some("string") => value.is_string(),
        _ => false,
    };
    match types {
        Value::Array(list) => list.iter().any(is_one),
        one => is_one(one),
    }
}

fn wanted(types: &Value) -> String {
    let names: Vec<&str> = match types {
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    names.join(" or ")
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
