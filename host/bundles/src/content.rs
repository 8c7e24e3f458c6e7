//! The configuration of a bundle: what it is, and what each of its files is.

use serde::{Deserialize, Serialize};

use crate::{BundlePath, FILE_BYTES_MAX};

/// The number of this form of bundles.
pub const FORMAT: u32 = 1;

/// The most bytes of a document. A host reads no longer one.
const DOCUMENT_BYTES_MAX: u64 = 4 << 20;
/// The most bytes of any other text. A plan has a whole scheme in it.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// What a bundle is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct About {
    /// Whether it has a scheme or a rule.
    pub kind: Kind,
    /// The name of the scheme or of the rule.
    pub name: String,
    /// The digest that the scheme has as a release. A rule has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The components, by name.
    pub components: Vec<Component>,
}

/// What a bundle has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A scheme, as a release has it.
    Scheme,
    /// One rule.
    Rule,
}

/// A component, with the limits within which it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Component {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub kind: ComponentKind,
    /// Its file.
    pub path: BundlePath,
    /// Its limits.
    pub limits: Limits,
}

/// What a component is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComponentKind {
    /// A bounded context.
    Context,
    /// A rule.
    Rule,
}

/// The limits of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// The most bytes of memory of an instance.
    pub memory_bytes: u64,
    /// The most milliseconds of a call.
    pub deadline_ms: u64,
    /// The most fuel of a call, if it is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// The most instances at a time, if they are limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<u32>,
}

/// What a file of a bundle is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Content {
    /// The scheme's document.
    Scheme,
    /// The digests of components that the scheme's document does not pin.
    Lock,
    /// The lines that bind a rule.
    Binding,
    /// A component.
    Component,
    /// What a component imports and exports, as WIT.
    World {
        /// The component's file.
        of: BundlePath,
    },
    /// A golden case of a rule: an input with the expected verdict.
    Case {
        /// The rule's name.
        of: String,
    },
    /// A plan of the release.
    Plan,
    /// A signature under the plan.
    Signature,
}

impl Content {
    /// The most bytes of such a file.
    #[must_use]
    pub const fn bytes_max(&self) -> u64 {
        match self {
            Self::Component => FILE_BYTES_MAX,
            Self::Scheme | Self::Lock | Self::Binding => DOCUMENT_BYTES_MAX,
            Self::World { .. } | Self::Case { .. } | Self::Plan | Self::Signature => TEXT_BYTES_MAX,
        }
    }

    /// The media type of its blob.
    #[must_use]
    pub const fn media_type(&self) -> &'static str {
        match self {
            Self::Scheme | Self::Lock | Self::Binding => "application/toml",
            Self::Component => "application/wasm",
            Self::World { .. } => "application/vnd.rialto.wit.v1",
            Self::Case { .. } => "application/vnd.rialto.case.v1+json",
            Self::Plan => "application/vnd.rialto.plan.v1+json",
            Self::Signature => "application/vnd.rialto.plan-signature.v1+json",
        }
    }
}

/// The configuration, as the artifact has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Config {
    /// [`FORMAT`].
    pub format: u32,
    #[serde(flatten)]
    pub about: About,
    /// One for each layer of the manifest, in the same order.
    pub files: Vec<Described>,
}

/// A file of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Described {
    pub path: BundlePath,
    #[serde(flatten)]
    pub content: Content,
}

/// Read before the rest, which another format may write otherwise.
#[derive(Deserialize)]
pub(crate) struct FormatOnly {
    pub format: u32,
}
