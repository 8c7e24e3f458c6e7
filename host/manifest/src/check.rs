//! Checks beyond a document's shape. Checks that need the components' contents are where components are loaded.

mod admission;
mod changes;
mod cluster;
mod events;
mod keys;
mod operator;
mod releases;
mod scheme;
mod sign_in;
mod tls;

pub(crate) use admission::admission;
pub use admission::admit;
pub(crate) use operator::operator;
pub(crate) use scheme::{bound_twice, scheme};

/// A name that nothing bears: the message.
pub(crate) fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> String {
    match crate::shape::nearest(name, known) {
        Some(near) => format!("unknown {what} `{name}`, did you mean `{near}`?"),
        None => format!("unknown {what} `{name}`"),
    }
}

/// Names as a sentence lists them.
pub(crate) fn list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
