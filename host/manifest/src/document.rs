//! A document that was read: its typed value, and the position of each part.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::diagnostics::{Code, Diagnostics, Problem};
use crate::shape::{self, Shaped};
use crate::source::Source;
use crate::tree;

/// The longest document that is read, in bytes. Schemes are far shorter.
pub const DOCUMENT_BYTES_MAX: u64 = 4 << 20;

/// A document's value and the positions of its parts.
#[derive(Clone, Debug)]
pub struct Document<T> {
    /// The typed value. Wrong values are replaced by valid ones.
    pub value: T,
    source: Source,
    shaped: Shaped,
}

impl<T: DeserializeOwned> Document<T> {
    /// Reads a document of that schema. Returns `None` if its contents cannot be checked.
    pub fn read(source: Source, schema: &Json, problems: &mut Diagnostics) -> Option<Self> {
        let root = tree::parse(&source, problems)?;
        let mut shaped = shape::compare(&source, &root, schema, problems);
        match serde_json::from_value(shaped.json.take()) {
            Ok(value) => Some(Self {
                value,
                source,
                shaped,
            }),
            // The schema is made from the type, so an error here means that the two differ.
            Err(error) => {
                problems.push(Problem {
                    source_text: source,
                    span: Some(0..0),
                    code: Code::WrongType,
                    message: format!("the document cannot be read: {error}"),
                    help: "Compare it with the JSON schema in schemes/schema.".to_owned(),
                });
                None
            }
        }
    }
}

impl<T> Document<T> {
    /// The document's text and name.
    pub const fn source(&self) -> &Source {
        &self.source
    }

    /// The position of a value, or of the nearest written one around it.
    pub fn span(&self, path: &str) -> Range<usize> {
        let mut path = path;
        loop {
            if let Some(span) = self.shaped.spans.get(path) {
                return span.clone();
            }
            path = path.rsplit_once('/').map_or("", |(outer, _)| outer);
        }
    }

    /// Whether a value, or one around it, replaces a wrong one.
    pub fn is_repaired(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at);
        ends.chain([path.len()])
            .any(|end| self.shaped.repaired.contains(&path[..end]))
    }

    /// Whether a value, one around it or one inside it replaces a wrong one. Then a missing part may be
    /// only misspelt.
    pub fn is_doubtful(&self, path: &str) -> bool {
        let inside = |repaired: &String| {
            repaired
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        self.is_repaired(path) || self.shaped.repaired.iter().any(inside)
    }

    /// Whether a malformed name is written in the document.
    pub fn is_dropped(&self, name: &str) -> bool {
        self.shaped.dropped.contains(name)
    }

    /// Whether a value is written in the document, and not a default.
    pub fn is_written(&self, path: &str) -> bool {
        self.shaped.spans.contains_key(path)
    }

    /// Report a problem with the value at `path`, unless one was reported before.
    pub fn problem(
        &self,
        problems: &mut Diagnostics,
        path: &str,
        code: Code,
        message: String,
        help: impl Into<String>,
    ) {
        if !self.is_repaired(path) {
            problems.push(Problem {
                source_text: self.source.clone(),
                span: Some(self.span(path)),
                code,
                message,
                help: help.into(),
            });
        }
    }
}
