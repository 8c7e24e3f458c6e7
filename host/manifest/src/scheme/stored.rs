//! A scheme in the form in which a release is stored.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::Scheme;
use crate::diagnostics::Diagnostics;
use crate::lock::Digests;
use crate::values::Digest;

/// What makes a scheme, without its folder: the text of its document, and the digests of its components.
///
/// The text is read when its scheme is wanted first, and once. Clones share what was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemeDocument {
    text: Arc<str>,
    digests: Digests,
    #[serde(skip)]
    read: Arc<OnceLock<Result<Arc<Scheme>, Diagnostics>>>,
}

impl SchemeDocument {
    /// The document with this text of `scheme.toml`, and with the digest of every component.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, digests: Digests) -> Self {
        Self {
            text: text.into(),
            digests,
            read: Arc::default(),
        }
    }

    /// The document of a scheme that was read.
    pub(crate) fn of(scheme: Arc<Scheme>, digests: Digests) -> Self {
        let text: Arc<str> = scheme.text().into();
        Self {
            text,
            digests,
            read: Arc::new(Ok(scheme).into()),
        }
    }

    /// The text of `scheme.toml`.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The digest of every component.
    #[must_use]
    pub const fn digests(&self) -> &Digests {
        &self.digests
    }

    /// The scheme that the text describes.
    ///
    /// # Errors
    /// With every problem; a newer host may refuse what an older one took.
    pub fn scheme(&self) -> Result<Arc<Scheme>, Diagnostics> {
        let read = || Scheme::parse(&self.text).map(Arc::new);
        self.read.get_or_init(read).clone()
    }

    /// What names the scheme by content: SHA-256 over its text and the digests of its components.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut content = format!("rialto scheme 1\n{}\n{}", self.text.len(), self.text);
        for (kind, name, digest) in self.digests.iter() {
            content += &format!("\n{kind} {name} {digest}");
        }
        Digest::of(content.as_bytes())
    }
}

impl PartialEq for SchemeDocument {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.digests == other.digests
    }
}

impl Eq for SchemeDocument {}
