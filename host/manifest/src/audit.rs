//! The table `[audit]` of the operator's document: who signs the audit log, and where its checkpoints go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{BaseUrl, FilePath, Name};

/// The longest name of a log, in characters.
const ORIGIN_CHARACTERS_MAX: usize = 255;

/// Signed checkpoints of the audit log. A provider of `[keys]` makes and keeps the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AuditLog {
    /// The log's name in its checkpoints, without blanks and plus signs. By the format's advice a URL without its scheme: `hub.example/audit`.
    pub origin: String,
    /// The provider's name.
    pub provider: Name,
    /// The file of the key's reference, absolute or relative to this document. If it is missing, the host makes a key at its start, with the public key in the file of this name and `.pem`.
    #[schemars(with = "FilePath")]
    pub reference: FilePath,
    /// Files with public keys (PEM) that have signed checkpoints before, absolute or relative to this document.
    #[schemars(with = "Vec<FilePath>")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier_keys: Vec<FilePath>,
    /// The folder to which a checkpoint is written each minute, absolute or relative to this document. It belongs on another machine, or where files cannot be changed: whoever has a checkpoint finds what was changed before it.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<FilePath>,
    /// The URL to which a checkpoint is put each minute: `PUT <url>/<size>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints_url: Option<BaseUrl>,
    /// The file with the certificates of the authority that the server of `checkpoints-url` must be certified by, PEM. Without it, the system's authorities.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints_ca: Option<FilePath>,
    /// Witnesses, who sign a checkpoint each minute if it goes on from the one before (c2sp.org/tlog-witness).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<Witness>,
}

/// A witness of the audit log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Witness {
    /// The URL before `/add-checkpoint`.
    pub url: BaseUrl,
    /// Its public key, as c2sp.org/signed-note writes keys of the type 4: `name+id+key`.
    pub key: String,
    /// The file with the certificates of the authority that the witness must be certified by, PEM. Without it, the system's authorities.
    #[schemars(with = "FilePath")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<FilePath>,
}

impl AuditLog {
    /// Whether the origin can be one.
    #[must_use]
    pub fn has_origin(&self) -> bool {
        let is_bad = |c: char| c.is_whitespace() || c.is_control() || c == '+';
        let length = self.origin.chars().count();
        (1..=ORIGIN_CHARACTERS_MAX).contains(&length) && !self.origin.contains(is_bad)
    }
}
