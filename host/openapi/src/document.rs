//! Reads an OpenAPI 3.1 document into operations with compiled validators.
//!
//! Rialto's extensions:
//!
//! | Extension | On | Meaning |
//! | --- | --- | --- |
//! | `x-rialto-limits: {body, headers}` | the document | the longest body and header section, in bytes |
//! | `x-rialto-trailing-slash: true` | the document | one slash at the end of a path is ignored |
//! | `x-rialto-version: {supported, pattern}` | a header parameter | its value has a version: a comma-separated list of items, or one item in `Content-Type` |
//! | `x-rialto-begins: true` | an operation | its requests begin something, and are refused while the disk is nearly full |
//! | `x-rialto-priority: low`, `middle` or `high` | an operation | of one client's requests that wait, those of a higher priority begin first; `high` if missing |

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::Validator;
use regex::Regex;
use serde_json::{Map, Value, json};

/// Body bytes that an API takes if its document does not say.
const BODY_BYTES: usize = 1 << 20;
/// Header bytes that an API takes if its document does not say.
const HEADER_BYTES: usize = 64 << 10;
/// Methods that an OpenAPI path item can have.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// A problem of a document.
#[derive(Debug, thiserror::Error)]
#[error("{at}: {what}")]
pub struct BadDocument {
    /// Its path in the document.
    pub at: String,
    /// The problem in words.
    pub what: String,
}

fn bad(at: impl Into<String>, what: impl ToString) -> BadDocument {
    BadDocument {
        at: at.into(),
        what: what.to_string(),
    }
}

/// Where a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum In {
    /// In the header section.
    Header,
    /// In the path.
    Path,
    /// In the query.
    Query,
}

impl In {
    /// For violations.
    fn word(self) -> &'static str {
        match self {
            In::Header => "header",
            In::Path => "path",
            In::Query => "query",
        }
    }
}

/// A version that a header's value carries.
#[derive(Debug)]
pub struct Versions {
    /// Whether the value is a list, of which one supported item suffices. Otherwise it is one item.
    pub is_list: bool,
    /// The pattern of one item. Its first group is the version.
    pub pattern: Regex,
    /// The supported versions, `major.minor`.
    pub supported: Vec<String>,
}

/// A parameter.
#[derive(Debug)]
pub struct Parameter {
    /// Its name; lower case for a header.
    pub name: String,
    /// Its place and name for violations, such as `header Date`.
    pub location: String,
    /// Where it is.
    pub place: In,
    /// Whether it must be there.
    pub required: bool,
    /// The schema of its value.
    pub schema: Option<Validator>,
    /// Whether it is an IMF-fixdate.
    pub is_date: bool,
    /// The version that its value carries.
    pub versions: Option<Versions>,
}

/// A request body.
#[derive(Debug)]
pub struct Body {
    /// Whether it must be there.
    pub required: bool,
    /// Its schema.
    pub schema: Validator,
    /// The media types that the document lists, without parameters, in lower case.
    pub media_types: Vec<String>,
}

/// An operation.
#[derive(Debug)]
pub struct Operation {
    /// The document's `operationId`.
    pub id: String,
    /// An upper-case method.
    pub method: String,
    /// The path as the document has it.
    pub path: String,
    /// Parameters in the document's order.
    pub parameters: Vec<Parameter>,
    /// The body, if the operation takes one.
    pub body: Option<Body>,
    /// Whether the operation has `x-rialto-begins`: a request of it begins something new.
    pub begins: bool,
    /// `x-rialto-priority`.
    pub priority: Priority,
}

/// Which of one client's requests begin first while many wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// `low`
    Low,
    /// `middle`
    Middle,
    /// `high`
    #[default]
    High,
}

/// A document, ready to route and validate by.
pub struct Document {
    /// The document's own title.
    pub title: String,
    /// The document itself.
    pub root: Value,
    /// The most bytes of a body.
    pub body_bytes_max: usize,
    /// The most bytes of a header section.
    pub header_bytes_max: usize,
    /// Whether one slash at the end of a path is ignored.
    trailing_slash: bool,
    router: matchit::Router<HashMap<String, Arc<Operation>>>,
}

