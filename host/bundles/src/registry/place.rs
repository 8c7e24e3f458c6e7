//! Where a bundle is in a registry.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use oci_client::Reference;

use crate::Digest;

/// The most characters of a tag.
const TAG_MAX: usize = 128;
/// The most characters of a name.
const NAME_MAX: usize = 255;

/// A place in a registry: `REGISTRY/NAME:TAG` or `REGISTRY/NAME@DIGEST`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    registry: String,
    name: String,
    at: Pointer,
}

/// What names a bundle within a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pointer {
    /// A tag, which may be moved.
    Tag(String),
    /// The digest of the manifest.
    Digest(Digest),
}

/// Why a text is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is no place in a registry: {0}. A place is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST"
)]
pub struct BadPlace(&'static str);

impl Place {
    /// The registry's host, with its port.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Its digest, if it is named by one.
    #[must_use]
    pub const fn digest(&self) -> Option<Digest> {
        match self.at {
            Pointer::Digest(digest) => Some(digest),
            Pointer::Tag(_) => None,
        }
    }

    /// The place of what has this digest there.
    #[must_use]
    pub fn pinned(&self, digest: Digest) -> Self {
        Self {
            at: Pointer::Digest(digest),
            ..self.clone()
        }
    }

    /// Whether the registry is on this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = match self.registry.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => &self.registry,
        };
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        let address = plain.parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    pub(crate) fn reference(&self) -> Reference {
        let (registry, name) = (self.registry.clone(), self.name.clone());
        match &self.at {
            Pointer::Tag(tag) => Reference::with_tag(registry, name, tag.clone()),
            Pointer::Digest(digest) => Reference::with_digest(registry, name, digest.to_string()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.name)?;
        match &self.at {
            Pointer::Tag(tag) => write!(f, ":{tag}"),
            Pointer::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

impl FromStr for Place {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<Self, BadPlace> {
        let bad = |why| Err(BadPlace(why));
        if text.contains("://") {
            return bad("it has no scheme, such as https://");
        }
        let Some((registry, rest)) = text.split_once('/') else {
            return bad("it has no name after the registry");
        };
        let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        if !registry.chars().all(is_host) {
            return bad("the registry is a host with or without a port");
        }
        // Without this, `a/b` would be a name in nobody knows which registry.
        if registry != "localhost" && !registry.contains(['.', ':']) {
            return bad("it begins with the registry's host, which has a dot or a port");
        }
        let (name, at) = if let Some((name, digest)) = rest.split_once('@') {
            let Ok(digest) = digest.parse() else {
                return bad("after `@` comes `sha256:` and 64 hexadecimal digits in lower case");
            };
            (name, Pointer::Digest(digest))
        } else if let Some((name, tag)) = rest.rsplit_once(':') {
            let mut characters = tag.chars();
            let is_tag = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
            let begins = characters
                .next()
                .is_some_and(|c| is_tag(c) && !".-".contains(c));
            if !begins || !characters.all(is_tag) || tag.len() > TAG_MAX {
                return bad("a tag has letters, digits and `_`, `.`, `-`, at most 128");
            }
            (name, Pointer::Tag(tag.to_owned()))
        } else {
            return bad("it has neither a tag nor a digest");
        };
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        let is_part = |part: &str| {
            part.chars().all(is_name)
                && part.starts_with(|c: char| c.is_ascii_alphanumeric())
                && part.ends_with(|c: char| c.is_ascii_alphanumeric())
        };
        if name.len() > NAME_MAX || !name.split('/').all(is_part) {
            return bad(
                "a name has lower-case letters, digits, and `.`, `_`, `-`, `/` between them",
            );
        }
        Ok(Self {
            registry: registry.to_owned(),
            name: name.to_owned(),
            at,
        })
    }
}
