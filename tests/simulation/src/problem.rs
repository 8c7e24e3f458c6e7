//! What did not hold, under the name of what should have.

use std::fmt;

/// Money is conserved.
pub const MONEY: &str = "money is conserved: debits are credits, in each currency, at every commit";
/// No account passes its limit.
pub const LIMITS: &str =
    "no account passes its limit: liquidity and net debit cap cover what is reserved and used";
/// One outcome.
pub const OUTCOME: &str = "one transfer id, one outcome: who was told 202 gets to a final state";
/// Nothing acknowledged is lost.
pub const ACKNOWLEDGED: &str =
    "a crash loses nothing that was acknowledged, and nothing leaves before it is on disk";
/// One host acts.
pub const FENCED: &str =
    "a host that another one has replaced writes, sends and answers nothing any more";
/// Authority.
pub const AUTHORITY: &str =
    "a component neither reads, writes, calls nor sends what was not granted";
/// Messages to FSPs.
pub const TOLD: &str = "each FSP is told exactly what the state says";
/// Documents and ledger are what the messages make of them.
pub const STATE: &str = "each document is what the messages made of it";
/// No turn fails.
pub const TURNS: &str = "no turn fails";

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What should have held.
    pub rule: &'static str,
    /// The observation.
    pub what: String,
}

impl Problem {
    /// Something that did not hold.
    pub fn new(rule: &'static str, what: impl Into<String>) -> Self {
        Self {
            rule,
            what: what.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}", self.rule, self.what)
    }
}
