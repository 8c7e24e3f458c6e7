//! Compares a document with its JSON schema, which is made from the types in [`crate::scheme`] and
//! [`crate::operator`].
//!
//! The comparison does not stop at the first problem. It replaces a wrong value by a valid one and remembers its
//! position. So everything else can be checked, and no problem is reported that only follows from another.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::{Map, Value as Json};

use crate::diagnostics::{Code, Diagnostics, Problem};
use crate::source::Source;
use crate::tree::{Member, Node, Value};
use crate::values::Format;

/// The result of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Shaped {
    /// The document as JSON; always of the right shape.
    pub json: Json,
    /// The position of each value, by its path (a JSON pointer without the first slash).
    pub spans: HashMap<String, Range<usize>>,
    /// Paths of values that were replaced.
    pub repaired: HashSet<String>,
    /// Names that were left out because they are malformed.
    pub dropped: HashSet<String>,
}

/// Compare a document with a schema.
pub fn compare(source: &Source, root: &Node, schema: &Json, problems: &mut Diagnostics) -> Shaped {
    let mut walk = Walk {
        source,
        schema,
        problems,
        shaped: Shaped::default(),
    };
    let json = walk.node(root, schema, "");
    let mut shaped = walk.shaped;
    shaped.json = json;
    shaped
}

struct Walk<'a> {
    source: &'a Source,
    schema: &'a Json,
    problems: &'a mut Diagnostics,
    shaped: Shaped,
}

impl<'a> Walk<'a> {
    /// Follows a schema's reference to a definition.
    fn resolve(&self, schema: &'a Json) -> &'a Json {
        schema["$ref"]
            .as_str()
            .and_then(|reference| reference.strip_prefix('#'))
            .and_then(|pointer| self.schema.pointer(pointer))
            .unwrap_or(schema)
    }

    /// The alternative of a shape that a value is meant to have: a table for a table, and the first one for all else.
    fn chosen(&self, shape: &'a Json, value: &Value) -> &'a Json {
        let alternatives = shape["anyOf"].as_array().map_or(&[][..], Vec::as_slice);
        let mut alternatives = alternatives.iter().map(|one| self.resolve(one));
        let first = alternatives.clone().next().unwrap_or(shape);
        let table = alternatives.find(|one| one["type"] == "object");
        match value {
            Value::Table(_) => table.unwrap_or(first),
            _ => first,
        }
    }

    fn node(&mut self, node: &Node, schema: &'a Json, path: &str) -> Json {
        let shape = self.chosen(self.resolve(schema), &node.value);
        self.shaped.spans.insert(path.to_owned(), node.span.clone());
        let expected = shape["type"].as_str().unwrap_or("");
        if is_free(shape) && !matches!(node.value, Value::Unusable) {
            self.spans_within(node, path.to_owned());
            return free(node);
        }
        match (&node.value, expected) {
            (Value::Table(members), "object") => self.table(node, members, shape, path),
            (Value::Array(nodes), "array") => {
                let items = &shape["items"];
                let element = |(n, node)| self.node(node, items, &join(path, &format!("{n}")));
                nodes.iter().enumerate().map(element).collect()
            }
            (Value::String(text), "string") => self.text(node, text, shape, path),
            (Value::String(text), "") if !allowed(shape).is_empty() => {
                self.text(node, text, shape, path)
            }
            (Value::Integer(number), "integer") => self.integer(node, *number, shape, path),
            (Value::Float(number), "number") => self.number(node, *number, shape, path),
            (Value::Integer(number), "number") => {
                #[allow(
                    clippy::cast_precision_loss,
                    reason = "it is beyond the range long before"
                )]
                let number = *number as f64;
                self.number(node, number, shape, path)
            }
            (Value::Boolean(yes), "boolean") => Json::Bool(*yes),
            (Value::Unusable, _) => self.repair(shape, path),
            _ => {
                let message = format!(
                    "`{}` takes {}, not {}",
                    last(path),
                    what(shape),
                    node.value.what()
                );
                self.problem(&node.span, Code::WrongType, message, &help(schema, shape));
                self.repair(shape, path)
            }
        }
    }

    fn table(&mut self, node: &Node, members: &[Member], shape: &'a Json, path: &str) -> Json {
        let mut json = Map::new();
        let keys = shape["properties"].as_object();
        let named = shape["patternProperties"]
            .as_object()
            .and_then(|patterns| patterns.iter().next());
        for member in members {
            let inner = join(path, &member.key);
            let known = keys.and_then(|keys| keys.get(&member.key));
            let mut of_key = || named.filter(|(pattern, _)| self.is_key(member, pattern));
            if let Some(schema) = known.or_else(|| of_key().map(|(_, schema)| schema)) {
                let value = self.node(&member.node, schema, &inner);
                json.insert(member.key.clone(), value);
            } else if named.is_some() {
                self.shaped.dropped.insert(member.key.clone());
            } else if shape["additionalProperties"] == Json::Bool(false) {
                self.unknown_key(member, shape);
            } else {
                self.spans_within(&member.node, inner);
                json.insert(member.key.clone(), free(&member.node));
            }
        }
        for key in required(shape) {
            if !json.contains_key(key) {
                let table = table_name(path);
                let schema = &shape["properties"][key];
                let message = format!("missing key `{key}` in {table}");
                let help = help(schema, self.resolve(schema));
                self.problem(&node.span, Code::MissingKey, message, &help);
                let value = self.repair(self.resolve(schema), &join(path, key));
                json.insert(key.to_owned(), value);
            }
        }
        Json::Object(json)
    }

