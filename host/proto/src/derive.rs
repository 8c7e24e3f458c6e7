//! Derives messages and services from WIT. This module decides which message a type gets and which call a function gets,
//! and their names. `shapes.rs` converts the types. The lock adds the numbers later.

use std::collections::{BTreeMap, HashMap};

use wit_parser::{Docs, Function, InterfaceId, PackageId, Resolve, Type, TypeDefKind};

use crate::lock::Lock;
use crate::model::{Cardinality, Field, File, Form, Kind, Message, Method, Service};
use crate::wit::Chosen;
use crate::{names, wit};

/// Names that many interfaces use for their own types. They get the interface's name as a prefix.
const COMMON_NAMES: &[&str] = &["request", "response", "event"];

/// Something in the WIT that has no form in protobuf.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {message}")]
pub struct Problem {
    /// The interface and the item in it.
    pub at: String,
    /// The problem and its remedy.
    pub message: String,
}

/// The files for the chosen calls in `resolve`, not yet numbered. Types keep the names that they have in
/// the lock.
///
/// # Errors
/// When types have no form in protobuf, or names collide: all of them.
pub fn derive(resolve: &Resolve, chosen: &Chosen, lock: &Lock) -> Result<Vec<File>, Vec<Problem>> {
    let mut deriving = Deriving::new(resolve, lock);
    for (interface, functions) in wit::calls(resolve, chosen) {
        for function in functions {
            deriving.method(interface, function);
        }
    }
    deriving.finish()
}

/// The place where a type is used, for messages of problems and for the file of wrappers.
#[derive(Clone, Debug)]
pub(crate) struct UseSite {
    pub package: PackageId,
    pub at: String,
}

pub(crate) struct Deriving<'a> {
    pub resolve: &'a Resolve,
    files: BTreeMap<String, File>,
    /// Full names by WIT type.
    known: HashMap<String, String>,
    /// The WIT type of each full name.
    taken: HashMap<String, String>,
    /// As `known`, but from the lock, so some may no longer exist.
    locked: HashMap<String, String>,
    problems: Vec<Problem>,
}

impl<'a> Deriving<'a> {
    fn new(resolve: &'a Resolve, lock: &Lock) -> Self {
        let locked = lock.names();
        let taken = locked.iter().map(|(wit, name)| (name.clone(), wit.clone()));
        Self {
            resolve,
            files: BTreeMap::new(),
            known: HashMap::new(),
            taken: taken.collect(),
            locked,
            problems: Vec::new(),
        }
    }

    fn finish(self) -> Result<Vec<File>, Vec<Problem>> {
        if self.problems.is_empty() {
            Ok(self.files.into_values().collect())
        } else {
            Err(self.problems)
        }
    }

