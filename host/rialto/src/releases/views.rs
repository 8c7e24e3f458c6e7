//! Releases and changes as the operators' API shows them.

use rialto_manifest::scheme::SchemeDocument;
use rialto_store_sqlite::{ScheduledRelease, StoredActivation};
use serde::{Deserialize, Serialize};

use crate::words;

/// A release as `rialto release list` shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Its number.
    pub number: u64,
    /// The digest of its contents.
    pub digest: String,
    /// When it was made; milliseconds since 1970.
    pub created_at: u64,
    /// Why.
    pub note: String,
    /// Whether new turns run on it.
    pub current: bool,
    /// Whether it is or was current. If not, its activation was refused.
    #[serde(default)]
    pub was_current: bool,
    /// Who made it; empty if not known.
    #[serde(default)]
    pub maker: String,
    /// Who approved it, if it needed that and was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approver: Option<String>,
    /// Whether it waits for the approval of a second person.
    #[serde(default)]
    pub waits: bool,
    /// Its activations, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activations: Vec<Activation>,
    /// When it comes into force, if it was scheduled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Scheduled>,
}

impl Summary {
    /// The instant at which it comes into force, if it is ahead.
    #[must_use]
    pub fn comes_at(&self) -> Option<u64> {
        let scheduled = self.scheduled.as_ref().filter(|_| !self.was_current)?;
        scheduled.withdrawn_by.is_none().then_some(scheduled.from)
    }
}

/// When a release comes into force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scheduled {
    /// The instant of its first turn; milliseconds since 1970.
    pub from: u64,
    /// Who wanted it.
    pub person: String,
    /// When they did; milliseconds since 1970.
    pub at: u64,
    /// Who has withdrawn it, if somebody has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn_by: Option<String>,
}

impl From<&ScheduledRelease> for Scheduled {
    fn from(stored: &ScheduledRelease) -> Self {
        Self {
            from: stored.from.0,
            person: stored.person.clone(),
            at: stored.at.0,
            withdrawn_by: stored.withdrawn.as_ref().map(|act| act.by.clone()),
        }
    }
}

/// Scheduled releases that do not come into force.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Withdrawn {
    /// Their numbers: the release, and the one that would have ended it.
    pub releases: Vec<u64>,
}

/// An activation of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Activation {
    /// When it began; milliseconds since 1970.
    pub at: u64,
    /// Who wanted it.
    pub person: String,
    /// The operator whose token was used; empty for an action without a token.
    pub operator: String,
    /// Why, in their words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The release that was current before; 0 for none.
    pub before: u64,
    /// Whether the release became current. If not, it was refused, or its activation is under way.
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

/// A release with its contents, as `rialto release show` shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShownRelease {
    /// Its entry of the list.
    #[serde(flatten)]
    pub summary: Summary,
    /// The text of scheme.toml, and the components' digests.
    pub document: SchemeDocument,
}

/// The differences between two releases.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Difference {
    /// The first release.
    pub from: u64,
    /// The second release.
    pub to: u64,
    /// The differences in words; empty if there are none.
    pub changes: Vec<String>,
}

/// The result of a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Applied {
    /// The number of the release that is current now, or would be.
    pub number: u64,
    /// Its digest.
    pub digest: String,
    /// The differences from the release before.
    pub changes: Vec<String>,
    /// Why it needs a second person's approval. If this is empty, it is current, or would be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_approval: Vec<String>,
    /// When its rules begin and end from now on, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calendar: Vec<String>,
    /// The counters that begin with it, and know nothing of before, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fresh_counters: Vec<String>,
    /// The instant at which it comes into force, if that is ahead; milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_from: Option<u64>,
    /// Whether it equals the current release, so that nothing was done, or would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchanged: bool,
    /// How many officers must sign a plan of it before it can become current; only where a change is planned.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub officers: usize,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the attribute passes a reference"
)]
const fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Applied {
    /// The result for a document that is current already.
    pub(super) fn unchanged(number: u64, document: &SchemeDocument) -> Self {
        Self {
            number,
            digest: document.digest().to_string(),
            changes: Vec::new(),
            needs_approval: Vec::new(),
            calendar: Vec::new(),
            fresh_counters: Vec::new(),
            effective_from: None,
            unchanged: true,
            officers: 0,
        }
    }

    /// The result in words, for the audit log.
    #[must_use]
    pub fn told(&self) -> String {
        let Self { number, digest, .. } = self;
        if self.unchanged {
            format!("release {number} ({digest}) is current already: nothing has changed")
        } else if let Some(from) = self.effective_from {
            let from = words::instant(from);
            format!("release {number} ({digest}) comes into force at {from}")
        } else if self.needs_approval.is_empty() {
            format!("release {number} ({digest}) is current")
        } else {
            format!("release {number} ({digest}) waits for the approval of a second person")
        }
    }
}
