//! What `scheme.toml` says about one component: a context or a rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::operator::Surface;
use crate::values::{ComponentPath, Digest, Duration, InterfacePattern, Name, OriginPattern, Size};

/// A bounded context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Context {
    /// The component's file, relative to this document.
    pub component: ComponentPath,
    /// What pins the component; without it `scheme.lock` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The operator's listener on which the context serves HTTP; only for contexts that do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listener: Option<Name>,
    /// What the component may see and do; nothing unless said.
    #[serde(default)]
    pub grants: ContextGrants,
    /// Bounds of the component.
    #[serde(default)]
    pub limits: ContextLimits,
    /// How long an instance of the component lives.
    #[serde(default)]
    pub isolation: Isolation,
    /// The component's settings; the component itself says which it takes.
    #[serde(default)]
    pub settings: Map<String, Json>,
}

/// How long an instance of a component lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// It serves many turns, one at a time, and is replaced after a trap or `turns-per-instance`.
    #[default]
    Pooled,
    /// One call.
    Fresh,
}

/// What a context may see and do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContextGrants {
    /// Surfaces of the host.
    pub host: Vec<Surface>,
    /// Calls to other contexts: `quoting/get-agreement`, or `quoting/*` for all of a package.
    pub calls: Vec<InterfacePattern>,
    /// Events that it may publish: `transfers/transfer-prepared`, or `transfers/*`.
    pub publishes: Vec<InterfacePattern>,
    /// Steps at which it may ask the scheme's rules.
    pub rules: Vec<Name>,
    /// Origins that it may send requests to. `*` as the port stands for any port.
    pub outbound: Vec<OriginPattern>,
}

/// Bounds of a context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContextLimits {
    /// Memory of one instance.
    pub memory: Size,
    /// How long one call may run, in processor time: waiting for a processor or the disk does not count.
    pub deadline: Duration,
    /// Fuel of one call: roughly, WebAssembly instructions. Without it time alone decides.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
    /// Instances in use at a time.
    #[schemars(range(min = 1, max = 10_000))]
    pub instances: u32,
    /// Turns that one pooled instance serves.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub turns_per_instance: u32,
}

impl Default for ContextLimits {
    fn default() -> Self {
        Self {
            memory: Size::from_mib(16),
            deadline: Duration::from_millis(500),
            fuel: None,
            instances: 16,
            turns_per_instance: 100_000,
        }
    }
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rule {
    /// The component's file, relative to this document.
    pub component: ComponentPath,
    /// What pins the component; without it `scheme.lock` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// Whether `rialto what-if` leaves it out, so that nobody can find out what it refuses, as of a list of sanctions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confidential: bool,
    /// Whether it judges also what was agreed under an earlier release as it is now, as a list of sanctions does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub always_newest: bool,
    /// What the component may see; nothing unless said.
    #[serde(default)]
    pub grants: RuleGrants,
    /// Bounds of the component.
    #[serde(default)]
    pub limits: RuleLimits,
}

/// What a rule may see. A rule is a function of its input and its settings: it has no more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuleGrants {
    /// Surfaces of the host.
    pub host: Vec<RuleSurface>,
}

/// A surface of the host that a rule may be granted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RuleSurface {
    /// The rule's settings and the scheme's facts.
    Configuration,
    /// Lines for the host's log.
    Logging,
    /// Marks of the branches that it takes, for `rialto coverage`.
    Trace,
}

impl From<RuleSurface> for Surface {
    fn from(surface: RuleSurface) -> Self {
        match surface {
            RuleSurface::Configuration => Self::Configuration,
            RuleSurface::Logging => Self::Logging,
            RuleSurface::Trace => Self::Trace,
        }
    }
}

/// Bounds of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RuleLimits {
    /// Memory of one instance.
    pub memory: Size,
    /// How long one call may run until the host gives up, in processor time. No verdict comes of that: the turn fails, and is tried again. What ends a rule that does too much is its fuel.
    pub deadline: Duration,
    /// Fuel of one call: roughly, WebAssembly instructions. It decides where a verdict ends, so that it can be had again.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub fuel: u64,
}

impl Default for RuleLimits {
    fn default() -> Self {
        Self {
            memory: Size::from_mib(4),
            deadline: Duration::from_millis(1_000),
            fuel: 50_000_000,
        }
    }
}