/// The operations of a requested path.
pub struct Found<'a> {
    /// Operations by method.
    pub operations: &'a HashMap<String, Arc<Operation>>,
    /// Path parameters, still encoded.
    pub parameters: Vec<(&'a str, &'a str)>,
}

impl Document {
    /// A path of the document whose first segment is one of these, with that segment. A template may be
    /// any of them.
    pub fn path_within<'a>(&'a self, segments: &'a [&str]) -> Option<(&'a str, &'a str)> {
        let paths = self.root["paths"].as_object()?;
        paths.keys().find_map(|path| {
            let first = path.split('/').nth(1)?;
            let meets = |segment: &&&str| **segment == first || first.contains('{');
            let own = segments.iter().find(meets)?;
            Some((path.as_str(), *own))
        })
    }

    /// Read a document in YAML or JSON.
    ///
    /// # Errors
    /// When it is no OpenAPI 3.1 document, or has something that cannot be compiled.
    pub fn parse(text: &str) -> Result<Self, BadDocument> {
        let root: Value = serde_saphyr::from_str(text).map_err(|e| bad("", e))?;
        let version = root["openapi"].as_str().unwrap_or_default();
        if !version.starts_with("3.") {
            return Err(bad("openapi", format!("expected 3.1, found {version:?}")));
        }
        let limit = |name: &str, default| {
            let given = root["x-rialto-limits"][name].as_u64();
            given
                .and_then(|n| usize::try_from(n).ok())
                .unwrap_or(default)
        };
        let mut document = Self {
            title: root["info"]["title"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            body_bytes_max: limit("body", BODY_BYTES),
            header_bytes_max: limit("headers", HEADER_BYTES),
            trailing_slash: flag(&root, "x-rialto-trailing-slash", "")?,
            router: matchit::Router::new(),
            root: Value::Null,
        };
        let paths = root["paths"].as_object();
        for (path, item) in paths.ok_or_else(|| bad("paths", "there are none"))? {
            let mut operations = HashMap::new();
            for method in METHODS {
                if let Some(operation) = item.get(method) {
                    let at = format!("paths {path} {method}");
                    let operation = operation_of(&root, item, operation, method, path, &at)?;
                    operations.insert(operation.method.clone(), Arc::new(operation));
                }
            }
            let inserted = document.router.insert(path.as_str(), operations);
            inserted.map_err(|e| bad(format!("paths {path}"), e))?;
        }
        document.root = root;
        Ok(document)
    }

    /// The operations of a requested path.
    pub fn find<'a>(&'a self, path: &'a str) -> Option<Found<'a>> {
        let without_slash = path.strip_suffix('/').filter(|rest| !rest.is_empty());
        let path = without_slash
            .filter(|_| self.trailing_slash)
            .unwrap_or(path);
        let found = self.router.at(path).ok()?;
        Some(Found {
            operations: found.value,
            parameters: found.params.iter().collect(),
        })
    }
}

fn operation_of(
    root: &Value,
    item: &Value,
    operation: &Value,
    method: &str,
    path: &str,
    at: &str,
) -> Result<Operation, BadDocument> {
    let id = operation["operationId"]
        .as_str()
        .ok_or_else(|| bad(at, "has no operationId"))?;
    let listed = |value: &Value| value["parameters"].as_array().cloned().unwrap_or_default();
    let begins = flag(operation, "x-rialto-begins", at)?;
    let priority = priority_of(operation, at)?;
    let mut parameters = Vec::new();
    for parameter in listed(item).iter().chain(&listed(operation)) {
        parameters.push(parameter_of(root, resolve(root, parameter, at)?, at)?);
    }
    let body = match operation.get("requestBody") {
        None => None,
        Some(body) => Some(body_of(root, resolve(root, body, at)?, at)?),
    };
    Ok(Operation {
        id: id.to_owned(),
        method: method.to_uppercase(),
        path: path.to_owned(),
        parameters,
        body,
        begins,
        priority,
    })
}

fn priority_of(operation: &Value, at: &str) -> Result<Priority, BadDocument> {
    let name = "x-rialto-priority";
    let Some(given) = operation.get(name) else {
        return Ok(Priority::default());
    };
    match given.as_str() {
        Some("low") => Ok(Priority::Low),
        Some("middle") => Ok(Priority::Middle),
        Some("high") => Ok(Priority::High),
        _ => Err(bad(
            at,
            format!("{name} is {given}; it is low, middle or high"),
        )),
    }
}

