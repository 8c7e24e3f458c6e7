//! The table `[certificates]` of the operator's document: the authority that certifies clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{FilePath, Name, Period};

/// The longest lifetime of a client certificate, in days.
pub const LIFETIME_DAYS_MAX: u64 = 397;
/// The usual one.
const LIFETIME_DAYS: u64 = 90;
/// Seconds of a day.
const DAY: u64 = 86_400;

/// The authority that certifies clients. A provider of `[keys]` makes and keeps its private key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Certificates {
    /// The provider's name.
    pub provider: Name,
    /// The file of the key's reference, absolute or relative to this document. If it is missing, the host makes a key and the authority's certificate at its start.
    #[schemars(with = "FilePath")]
    pub reference: FilePath,
    /// The file of the authority's certificate (PEM), absolute or relative to this document. The host makes it with the key. Listeners trust its certificates when their `client-ca` has it too.
    #[schemars(with = "FilePath")]
    pub authority: FilePath,
    /// How long certificates are valid: `1 day` to `397 days`.
    #[schemars(with = "Period")]
    #[serde(default = "usual_lifetime")]
    pub lifetime: Period,
}

fn usual_lifetime() -> Period {
    Period::from_seconds(LIFETIME_DAYS * DAY)
}

impl Certificates {
    /// Whether the lifetime is within its bounds.
    #[must_use]
    pub const fn has_lifetime_in_bounds(&self) -> bool {
        let seconds = self.lifetime.millis() / 1_000;
        seconds >= DAY && seconds <= LIFETIME_DAYS_MAX * DAY
    }
}