    /// Notes positions in a value that no schema describes.
    fn spans_within(&mut self, node: &Node, path: String) {
        match &node.value {
            Value::Table(members) => {
                for member in members {
                    self.spans_within(&member.node, join(&path, &member.key));
                }
            }
            Value::Array(nodes) => {
                for (n, node) in nodes.iter().enumerate() {
                    self.spans_within(node, join(&path, &n.to_string()));
                }
            }
            _ => {}
        }
        self.shaped.spans.insert(path, node.span.clone());
    }

    /// Whether a key is a text of the kind with this pattern.
    fn is_key(&mut self, member: &Member, pattern: &str) -> bool {
        let kind = Format::with_pattern(pattern);
        let Err(reason) = (kind.check)(&member.key) else {
            return true;
        };
        let message = format!("`{}` is not {}", member.key, kind.what);
        let help = sentence(&reason.0);
        self.problem(&member.key_span, Code::BadValue, message, &help);
        false
    }

    fn unknown_key(&mut self, member: &Member, shape: &'a Json) {
        let empty = Map::new();
        let keys = shape["properties"].as_object().unwrap_or(&empty);
        let mut message = format!("unknown key `{}`", member.key);
        let help = if let Some(near) = nearest(&member.key, keys.keys().map(String::as_str)) {
            message += &format!(", did you mean `{near}`?");
            help(&keys[near], self.resolve(&keys[near]))
        } else {
            let known: Vec<_> = keys.keys().map(|key| format!("`{key}`")).collect();
            format!("The keys here are {}.", known.join(", "))
        };
        self.problem(&member.key_span, Code::UnknownKey, message, &help);
    }

    fn text(&mut self, node: &Node, text: &str, shape: &'a Json, path: &str) -> Json {
        let choices = allowed(shape);
        if !choices.is_empty() {
            return self.choice(node, text, &choices, shape, path);
        }
        if let Some(format) = shape["format"].as_str().and_then(Format::named) {
            if let Err(reason) = (format.check)(text) {
                let message = format!("`{text}` is not {}", format.what);
                self.problem(&node.span, Code::BadValue, message, &sentence(&reason.0));
                return self.repair(shape, path);
            }
            return Json::String(text.to_owned());
        }
        let length = text.chars().count() as u64;
        let (min, max) = (&shape["minLength"], &shape["maxLength"]);
        let (min, max) = (min.as_u64().unwrap_or(0), max.as_u64().unwrap_or(u64::MAX));
        if !(min..=max).contains(&length) || text.chars().any(char::is_control) {
            let message = format!("`{}` has {length} characters", last(path));
            let help =
                format!("It takes {min} to {max} characters, none of them a control character.");
            self.problem(&node.span, Code::BadValue, message, &help);
            return self.repair(shape, path);
        }
        Json::String(text.to_owned())
    }

    fn choice(
        &mut self,
        node: &Node,
        text: &str,
        choices: &[&str],
        shape: &'a Json,
        path: &str,
    ) -> Json {
        if choices.contains(&text) {
            return Json::String(text.to_owned());
        }
        let mut message = format!("unknown value `{text}`");
        if let Some(near) = nearest(text, choices.iter().copied()) {
            message += &format!(", did you mean `{near}`?");
        }
        let help = match choices {
            [only] => format!("The only value here is `{only}`."),
            _ => format!("The values here are `{}`.", choices.join("`, `")),
        };
        self.problem(&node.span, Code::BadValue, message, &help);
        self.repair(shape, path)
    }

    fn integer(&mut self, node: &Node, number: i64, shape: &'a Json, path: &str) -> Json {
        let min = shape["minimum"].as_i64().unwrap_or(i64::MIN);
        let max = shape["maximum"].as_i64().unwrap_or(i64::MAX);
        if (min..=max).contains(&number) {
            return Json::from(number);
        }
        let message = format!("`{number}` is out of range");
        let help = format!("`{}` goes from {min} to {max}.", last(path));
        self.problem(&node.span, Code::BadValue, message, &help);
        self.repair(shape, path)
    }

    fn number(&mut self, node: &Node, number: f64, shape: &'a Json, path: &str) -> Json {
        let min = shape["minimum"].as_f64().unwrap_or(f64::MIN);
        let max = shape["maximum"].as_f64().unwrap_or(f64::MAX);
        // A value that is not a number has no range.
        if (min..=max).contains(&number) {
            return Json::from(number);
        }
        let message = format!("`{number}` is out of range");
        let help = format!("`{}` goes from {min} to {max}.", last(path));
        self.problem(&node.span, Code::BadValue, message, &help);
        self.repair(shape, path)
    }

