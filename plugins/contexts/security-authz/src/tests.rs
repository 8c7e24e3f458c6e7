//! Everything through the API and the host's question.

mod assertions;
mod changes;
mod ends;
mod fake;
mod fido;
