//! What operators are told of releases and of changes.

use serde::{Deserialize, Serialize};

/// A release as `rialto release list` shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Its number.
    pub number: u64,
    /// What names it by content.
    pub digest: String,
    /// When it was made; milliseconds since 1970.
    pub created_at: u64,
    /// Why.
    pub note: String,
    /// Whether new turns run on it.
    pub current: bool,
    /// Whether it is current or was; if not, it was refused when it was to be activated.
    #[serde(default)]
    pub was_current: bool,
    /// Who made it; empty where nobody knows.
    #[serde(default)]
    pub maker: String,
    /// Who approved it, if it needed that and was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// Whether it waits for the approval of a second person.
    #[serde(default)]
    pub waits: bool,
}

/// What was done, in words.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The number of the release that is current now, or would be.
    pub number: u64,
    /// Its digest.
    pub digest: String,
    /// What differs from the release before.
    pub changes: Vec<String>,
    /// Why it needs the approval of a second person before it is current; it is current, or would be, if there
    /// is nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_approval: Vec<String>,
}

impl Applied {
    /// What an operator's log says of it.
    #[must_use]
    pub fn told(&self) -> String {
        let Self { number, digest, .. } = self;
        if self.needs_approval.is_empty() {
            format!("release {number} ({digest}) is current")
        } else {
            format!("release {number} ({digest}) waits for the approval of a second person")
        }
    }
}
