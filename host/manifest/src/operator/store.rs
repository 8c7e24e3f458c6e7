//! Where the host keeps its state, and for how long.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{DatabaseUrl, FilePath, Name, Period, Size};

/// Where the host keeps its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Store {
    /// The folder of the database and of compiled components, absolute or relative to this document. With `url` it has only what belongs to this host: compiled components, tokens and addresses.
    #[schemars(with = "FilePath")]
    pub path: FilePath,
    /// The PostgreSQL database that keeps the scheme instead of the folder's SQLite database. Several hosts may name the same one: one of them serves, the others are standbys. A password is not part of it.
    #[schemars(with = "DatabaseUrl")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<DatabaseUrl>,
    /// Whether the host refuses a database without a synchronous standby, which keeps everything that was acknowledged when the primary is lost. Only with `url`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub synchronous_standby: bool,
    /// The folder of archives, absolute or relative to this document. By default `archives` in the store's folder.
    #[schemars(with = "FilePath")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archives: Option<FilePath>,
    /// How long permanent data stays in the store before it is moved to an archive. Kinds of data that are not listed stay.
    #[serde(skip_serializing_if = "Keep::is_everything")]
    pub keep: Keep,
    /// The free disk space below which requests that begin something are refused with 503. The rest is left for finishing what has begun.
    pub free_min: Size,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            path: "state".parse().expect("`state` is a path: it is not empty"),
            url: None,
            synchronous_standby: false,
            archives: None,
            keep: Keep::default(),
            free_min: Size::from_mib(1_024),
        }
    }
}

/// How long permanent data stays in the store. A segment is archived as a whole, when its youngest item is this old.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Keep {
    /// The history of turns: `rialto events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Period>,
    /// The rules' verdicts: `rialto receipts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipts: Option<Period>,
    /// Entries of the audit log, the oldest first and 256 at a time. With `[audit]`, only entries that a signed checkpoint covers. `rialto audit` reads archived entries too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<Period>,
    /// Finished documents, by the components' names for them, such as `transfers`. The period begins when a document is finished.
    #[serde(flatten)]
    pub documents: BTreeMap<Name, Period>,
}

impl Keep {
    /// Whether nothing is ever archived.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}
