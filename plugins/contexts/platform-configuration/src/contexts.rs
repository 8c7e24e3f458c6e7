//! Names of contexts, and where their documents lie.
//!
//! A component of the release and a program outside may have one name: a program published first, and a release has a new
//! component. Then the component is shown. Each has documents of its own, so that neither gets what the other has left.

use serde::{Deserialize, Serialize};

use rialto_sdk::documents::{Collection, Store};
use serde::de::DeserializeOwned;

/// Who publishes a context's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Source {
    /// The release: the context is a component of it.
    Release,
    /// The context itself, a program outside.
    Program,
}

/// The id of a context's document. Both documents of a name follow each other, that of the component first: a space comes
/// before all that a name may have.
#[must_use]
pub fn id(context: &str, source: Source) -> String {
    match source {
        Source::Release => format!("{context} component"),
        Source::Program => format!("{context} program"),
    }
}

/// The document of a context: the component's, or else the program's.
pub fn find<T: DeserializeOwned>(
    store: &mut impl Store,
    collection: &Collection<T>,
    context: &str,
) -> Option<T> {
    let of_release = id(context, Source::Release);
    let found = collection.within(store).get(&of_release);
    found.or_else(|| collection.within(store).get(&id(context, Source::Program)))
}

/// Whether a document is shown: that of a program is hidden by the component of the same name.
pub fn is_shown<T: DeserializeOwned>(
    store: &mut impl Store,
    collection: &Collection<T>,
    context: &str,
    source: Source,
) -> bool {
    let of_release = id(context, Source::Release);
    source == Source::Release || collection.within(store).get(&of_release).is_none()
}
