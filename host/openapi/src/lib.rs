//! Judging HTTP requests by an OpenAPI document: nothing is read from a connection here and nothing is
//! answered, and no component is known. All of it is a function of a document and of a stranger's bytes,
//! so it builds in a moment by itself, and is fuzzed (`fuzz/`).
//!
//! | To see | Read |
//! |---|---|
//! | how a document becomes routes and validators | [`document`] |
//! | in which order a request's head is judged | [`head`] |
//! | how a header, a parameter or a body is judged | [`validate`] |
//! | what is said of a value that does not fit | `schema` |
//! | which JSON is taken | [`json`] |
//! | what can be wrong | [`violation`] |
//! | how a document's examples are made | [`example`] |

pub mod document;
pub mod example;
pub mod head;
pub mod json;
mod schema;
pub mod validate;
pub mod violation;

pub use document::{BadDocument, Document, Found, Operation};
pub use head::Head;
pub use violation::{Kind, Violation};
