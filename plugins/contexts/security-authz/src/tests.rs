//! Everything through the API and the host's question.

mod assertions;
mod changes;
mod fake;
mod fido;
