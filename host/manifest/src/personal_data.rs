//! The table `[personal-data]` of the operator's document: whose records are encrypted, and where the keys are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{FilePath, Name};

/// Digits of the id of a file of keys.
const ID_DIGITS: usize = 32;

/// Records that name people are encrypted with keys of these people, so that each person's key can be destroyed (`rialto personal-data shred`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PersonalData {
    /// The kinds of subjects that are people: `["party"]`. Without any, new records are not encrypted, and old ones are still read.
    pub subjects: Vec<Name>,
    /// The file of keys, absolute or relative to this document. The host makes it if there never was one. It must not be in the store's folder, and not in backups: whoever restores an old copy of it restores destroyed keys. Its folder must be private. Keep a copy elsewhere, and replace that copy after each destruction.
    #[schemars(with = "FilePath")]
    pub keys: FilePath,
    /// The id of a file of keys that is lost: what is encrypted with it can never be read again, and the host may make another file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl PersonalData {
    /// Whether `lost` can be an id.
    #[must_use]
    pub fn has_id(&self) -> bool {
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let id = self.lost.as_ref();
        id.is_none_or(|id| id.len() == ID_DIGITS && id.chars().all(is_digit))
    }
}
