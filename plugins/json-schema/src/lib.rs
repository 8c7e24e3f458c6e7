//! JSON Schema 2020-12 for components: judges whether a document is a schema, judges values by it, and fills in defaults.
//!
//! | Module | Holds |
//! |---|---|
//! | [`keywords`] | the keywords, and the form that each must have |
//! | [`judge`] | which values fit |
//! | [`defaults`] | values with the defaults of what is not there |
//! | [`differing`] | which values differ, by JSON pointers |
//! | [`settings`] | for tests: whether a schema describes a component's settings |
//!
//! A small component cannot carry a whole library of JSON Schema: with its regular expressions and metaschemas that is
//! several megabytes to compile. Here is the part that describes settings: the vocabularies core, applicator, validation and
//! metadata, with references within the document. A schema with a keyword of the specification that is not judged here
//! (`$dynamicRef`, `unevaluatedProperties`, `$id` below the root …) is refused, so that no value passes unjudged. `format` is
//! an annotation, as in the specification.

pub mod defaults;
pub mod differing;
pub mod judge;
pub mod keywords;
mod numbers;
pub mod settings;

pub use defaults::with_defaults;
pub use differing::differences;
pub use judge::Schema;

/// Something wrong with a schema or a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// A JSON pointer into the document; empty for the whole.
    pub pointer: String,
    /// A sentence without its full stop: what is wrong.
    pub message: String,
}

impl Problem {
    fn new(pointer: &str, message: impl Into<String>) -> Self {
        Self {
            pointer: pointer.to_owned(),
            message: message.into(),
        }
    }
}

/// The JSON pointer (RFC 6901) to a member or an element.
fn join(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}