/// The value of a boolean extension; false if it is missing.
fn flag(value: &Value, name: &str, at: &str) -> Result<bool, BadDocument> {
    match value.get(name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(bad(at, format!("{name} is {other}; it is true or false"))),
    }
}

/// Follow local references.
fn resolve<'a>(root: &'a Value, value: &'a Value, at: &str) -> Result<&'a Value, BadDocument> {
    const STEPS_MAX: usize = 16;
    let mut value = value;
    for _ in 0..STEPS_MAX {
        let Some(reference) = value["$ref"].as_str() else {
            return Ok(value);
        };
        let pointer = reference.strip_prefix('#');
        value = pointer
            .and_then(|pointer| root.pointer(pointer))
            .ok_or_else(|| bad(at, format!("`{reference}` leads nowhere in this document")))?;
    }
    Err(bad(at, "references go round in a circle"))
}

fn parameter_of(root: &Value, parameter: &Value, at: &str) -> Result<Parameter, BadDocument> {
    let title = parameter["name"].as_str().unwrap_or_default();
    let at = format!("{at} parameter {title}");
    let place = match parameter["in"].as_str() {
        Some("header") => In::Header,
        Some("path") => In::Path,
        Some("query") => In::Query,
        other => return Err(bad(at, format!("is in {other:?}; header, path or query"))),
    };
    let schema = resolve(root, &parameter["schema"], &at)?;
    let versions = match parameter.get("x-rialto-version") {
        None => None,
        Some(given) => Some(versions_of(title, given, &at)?),
    };
    Ok(Parameter {
        name: match place {
            In::Header => title.to_lowercase(),
            In::Path | In::Query => title.to_owned(),
        },
        location: format!("{} {title}", place.word()),
        place,
        required: place == In::Path || parameter["required"].as_bool().unwrap_or(false),
        is_date: schema["format"].as_str() == Some("http-date"),
        // The version's own pattern judges the value item by item.
        schema: match (&versions, schema) {
            (Some(_), _) | (None, Value::Null) => None,
            (None, schema) => Some(validator(root, schema, &at)?),
        },
        versions,
    })
}

fn versions_of(title: &str, given: &Value, at: &str) -> Result<Versions, BadDocument> {
    let pattern = given["pattern"]
        .as_str()
        .ok_or_else(|| bad(at, "x-rialto-version has no pattern"))?;
    let supported = given["supported"].as_array().cloned().unwrap_or_default();
    Ok(Versions {
        // HTTP allows one media type of a body, and a list of those that are accepted.
        is_list: !title.eq_ignore_ascii_case("content-type"),
        pattern: Regex::new(pattern).map_err(|e| bad(at, e))?,
        supported: supported
            .iter()
            .filter_map(|v| v.as_str().map(str::to_owned))
            .collect(),
    })
}

fn body_of(root: &Value, body: &Value, at: &str) -> Result<Body, BadDocument> {
    let content = body["content"].as_object();
    let media = content.and_then(|types| types.values().next());
    let schema = media
        .and_then(|media| media.get("schema"))
        .ok_or_else(|| bad(at, "the request body has no schema"))?;
    let essence = |name: &String| {
        let essence = name.split(';').next().unwrap_or_default();
        essence.trim().to_ascii_lowercase()
    };
    Ok(Body {
        required: body["required"].as_bool().unwrap_or(false),
        schema: validator(root, schema, at)?,
        media_types: content
            .into_iter()
            .flat_map(|types| types.keys())
            .map(essence)
            .collect(),
    })
}

