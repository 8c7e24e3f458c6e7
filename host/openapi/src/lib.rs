//! Validates HTTP requests against an OpenAPI document. It has no connections and no components: everything is a
//! function of a document and of untrusted bytes. So it builds quickly alone, and is fuzzed (`fuzz/`).
//!
//! | To see | Read |
//! |---|---|
//! | how a document becomes routes and validators | [`document`] |
//! | the order of the checks of a head | [`head`] |
//! | how a header, a parameter or a body is validated | [`validate`] |
//! | the messages about values that do not fit | `schema` |
//! | which JSON is accepted | [`json`] |
//! | which forms are accepted | `form.rs` |
//! | the kinds of violations | [`violation`] |
//! | how a document's examples are made | [`example`] |

pub mod document;
pub mod example;
mod form;
pub mod head;
pub mod json;
mod schema;
pub mod validate;
pub mod violation;

pub use document::{BadDocument, Document, Found, Operation, Priority};
pub use head::Head;
pub use violation::{Kind, Violation};
