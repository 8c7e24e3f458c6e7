//! The table `[releases]` of `rialto.toml`: who must agree before a release becomes current.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{Name, Period, PublicKeyPem, Share};

/// How releases become current.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Releases {
    /// When a release that brings in money needs the approval of a second person: `opening-liquidity` of an account, or `approval = "automatic"` in a context's settings.
    pub second_person: SecondPerson,
    /// Those who approve plans, by the names of their persons. With this table a release becomes current by a plan that enough of them have signed, or as the one that was current just before.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub officers: BTreeMap<Name, Officer>,
    /// The number of officers who must sign a plan. Its maker does not count. 1 without this value.
    #[schemars(range(min = 1, max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signatures: Option<u32>,
    /// How long a plan may be applied after it was made.
    pub plan_life: Period,
    /// Whether a plan needs a backtest of what it makes current.
    pub backtest_required: bool,
    /// The most by which a rule's fuel (99th percentile of a plan's backtest) may grow. A plan with more is refused. Without this value it is only shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel_increase_max: Option<Share>,
    /// How long a rule that one person has suspended stays suspended without another person's confirmation.
    pub suspension: Period,
}

impl Default for Releases {
    fn default() -> Self {
        const DAY: u64 = 86_400;
        Self {
            second_person: SecondPerson::default(),
            officers: BTreeMap::new(),
            signatures: None,
            plan_life: Period::from_seconds(3 * DAY),
            backtest_required: false,
            fuel_increase_max: None,
            suspension: Period::from_seconds(3_600),
        }
    }
}

impl Releases {
    /// The number of officers who must sign a plan; 0 without officers.
    #[must_use]
    pub fn signatures_needed(&self) -> usize {
        if self.officers.is_empty() {
            return 0;
        }
        self.signatures.map_or(1, |n| n as usize)
    }
}

/// A person who approves plans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Officer {
    /// The public key (Ed25519, or P-256) of the signatures that the officer makes away from the host, as PEM. Without it the officer approves with a passkey.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key: Option<PublicKeyPem>,
}

/// When a release that brings in money needs the approval of a second person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SecondPerson {
    /// Unless the scheme is a sandbox.
    #[default]
    UnlessSandbox,
    /// Always.
    Always,
    /// Always, and so does every other release that replaces one.
    EveryChange,
}