/// Compile a schema; its references point into the whole document.
///
/// # Errors
/// When it is none; `at` says where it stands.
pub fn validator(root: &Value, schema: &Value, at: &str) -> Result<Validator, BadDocument> {
    let mut whole = Map::new();
    whole.insert("allOf".into(), json!([schema]));
    if let Some(components) = root.get("components") {
        whole.insert("components".into(), components.clone());
    }
    jsonschema::draft202012::options()
        .build(&Value::Object(whole))
        .map_err(|e| bad(at, format!("its schema cannot be compiled: {e}")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

    use super::*;

    fn within(path: &str) -> Option<(String, String)> {
        let text = format!(
            "openapi: 3.1.0\ninfo: {{title: t, version: '1'}}\npaths:\n  /alerts: {{}}\n  {path}: {{}}\n"
        );
        let document = Document::parse(&text).unwrap();
        let found = document.path_within(&["metrics", "releases"]);
        found.map(|(path, own)| (path.to_owned(), own.to_owned()))
    }

    #[test]
    fn a_path_with_a_reserved_segment_is_found() {
        for path in ["/metrics", "/{a}/{b}", "/{*rest}", "/m{a}", "/{a}"] {
            assert_eq!(within(path), Some((path.to_owned(), "metrics".to_owned())));
        }
        assert_eq!(within("/releases/{a}").unwrap().1, "releases");
        for path in ["/", "/participants/{a}", "/metrics-of/{a}"] {
            assert_eq!(within(path), None, "{path}");
        }
        let document = Document::parse("openapi: 3.1.0\npaths:\n  /{a}: {}\n").unwrap();
        assert_eq!(document.path_within(&[]), None);
    }

    #[test]
    fn a_trailing_slash_is_ignored_if_declared() {
        let document = |said: &str| {
            let paths = "paths:\n  /a/{b}: {get: {operationId: a}}\n  /: {get: {operationId: r}}\n";
            Document::parse(&format!("openapi: 3.1.0\n{said}{paths}"))
        };
        let parameters = |document: &Document, path: &str| {
            let found = document.find(path)?;
            Some(format!("{:?}", found.parameters))
        };
        let strict = document("").unwrap();
        assert_eq!(parameters(&strict, "/a/c/"), None);
        let lenient = document("x-rialto-trailing-slash: true\n").unwrap();
        let same = Some(r#"[("b", "c")]"#.to_owned());
        assert_eq!(parameters(&lenient, "/a/c/"), same);
        assert_eq!(parameters(&lenient, "/a/c"), same);
        for other in ["/a/c//", "/a/"] {
            assert_eq!(parameters(&lenient, other), None, "{other}");
        }
        assert!(lenient.find("/").is_some());
        let wrong = document("x-rialto-trailing-slash: 1\n").err().unwrap();
        assert!(wrong.what.contains("true or false"), "{wrong}");
    }

    #[test]
    fn what_begins_something_is_said_with_true_or_false() {
        let begins = |said: &str| {
            let text = format!("openapi: 3.1.0\npaths:\n  /a: {{get: {{operationId: a{said}}}}}\n");
            let document = Document::parse(&text)?;
            let found = document.find("/a").unwrap();
            Ok::<_, BadDocument>(found.operations["GET"].begins)
        };
        assert!(!begins("").unwrap());
        assert!(!begins(", x-rialto-begins: false").unwrap());
        assert!(begins(", x-rialto-begins: true").unwrap());
        for other in ["'true'", "1", "null", "[true]"] {
            let wrong = begins(&format!(", x-rialto-begins: {other}")).unwrap_err();
            assert_eq!(wrong.at, "paths /a get");
            assert!(wrong.what.contains("x-rialto-begins"), "{wrong}");
        }
    }

    #[test]
    fn an_operations_priority_is_one_of_three() {
        let priority = |said: &str| {
            let text = format!("openapi: 3.1.0\npaths:\n  /a: {{get: {{operationId: a{said}}}}}\n");
            let document = Document::parse(&text)?;
            let found = document.find("/a").unwrap();
            Ok::<_, BadDocument>(found.operations["GET"].priority)
        };
        assert_eq!(priority("").unwrap(), Priority::High);
        for (said, expected) in [
            ("low", Priority::Low),
            ("middle", Priority::Middle),
            ("high", Priority::High),
        ] {
            assert_eq!(
                priority(&format!(", x-rialto-priority: {said}")).unwrap(),
                expected
            );
        }
        for other in ["urgent", "1", "null", "[low]"] {
            let wrong = priority(&format!(", x-rialto-priority: {other}")).unwrap_err();
            assert_eq!(wrong.at, "paths /a get");
            assert!(wrong.what.contains("low, middle or high"), "{wrong}");
        }
    }
}
