//! What operators are told of releases and of changes.

use rialto_manifest::scheme::SchemeDocument;
use rialto_store_sqlite::StoredActivation;
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
    /// When it became current or was to, by whom and why; the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activations: Vec<Activation>,
}

/// That a release became current, or was to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Activation {
    /// When it began; milliseconds since 1970.
    pub at: u64,
    /// Who wanted it.
    pub person: String,
    /// Whose token was shown; empty where none was needed.
    pub operator: String,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The release that was current before; 0 for none.
    pub before: u64,
    /// Whether the release became current. If not, it was refused, or its activation goes on.
    pub done: bool,
}

impl From<&StoredActivation> for Activation {
    fn from(stored: &StoredActivation) -> Self {
        Self {
            at: stored.at.0,
            person: stored.person.clone(),
            operator: stored.operator.clone(),
            note: stored.note.clone(),
            before: stored.before,
            done: stored.done,
        }
    }
}

/// A release with all that is in it, as `rialto release show` shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShownRelease {
    /// What the list says of it.
    #[serde(flatten)]
    pub summary: Summary,
    /// The text of scheme.toml, and the components' digests.
    pub document: SchemeDocument,
}

/// What differs between two releases.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// The one that is left.
    pub from: u64,
    /// The one that is gone to.
    pub to: u64,
    /// What differs, in words; empty if nothing does.
    pub changes: Vec<String>,
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
    /// Whether it is what was current already: nothing was done, or would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
}

impl Applied {
    /// It is what is current already.
    pub(super) fn unchanged(number: u64, document: &SchemeDocument) -> Self {
        Self {
            number,
            digest: document.digest().to_string(),
            changes: Vec::new(),
            needs_approval: Vec::new(),
            unchanged: true,
        }
    }

    /// What an operator's log says of it.
    #[must_use]
    pub fn told(&self) -> String {
        let Self { number, digest, .. } = self;
        if self.unchanged {
            format!("release {number} ({digest}) is current already: nothing has changed")
        } else if self.needs_approval.is_empty() {
            format!("release {number} ({digest}) is current")
        } else {
            format!("release {number} ({digest}) waits for the approval of a second person")
        }
    }
}
