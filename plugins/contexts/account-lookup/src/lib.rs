//! Account Lookup (and Discovery): the bounded context that knows the FSP of each party, and forwards party
//! queries to it.
//!
//! Its oracle is its own collection of documents. A party query is a document until the party's FSP answers or
//! a reminder ends it.

pub mod associations;
pub mod bindings;
pub mod documents;
mod host;
pub mod queries;
#[cfg(test)]
mod rollback;
pub mod settings;
pub mod surroundings;
#[cfg(test)]
mod tests;
pub mod waiting;

/// The component; its exports are in `host`.
pub struct Component;

// Component exports have names that no native linker takes.
#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
