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
//! | `x-rialto-audited: false` | an operation | the host writes no entry of the audit log for it, for example because it changes nothing |
//! | `x-rialto-roles: [maker]` | an operation | operators with one of these roles may use it, unless somebody changed that |
//! | `x-rialto-priority: low`, `middle` or `high` | an operation | of one client's requests that wait, those of a higher priority begin first; `high` if missing |

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use regex::Regex;
use serde_json::{Map, Value, json};

/// Body bytes that an API takes if its document does not say.
const BODY_BYTES: usize = 1 << 20;
/// Header bytes that an API takes if its document does not say.
const HEADER_BYTES: usize = 64 << 10;
/// The media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";
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
    /// The first value that fitted: clients send the same one each time.
    pub fitting: OnceLock<Box<str>>,
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
    /// Whether it is a form: its one media type is `application/x-www-form-urlencoded`. The schema is of an object with
    /// a text for each field.
    pub is_form: bool,
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
    /// Whether its requests need no credential: its own `security` is an empty list.
    pub is_open: bool,
    /// `summary`: one line for people.
    pub summary: String,
    /// `x-rialto-roles`; empty if the document does not say.
    pub roles: Vec<String>,
    /// Whether an operator's request of it has an entry in the audit log: unless `x-rialto-audited` is false.
    pub is_audited: bool,
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
    is_open: bool,
    /// In the document's order.
    operations: Vec<Arc<Operation>>,
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
    /// Whether the document says that clients prove who they are by their certificates: it has a security scheme of
    /// the type `mutualTLS`.
    #[must_use]
    pub fn knows_certificates(&self) -> bool {
        let schemes = &self.root["components"]["securitySchemes"];
        let mut schemes = schemes.as_object().into_iter().flatten();
        schemes.any(|(_, scheme)| scheme["type"] == "mutualTLS")
    }

    /// Whether the document says that clients prove who they are by access tokens: it has a security scheme of the type
    /// `http` with the scheme `bearer`.
    #[must_use]
    pub fn knows_tokens(&self) -> bool {
        let schemes = &self.root["components"]["securitySchemes"];
        let mut schemes = schemes.as_object().into_iter().flatten();
        schemes.any(|(_, scheme)| {
            let name = scheme["scheme"].as_str().unwrap_or_default();
            scheme["type"] == "http" && name.eq_ignore_ascii_case("bearer")
        })
    }

    /// Whether all its operations need no credential. False for a document without operations.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

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
            is_open: false,
            operations: Vec::new(),
            router: matchit::Router::new(),
            root: Value::Null,
        };
        // The default of operations. It frees none: only an operation can say that it needs no credential.
        security_of(&root, "")?;
        let mut open = 0;
        let paths = root["paths"].as_object();
        for (path, item) in paths.ok_or_else(|| bad("paths", "there are none"))? {
            let mut operations = HashMap::new();
            for method in METHODS {
                if let Some(operation) = item.get(method) {
                    let at = format!("paths {path} {method}");
                    let operation = operation_of(&root, item, operation, method, path, &at)?;
                    open += usize::from(operation.is_open);
                    let operation = Arc::new(operation);
                    document.operations.push(operation.clone());
                    operations.insert(operation.method.clone(), operation);
                }
            }
            let inserted = document.router.insert(path.as_str(), operations);
            inserted.map_err(|e| bad(format!("paths {path}"), e))?;
        }
        document.is_open = open > 0 && open == document.operations.len();
        document.root = root;
        Ok(document)
    }

    /// All operations, in the document's order.
    #[must_use]
    pub fn operations(&self) -> &[Arc<Operation>] {
        &self.operations
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
    let security = security_of(operation, at)?;
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
        is_open: security.is_some_and(<[Value]>::is_empty),
        summary: operation["summary"].as_str().unwrap_or_default().to_owned(),
        roles: roles_of(operation, at)?,
        is_audited: operation.get("x-rialto-audited").is_none()
            || flag(operation, "x-rialto-audited", at)?,
    })
}

/// The roles of `x-rialto-roles`.
fn roles_of(operation: &Value, at: &str) -> Result<Vec<String>, BadDocument> {
    let name = "x-rialto-roles";
    let Some(given) = operation.get(name) else {
        return Ok(Vec::new());
    };
    let roles = given.as_array().filter(|roles| !roles.is_empty());
    let roles = roles.into_iter().flatten().map(Value::as_str);
    let roles: Option<Vec<String>> = roles.map(|role| role.map(str::to_owned)).collect();
    let roles = roles.filter(|roles| !roles.is_empty());
    roles.ok_or_else(|| bad(at, format!("{name} is {given}; it is a list of roles")))
}

/// The alternatives of `security`; none if it is missing.
fn security_of<'v>(value: &'v Value, at: &str) -> Result<Option<&'v [Value]>, BadDocument> {
    let Some(given) = value.get("security") else {
        return Ok(None);
    };
    let alternatives = given
        .as_array()
        .filter(|all| all.iter().all(Value::is_object));
    let wrong = || bad(at, "security is no list of objects");
    alternatives
        .map(|all| Some(all.as_slice()))
        .ok_or_else(wrong)
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
        fitting: OnceLock::new(),
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
    let media_types = content.into_iter().flat_map(|types| types.keys());
    let media_types: Vec<String> = media_types.map(essence).collect();
    Ok(Body {
        required: body["required"].as_bool().unwrap_or(false),
        schema: validator(root, schema, at)?,
        is_form: media_types == [FORM],
        media_types,
    })
}

/// Compile a schema; its references point into the whole document.
///
/// # Errors
/// When it is none; `at` says where it stands.
pub fn validator(root: &Value, schema: &Value, at: &str) -> Result<Validator, BadDocument> {
    let mut whole = Map::new();
    whole.insert("allOf".into(), json!([schema]));
    if let Some(all) = root.get("components") {
        whole.insert("components".into(), needed(all, schema));
    }
    jsonschema::draft202012::options()
        .build(&Value::Object(whole))
        .map_err(|e| bad(at, format!("its schema cannot be compiled: {e}")))
}

/// What a schema needs of a document's components: those that it refers to, and those that they refer to. A document has
/// hundreds of schemas, and each of them is compiled with what it needs.
fn needed(all: &Value, schema: &Value) -> Value {
    let mut found: BTreeMap<&str, BTreeMap<&str, &Value>> = BTreeMap::new();
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        let members = match value {
            Value::Object(members) => members,
            Value::Array(items) => {
                open.extend(items);
                continue;
            }
            _ => continue,
        };
        for (key, value) in members {
            let ("$ref" | "$dynamicRef", Some(reference)) = (&**key, value.as_str()) else {
                open.push(value);
                continue;
            };
            let Some((kind, name)) = component(reference) else {
                return all.clone();
            };
            // What is not there is said when the schema is compiled.
            let Some(there) = all.get(kind).and_then(|kind| kind.get(name)) else {
                continue;
            };
            if found.entry(kind).or_default().insert(name, there).is_none() {
                open.push(there);
            }
        }
    }
    json!(found)
}

/// The kind and the name of the component that a reference is of. None if it has escapes, or is of something else.
fn component(reference: &str) -> Option<(&str, &str)> {
    let place = reference.strip_prefix("#/components/")?;
    if place.contains(['~', '%']) {
        return None;
    }
    let mut parts = place.split('/');
    Some((parts.next()?, parts.next()?))
}

#[cfg(test)]
mod tests;
