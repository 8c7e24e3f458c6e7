//! What a rule's failure at a step means: by kinds of failure, and after several failures in a row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::Duration;

/// The effect of a rule's failure: one word for all kinds of failure, or a table with a word for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OnFailure {
    /// The same for all kinds of failure.
    Always(FailureWord),
    /// By kinds of failure.
    ByKind(FailureTable),
}

/// The effect of a rule's failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureWord {
    /// The request is refused.
    #[default]
    Refuse,
    /// The request goes on as if the rule had allowed it.
    Allow,
    /// As `allow`, and the receipt is marked for the operator.
    AllowAndFlag,
    /// The same rule of the newest earlier release in which its component or settings differ, and that no rollback took back, decides. Without one, or if that fails too, the request is refused.
    LastGood,
}

/// The effect of a rule's failure, by kinds of failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FailureTable {
    /// When it traps, or fails in a way that has no kind of its own. Without it, as `otherwise`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trap: Option<FailureWord>,
    /// When it uses up its fuel. Without it, as `otherwise`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<FailureWord>,
    /// When it wants more memory than its limit. Without it, as `otherwise`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<FailureWord>,
    /// When it gives something that is no verdict, or a code that it does not declare. Without it, as `otherwise`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<FailureWord>,
    /// For all other kinds. Without it, the request is refused.
    pub otherwise: FailureWord,
}

/// The word for each kind of failure, all of them filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureWords {
    /// It trapped, or failed in a way that has no kind of its own.
    pub trap: FailureWord,
    /// It used up its fuel.
    pub fuel: FailureWord,
    /// It wanted more memory than its limit.
    pub memory: FailureWord,
    /// It gave no valid verdict.
    pub verdict: FailureWord,
    /// All other kinds.
    pub otherwise: FailureWord,
}

impl Default for OnFailure {
    fn default() -> Self {
        Self::Always(FailureWord::default())
    }
}

impl OnFailure {
    /// The word for each kind of failure.
    #[must_use]
    pub fn words(self) -> FailureWords {
        let table = match self {
            Self::Always(word) => FailureTable {
                otherwise: word,
                ..FailureTable::default()
            },
            Self::ByKind(table) => table,
        };
        let or = |word: Option<FailureWord>| word.unwrap_or(table.otherwise);
        FailureWords {
            trap: or(table.trap),
            fuel: or(table.fuel),
            memory: or(table.memory),
            verdict: or(table.verdict),
            otherwise: table.otherwise,
        }
    }

    /// Whether a failure of some kind refuses the request.
    #[must_use]
    pub fn may_refuse(self) -> bool {
        let FailureWords {
            trap,
            fuel,
            memory,
            verdict,
            otherwise,
        } = self.words();
        let words = [trap, fuel, memory, verdict, otherwise];
        words.contains(&FailureWord::Refuse) || words.contains(&FailureWord::LastGood)
    }
}

/// When a rule that fails again and again is not asked for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Quarantine {
    /// After this number of failures in a row, the rule is in quarantine: it is not asked, and `on-failure` decides.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub failures: u32,
    /// The time before one request asks the rule again. It doubles with each such request with which the rule fails.
    pub pause: Duration,
    /// The longest that this time gets.
    pub longest: Duration,
}

impl Default for Quarantine {
    fn default() -> Self {
        Self {
            failures: 5,
            pause: Duration::from_millis(30_000),
            longest: Duration::from_millis(3_600_000),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_for_all_kinds_and_table_for_each() {
        let read = |text: &str| serde_json::from_str::<OnFailure>(text).unwrap().words();
        let allow = read("\"allow\"");
        assert_eq!(allow.trap, FailureWord::Allow);
        assert_eq!(allow.otherwise, FailureWord::Allow);
        let table = read(r#"{"trap":"allow-and-flag","otherwise":"allow"}"#);
        assert_eq!(table.trap, FailureWord::AllowAndFlag);
        assert_eq!((table.fuel, table.verdict), (allow.fuel, allow.verdict));
        assert_eq!(read("{}"), OnFailure::default().words());
        assert!(OnFailure::default().may_refuse());
    }
}
