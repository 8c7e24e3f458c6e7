//! What schemes may be given at all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{Duration, OriginPattern, Size};

/// A surface of the host that a component may be granted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Surface {
    /// The component's own documents.
    Storage,
    /// Reminders.
    Scheduling,
    /// Requests to granted origins.
    Http,
    /// The component's settings and the scheme's facts.
    Configuration,
    /// The time of the turn.
    Clock,
    /// Random bytes and ids.
    Random,
    /// Signatures, by keys that the component does not see.
    Crypto,
    /// Keys of the component's own, at a provider. The component does not see them.
    Keys,
    /// Secrets that operators have set for the component.
    Secrets,
    /// Which TLS files the host uses, and reading them again.
    Tls,
    /// Client certificates from the authority of `[certificates]`.
    Certificates,
    /// Entries of the audit log.
    Auditing,
    /// Reading the audit log.
    AuditLog,
    /// Who calls the component: another one, or a client by gRPC.
    Caller,
    /// By which release's rules the component's requests are judged.
    Judging,
    /// Marks of the branches that a rule takes.
    Trace,
    /// Lines for the host's log.
    Logging,
}

impl Surface {
    /// Every surface, in the order of the contracts.
    pub const ALL: [Self; 17] = [
        Self::Storage,
        Self::Scheduling,
        Self::Http,
        Self::Configuration,
        Self::Clock,
        Self::Random,
        Self::Crypto,
        Self::Keys,
        Self::Secrets,
        Self::Tls,
        Self::Auditing,
        Self::AuditLog,
        Self::Certificates,
        Self::Caller,
        Self::Trace,
        Self::Judging,
        Self::Logging,
    ];

    /// The interface's name in `rialto:host`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Storage => "storage",
            Self::Scheduling => "scheduling",
            Self::Http => "http",
            Self::Configuration => "configuration",
            Self::Clock => "clock",
            Self::Random => "random",
            Self::Crypto => "crypto",
            Self::Keys => "keys",
            Self::Secrets => "secrets",
            Self::Tls => "tls",
            Self::Certificates => "certificates",
            Self::Auditing => "auditing",
            Self::AuditLog => "audit-log",
            Self::Caller => "caller",
            Self::Judging => "judging",
            Self::Logging => "logging",
            Self::Trace => "trace",
        }
    }
}

/// The most that a scheme's components may be granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OperatorGrants {
    /// Surfaces of the host. All by default.
    pub host: Vec<Surface>,
    /// Origins that requests may go to. None by default. `*` as the port stands for any port.
    pub outbound: Vec<OriginPattern>,
}

impl Default for OperatorGrants {
    fn default() -> Self {
        Self {
            host: Surface::ALL.to_vec(),
            outbound: Vec::new(),
        }
    }
}

/// The highest limits that the scheme may give to one component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ceilings {
    /// Memory of one instance.
    pub memory: Size,
    /// How long one call may run, in processor time: waiting for a processor or the disk does not count.
    pub deadline: Duration,
    /// Fuel of one call: roughly, WebAssembly instructions.
    #[schemars(range(min = 1, max = 1_000_000_000_000_i64))]
    pub fuel: u64,
    /// Instances of one component in use at a time.
    #[schemars(range(min = 1, max = 10_000))]
    pub instances: u32,
    /// Instances of all contexts in use at a time: the sum of the scheme's limits. The host reserves room for twice as many, because two releases have instances while one replaces the other.
    #[schemars(range(min = 1, max = 2_048))]
    pub instances_in_all: u32,
    /// The most core modules of one component. Components of languages with a runtime, such as Python, have dozens.
    #[schemars(range(min = 1, max = 1_000))]
    pub core_modules: u32,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self {
            memory: Size::from_mib(64),
            deadline: Duration::from_millis(5_000),
            fuel: 10_000_000_000,
            instances: 64,
            instances_in_all: 512,
            core_modules: 64,
        }
    }
}
