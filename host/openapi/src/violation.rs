//! Violations of requests.

/// The kinds of violations, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The header section is longer than allowed.
    HeadersTooLarge,
    /// No path of the document fits.
    UnknownPath,
    /// The path does not have this method; `allowed` names those that it has.
    MethodNotAllowed,
    /// A required header, parameter or member is not there.
    Missing,
    /// A value breaks its type, pattern, enumeration, length or range.
    Malformed,
    /// The version asked for is none of the supported ones, which `allowed` names.
    UnacceptableVersion,
    /// The body is not JSON, or not UTF-8.
    NotJson,
    /// A list or an object has more elements than allowed.
    TooManyElements,
}

/// The first violation of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its kind.
    pub kind: Kind,
    /// Where: `header Date`, `path ID`, `body /amount/currency`.
    pub location: String,
    /// A sentence for the caller.
    pub detail: String,
    /// Allowed methods, or supported versions.
    pub allowed: Vec<String>,
}

impl Violation {
    /// A violation without allowed values.
    #[must_use]
    pub fn new(kind: Kind, location: &str, detail: impl Into<String>) -> Self {
        Self {
            kind,
            location: location.to_owned(),
            detail: detail.into(),
            allowed: Vec::new(),
        }
    }
}