    /// A value of that shape to replace a wrong one, which is noted.
    fn repair(&mut self, shape: &'a Json, path: &str) -> Json {
        self.shaped.repaired.insert(path.to_owned());
        self.example(shape)
    }

    fn example(&self, shape: &'a Json) -> Json {
        let shape = self.chosen(self.resolve(shape), &Value::Unusable);
        if let Some(choice) = allowed(shape).first() {
            return Json::from(*choice);
        }
        match shape["type"].as_str() {
            Some("object") => required(shape)
                .map(|key| (key.to_owned(), self.example(&shape["properties"][key])))
                .collect(),
            Some("array") => Json::Array(Vec::new()),
            Some("integer" | "number") => shape.get("minimum").cloned().unwrap_or_else(|| 0.into()),
            Some("boolean") => Json::Bool(false),
            _ => shape["examples"]
                .get(0)
                .cloned()
                .unwrap_or_else(|| "-".into()),
        }
    }

    fn problem(&mut self, span: &Range<usize>, code: Code, message: String, help: &str) {
        self.problems.push(Problem {
            source_text: self.source.clone(),
            span: Some(span.clone()),
            code,
            message,
            help: help.to_owned(),
        });
    }
}

/// A path's last part.
fn last(path: &str) -> &str {
    path.rsplit('/')
        .find(|part| part.parse::<usize>().is_err())
        .unwrap_or(path)
}

/// The name of the table at a path, without the index of an array's element, which its position shows.
fn table_name(path: &str) -> String {
    if path.is_empty() {
        return "the document".to_owned();
    }
    let parts = path.split('/');
    let names: Vec<_> = parts
        .filter(|part| part.parse::<usize>().is_err())
        .collect();
    format!("`{}`", names.join("."))
}

/// The path of a member.
pub fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}/{key}")
    }
}

fn required(shape: &Json) -> impl Iterator<Item = &str> {
    let keys = shape["required"].as_array().map_or(&[][..], Vec::as_slice);
    keys.iter().filter_map(Json::as_str)
}

/// The texts that a choice allows; empty if the shape is no choice.
fn allowed(shape: &Json) -> Vec<&str> {
    let listed = shape["enum"].as_array().map_or(&[][..], Vec::as_slice);
    let described = shape["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
    let constants = described
        .iter()
        .flat_map(|choice| {
            let inner = choice["enum"].as_array().map_or(&[][..], Vec::as_slice);
            choice.get("const").into_iter().chain(inner)
        })
        .chain(shape.get("const"));
    listed
        .iter()
        .chain(constants)
        .filter_map(Json::as_str)
        .collect()
}

/// The kind of value that a shape accepts, with its article.
fn what(shape: &Json) -> String {
    if let Some(format) = shape["format"].as_str().and_then(Format::named) {
        return format!("{} such as `\"{}\"`", format.what, format.example);
    }
    if let Some(choice) = allowed(shape).first() {
        return format!("a text such as `\"{choice}\"`");
    }
    match shape["type"].as_str() {
        Some("object") => "a table",
        Some("array") => "an array",
        Some("integer") => "a whole number",
        Some("number") => "a number",
        Some("boolean") => "true or false",
        _ => "a text",
    }
    .to_owned()
}

/// The meaning of a key: the first paragraph of its documentation.
fn help(schema: &Json, shape: &Json) -> String {
    let text = schema["description"]
        .as_str()
        .or_else(|| shape["description"].as_str())
        .unwrap_or("See the schema of this document.");
    let text = text.split("\n\n").next().unwrap_or(text);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sentence(half: &str) -> String {
    let mut characters = half.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), characters.as_str())
}

/// The name that was probably meant.
pub fn nearest<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    names
        .map(|name| (strsim::damerau_levenshtein(text, name), name))
        .filter(|(distance, name)| *distance <= (name.len().min(text.len()) / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Whether a schema takes every value.
fn is_free(shape: &Json) -> bool {
    match shape {
        Json::Bool(takes) => *takes,
        Json::Object(keys) => keys.keys().all(|key| key == "description"),
        _ => false,
    }
}

/// A value that no schema describes, such as a component's settings.
fn free(node: &Node) -> Json {
    match &node.value {
        Value::String(text) | Value::Datetime(text) => Json::from(text.as_str()),
        Value::Integer(number) => Json::from(*number),
        Value::Float(number) => Json::from(*number),
        Value::Boolean(yes) => Json::from(*yes),
        Value::Unusable => Json::Null,
        Value::Array(nodes) => nodes.iter().map(free).collect(),
        Value::Table(members) => members
            .iter()
            .map(|member| (member.key.clone(), free(&member.node)))
            .collect(),
    }
}