    pub fn problem(&mut self, site: &UseSite, message: impl Into<String>) {
        let problem = Problem {
            at: site.at.clone(),
            message: message.into(),
        };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    pub fn file(&mut self, package: PackageId) -> &mut File {
        let package = &self.resolve.packages[package];
        let name = names::package(&package.name);
        let file = self.files.entry(name.clone());
        file.or_insert_with(|| File {
            package: name,
            path: names::path(&package.name),
            docs: text(&package.docs),
            imports: Default::default(),
            service: None,
            messages: Vec::new(),
            enums: Vec::new(),
        })
    }

    /// Notes that a file uses another. Compatible versions of a package are in one file.
    pub fn uses(&mut self, package: PackageId, other: PackageId) {
        let path = names::path(&self.resolve.packages[other].name);
        let file = self.file(package);
        if file.path != path {
            file.imports.insert(path);
        }
    }

    /// The full name of the type `wit` of a package, and whether it is new and must be written.
    /// A new type gets the first free one of `candidates`.
    pub fn name(
        &mut self,
        site: &UseSite,
        package: PackageId,
        wit: &str,
        candidates: &[String],
    ) -> (String, bool) {
        let of = names::package(&self.resolve.packages[package].name);
        let key = format!("{of}/{wit}");
        if let Some(known) = self.known.get(&key) {
            return (known.clone(), false);
        }
        let free = || {
            let mut full = candidates.iter().map(|name| format!("{of}.{name}"));
            full.find(|full| !self.taken.contains_key(full))
        };
        let name = match self.locked.get(&key).cloned().or_else(free) {
            Some(name) => name,
            None => {
                let tried = candidates.join("` and `");
                let message =
                    format!("`{tried}` is already something else in {of}: rename the type");
                self.problem(site, message);
                format!("{of}.{}", candidates.first().map_or("", String::as_str))
            }
        };
        self.taken.insert(name.clone(), key.clone());
        self.known.insert(key, name.clone());
        (name, true)
    }

    /// Names for a type of an interface.
    pub fn candidates(&self, interface: InterfaceId, name: &str) -> Vec<String> {
        let of = self.resolve.interfaces[interface].name.as_deref();
        let long = format!(
            "{}{}",
            names::camel(of.unwrap_or_default()),
            names::camel(name)
        );
        if COMMON_NAMES.contains(&name) {
            // The call itself has the better name where it does not answer with the record by itself.
            let inner = format!("{long}Data");
            vec![long, inner]
        } else {
            vec![names::camel(name), long]
        }
    }

    fn method(&mut self, id: InterfaceId, function: &Function) {
        let resolve = self.resolve;
        let interface = &resolve.interfaces[id];
        let (Some(of), Some(package)) = (&interface.name, interface.package) else {
            return;
        };
        let name = if *of == function.name {
            names::camel(of)
        } else {
            format!("{}{}", names::camel(of), names::camel(&function.name))
        };
        let site = UseSite {
            package,
            at: format!("{of}.{}", function.name),
        };
        let parts = function.result.and_then(|result| self.kind_of(result));
        let (ok, err) = match parts {
            Some(TypeDefKind::Result(parts)) => (parts.ok, Some(parts.err)),
            _ => (function.result, None),
        };
        let input = self.input(&site, id, function, &name);
        let output = self.output(&site, id, ok, &name);
        let error = err.map(|err| self.error(&site, err, &name));
        let docs = [text(&interface.docs), text(&function.docs)];
        let docs = docs.iter().filter(|docs| !docs.is_empty()).cloned();
        let method = Method {
            name,
            interface: resolve.packages[package].name.interface_id(of),
            function: function.name.clone(),
            parameters: function.params.iter().map(|p| p.name.clone()).collect(),
            docs: docs.collect::<Vec<_>>().join("\n"),
            input,
            output,
            error,
            event: function.result.is_none(),
        };
        self.service(package).methods.push(method);
    }

    fn service(&mut self, package: PackageId) -> &mut Service {
        let name = names::service(&self.resolve.packages[package].name);
        let docs = text(&self.resolve.packages[package].docs);
        let file = self.file(package);
        file.service.get_or_insert(Service {
            name,
            docs,
            methods: Vec::new(),
        })
    }

    /// The input message of a function. A single record named `request` or `event` is the message itself.
    /// Other parameters are wrapped in a message, so that a parameter can be added.
    fn input(&mut self, site: &UseSite, id: InterfaceId, function: &Function, of: &str) -> String {
        if let [only] = function.params.as_slice()
            && let Some(record) = self.own_record(id, only.ty, tells(function))
        {
            return self.message_of(site, record);
        }
        let params = function.params.iter();
        let params = params.map(|param| (param.name.clone(), param.ty));
        self.wrapped(site, &format!("{of}Request"), "request", params.collect())
    }

    fn output(&mut self, site: &UseSite, id: InterfaceId, ok: Option<Type>, of: &str) -> String {
        let record = ok.and_then(|ty| self.own_record(id, ty, "response"));
        if let Some(record) = record {
            return self.message_of(site, record);
        }
        let fields = ok.map(|ty| ("result".to_owned(), ty)).into_iter();
        self.wrapped(site, &format!("{of}Response"), "response", fields.collect())
    }

    /// The message of a refusal. A record is not wrapped, because it is a detail of the status.
    fn error(&mut self, site: &UseSite, err: Option<Type>, of: &str) -> String {
        if let Some(ty) = err
            && let Some(Kind::Message(name)) = self.element(site, ty)
        {
            return name;
        }
        let fields = err.map(|ty| ("error".to_owned(), ty)).into_iter();
        self.wrapped(site, &format!("{of}Error"), "error", fields.collect())
    }

    fn wrapped(
        &mut self,
        site: &UseSite,
        name: &str,
        what: &str,
        fields: Vec<(String, Type)>,
    ) -> String {
        let wit = format!("{} {what}", site.at);
        let (full, new) = self.name(site, site.package, &wit, &[name.to_owned()]);
        if new {
            let fields = fields.into_iter();
            let fields = fields.filter_map(|(name, ty)| self.field(site, &name, ty, String::new()));
            let fields: Vec<Field> = fields.collect();
            self.put(
                site,
                &full,
                (wit, Form::Wrapper),
                String::new(),
                None,
                fields,
            );
        }
        full
    }

    /// Adds a message to a file.
    pub fn put(
        &mut self,
        site: &UseSite,
        full: &str,
        (wit, form): (String, Form),
        docs: String,
        oneof: Option<String>,
        fields: Vec<Field>,
    ) {
        debug_assert_eq!(
            oneof.is_some(),
            fields
                .iter()
                .any(|field| field.cardinality == Cardinality::Case)
        );
        for (n, field) in fields.iter().enumerate() {
            let json = names::json(&field.name);
            if fields[..n]
                .iter()
                .any(|other| names::json(&other.name) == json)
            {
                let message =
                    format!("two fields of `{full}` are both `{json}` in JSON: rename one");
                self.problem(site, message);
            }
        }
        let message = Message {
            name: names::last(full).to_owned(),
            wit,
            form,
            docs,
            oneof,
            fields,
            reserved: Vec::new(),
        };
        self.file(site.package).messages.push(message);
    }
}

/// The name of the record that is the function's input: `request` or `event`.
fn tells(function: &Function) -> &'static str {
    match function.result {
        Some(_) => "request",
        None => "event",
    }
}

/// The words of a doc comment.
pub(crate) fn text(docs: &Docs) -> String {
    docs.contents
        .as_deref()
        .unwrap_or_default()
        .trim()
        .to_owned()
}
