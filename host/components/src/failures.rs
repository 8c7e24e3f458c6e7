//! Kinds of failures of rules, and what each means by the release.

use serde::{Deserialize, Serialize};

use crate::release::BoundRule;
use crate::rules::{NoVerdict, Outcome, Violation};
use crate::spec::Failing;

/// How a rule failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// It trapped, or failed in a way that has no kind of its own.
    Trap,
    /// It used up its fuel.
    Fuel,
    /// It wanted more memory than its limit.
    Memory,
    /// It gave something that is no verdict, or a code that it does not declare.
    Verdict,
    /// The clock stopped it. This says nothing about the input.
    Slow,
    /// The host had no instance for it. This says nothing about the input.
    Missing,
}

impl FailureKind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Trap,
        Self::Fuel,
        Self::Memory,
        Self::Verdict,
        Self::Slow,
        Self::Missing,
    ];

    /// Its name, as documents and metrics have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Fuel => "fuel",
            Self::Memory => "memory",
            Self::Verdict => "verdict",
            Self::Slow => "slow",
            Self::Missing => "missing",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a rule's failure means, by kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failings {
    /// Of [`FailureKind::Trap`].
    pub trap: Failing,
    /// Of [`FailureKind::Fuel`].
    pub fuel: Failing,
    /// Of [`FailureKind::Memory`].
    pub memory: Failing,
    /// Of [`FailureKind::Verdict`].
    pub verdict: Failing,
    /// Of the kinds that give no verdict. They decide only while the rule is in quarantine.
    pub otherwise: Failing,
}

impl From<Failing> for Failings {
    fn from(failing: Failing) -> Self {
        Self {
            trap: failing,
            fuel: failing,
            memory: failing,
            verdict: failing,
            otherwise: failing,
        }
    }
}

impl Failings {
    /// What a failure of a kind means.
    #[must_use]
    pub const fn of(self, kind: FailureKind) -> Failing {
        match kind {
            FailureKind::Trap => self.trap,
            FailureKind::Fuel => self.fuel,
            FailureKind::Memory => self.memory,
            FailureKind::Verdict => self.verdict,
            FailureKind::Slow | FailureKind::Missing => self.otherwise,
        }
    }

    /// What a failure means if all kinds mean the same.
    #[must_use]
    pub fn same(self) -> Option<Failing> {
        (self == Self::from(self.otherwise)).then_some(self.otherwise)
    }
}

impl BoundRule {
    /// What a failure of this kind means. Without a last good release, what would be its decision is a refusal.
    #[must_use]
    pub fn means(&self, kind: FailureKind) -> Failing {
        match self.failing.of(kind) {
            Failing::LastGood if self.last_good().is_none() => Failing::Refuse,
            means => means,
        }
    }

    /// The outcome of a failure of this kind.
    #[must_use]
    pub fn failed(&self, kind: FailureKind, reason: String) -> Outcome {
        Outcome::Failed {
            reason,
            means: self.means(kind),
            kind: Some(kind),
        }
    }

    /// The outcome of asking the rule; a failure has become what it means here.
    ///
    /// # Errors
    /// The kind and the reason if there is no verdict, because the rule was prevented.
    pub fn outcome(
        &self,
        judged: Result<Outcome, NoVerdict>,
    ) -> Result<Outcome, (FailureKind, String)> {
        match judged {
            Ok(outcome) => Ok(outcome),
            Err(NoVerdict::Failed(kind, reason)) => Ok(self.failed(kind, reason)),
            Err(NoVerdict::Prevented(kind, reason)) => Err((kind, reason)),
        }
    }

    /// What the sender of a request is told about an outcome that refuses; none if the request may continue, or the
    /// last good release decides.
    #[must_use]
    pub fn refusal(&self, outcome: &Outcome) -> Option<Vec<Violation>> {
        match outcome {
            Outcome::Allow => None,
            Outcome::Refuse { violations } => Some(violations.clone()),
            Outcome::Failed { means, .. } => (*means == Failing::Refuse).then(|| {
                vec![Violation {
                    code: self.failure_code.to_string(),
                    message: format!(
                        "the scheme rule {} could not be evaluated",
                        self.identity.name
                    ),
                }]
            }),
        }
    }
}

impl Outcome {
    /// Whether both are the same, as far as both say. Receipts of older hosts do not have the kind of a failure.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Failed {
                    reason,
                    means,
                    kind,
                },
                Self::Failed {
                    reason: other_reason,
                    means: other_means,
                    kind: other_kind,
                },
            ) => {
                let kinds = kind.zip(*other_kind);
                (reason, means) == (other_reason, other_means)
                    && kinds.is_none_or(|(one, other)| one == other)
            }
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_older_receipts_are_the_same_without_their_kind() {
        let old = r#"{"outcome":"failed","reason":"trapped","means":"refuse"}"#;
        let old: Outcome = serde_json::from_str(old).unwrap();
        let of = |kind| Outcome::Failed {
            reason: "trapped".into(),
            means: Failing::Refuse,
            kind: Some(kind),
        };
        let (trap, fuel) = (of(FailureKind::Trap), of(FailureKind::Fuel));
        assert!(old.is_same(&trap) && fuel.is_same(&old) && old.is_same(&old));
        assert!(!trap.is_same(&fuel) && !old.is_same(&Outcome::Allow));
        let new = r#"{"outcome":"failed","reason":"trapped","means":"refuse","kind":"trap"}"#;
        assert_eq!(serde_json::to_string(&trap).unwrap(), new);
        for kind in FailureKind::ALL {
            assert_eq!(FailureKind::named(kind.name()), Some(kind));
            let name = serde_json::to_value(kind).unwrap();
            assert_eq!(name, kind.name());
        }
    }
}
