//! The specification of a release, as this crate needs it. `rialto` makes it from a scheme's documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use rialto_engine::Name;

use crate::digest::Digest;
use crate::failures::Failings;
use crate::problem::Bound;

/// What a component is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A bounded context.
    Context,
    /// A rule.
    Rule,
}

/// Whether an instance serves more than one turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Instances serve many turns, one at a time. An instance is replaced after a trap, or after this many turns.
    Pooled {
        /// The turns of one instance.
        turns_per_instance: u32,
    },
    /// Each call has an instance of its own.
    Fresh,
}

/// Bounds of one component; all are enforced by wasmtime and the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Bytes of linear memory of one instance.
    pub memory_bytes: usize,
    /// Milliseconds that one call may run.
    pub deadline_ms: u64,
    /// Instructions, roughly, that one call may run; rules always have a bound.
    pub fuel: Option<u64>,
    /// Instances that may be in use at a time.
    pub instances: u32,
}

/// The grants of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Host surfaces, by interface: `storage`.
    pub host: Vec<String>,
    /// Calls, by package and interface: `quoting/get-agreement`, `quoting/*`.
    pub calls: Vec<String>,
    /// Events that it may publish, likewise.
    pub publishes: Vec<String>,
    /// Steps of rules that it may ask, by interface.
    pub rules: Vec<String>,
    /// Origins that it may send requests to: `https://fsp.example`, `http://127.0.0.1:*`.
    pub outbound: Vec<String>,
}

/// A component of a release.
#[derive(Clone, Debug)]
pub struct ComponentSpec {
    /// Its name in the scheme.
    pub name: Name,
    /// What it is for.
    pub role: Role,
    /// The digest of its bytes.
    pub digest: Digest,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
    /// What it may see.
    pub grants: Grants,
    /// Its bounds.
    pub limits: Limits,
    /// How long its instances live.
    pub isolation: Isolation,
    /// Its settings, a JSON object.
    pub settings: Arc<str>,
    /// The listener on which it serves HTTP.
    pub listener: Option<Name>,
}

/// What a rule's failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failing {
    /// The request is refused.
    Refuse,
    /// The request goes on as if the rule had allowed it.
    Allow,
    /// As `Allow`, and the receipt is marked for the operator.
    AllowAndFlag,
    /// The same rule of its last good release decides.
    LastGood,
}

/// When a rule that fails in a row is in quarantine, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuarantineTerms {
    /// After so many failures in a row; at least one.
    pub failures: u32,
    /// The first pause, in milliseconds.
    pub pause_ms: u64,
    /// The longest pause.
    pub longest_ms: u64,
}

/// When a rule at a step is asked, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effective {
    /// From this instant on; without it, always before the end.
    pub from: Option<u64>,
    /// Until just before this instant; without it, for ever.
    pub until: Option<u64>,
}

impl Effective {
    /// Whether the rule is asked at an instant.
    #[must_use]
    pub fn covers(self, at: u64) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }
}

/// A rule bound to a step.
#[derive(Clone, Debug)]
pub struct StepSpec {
    /// The step, by its interface in `rialto:rules`.
    pub step: Name,
    /// The rule, by its name in the scheme.
    pub rule: Name,
    /// The rule's settings at this step, a JSON object.
    pub settings: Arc<str>,
    /// What its failure means.
    pub failing: Failings,
    /// The error code that a failure that refuses gives.
    pub failure_code: Arc<str>,
    /// When it is in quarantine, if it ever is.
    pub quarantine: Option<QuarantineTerms>,
    /// Whether the current release's one judges also what was agreed under an earlier one.
    pub always_newest: bool,
    /// Whether clients are told nothing of it.
    pub confidential: bool,
    /// When it is asked.
    pub effective: Effective,
    /// The candidate in its shadow, if there is one.
    pub shadow: Option<ShadowSpec>,
    /// The candidate that decides in its place about some requests, if there is one.
    pub canary: Option<CanarySpec>,
}

/// A candidate that decides about some requests in the place of a rule at a step.
#[derive(Clone, Debug)]
pub struct CanarySpec {
    /// The candidate, by its name in the scheme.
    pub rule: Name,
    /// Its settings, a JSON object.
    pub settings: Arc<str>,
    /// Which requests, and when it is held back.
    pub terms: CanaryTerms,
}

/// Which requests a canary decides about, and when it is held back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CanaryTerms {
    /// Only those that name one of these; all if it is empty.
    pub names: Vec<String>,
    /// Only those about one of these units; all if it is empty.
    pub units: Vec<String>,
    /// The share of these, in millionths.
    pub share: u32,
    /// It is held back at so many failures.
    pub failures: u32,
    /// It is held back when more of its verdicts differ, in millionths.
    pub drift: Option<u32>,
    /// It is held back when it needs more fuel than the rule by more than this, in millionths.
    pub fuel: Option<u32>,
    /// The verdicts before drift and fuel are looked at.
    pub after: u32,
}

/// A candidate that judges what a rule at a step has judged, and changes nothing.
#[derive(Clone, Debug)]
pub struct ShadowSpec {
    /// The candidate, by its name in the scheme.
    pub rule: Name,
    /// Its settings, a JSON object.
    pub settings: Arc<str>,
    /// The share of requests that it judges, in millionths.
    pub share: u32,
    /// The most processor time, in millionths of one processor.
    pub cpu: u32,
}

/// A signer, with its public keys in the release.
#[derive(Clone, Debug)]
pub struct SignerSpec {
    /// The name under which components know it.
    pub name: String,
    /// PEM texts, each with one key or several.
    pub keys: Vec<String>,
}

/// Facts that may be long, by their names: the JSON text of each element.
pub type Lists = Arc<BTreeMap<String, Vec<String>>>;

/// A release, before it is checked.
#[derive(Clone, Debug)]
pub struct ReleaseSpec {
    /// Its number; 0 for one that is only checked.
    pub number: u64,
    /// The digest of its contents.
    pub digest: Digest,
    /// Contexts and rules.
    pub components: Vec<ComponentSpec>,
    /// Rules at their steps, in the order in which they are asked.
    pub steps: Vec<StepSpec>,
    /// What `configuration.scheme` gives, a JSON object.
    pub scheme: Arc<str>,
    /// What `configuration.scheme-list` gives.
    pub lists: Lists,
    /// The signers.
    pub signers: Vec<SignerSpec>,
    /// Error codes that the scheme declares.
    pub codes: Vec<String>,
    /// Whether its contexts are left out, because the host alone asks its rules.
    pub has_rules_alone: bool,
}

impl ReleaseSpec {
    /// Leave out the contexts: what is left judges stored inputs, and serves nothing.
    #[must_use]
    pub fn rules_alone(mut self) -> Self {
        self.components.retain(|one| one.role == Role::Rule);
        self.has_rules_alone = true;
        self
    }

    /// The step and rule of an element of `steps`.
    pub(crate) fn bound(&self, at: usize) -> Bound {
        let StepSpec { step, rule, .. } = &self.steps[at];
        Bound {
            step: step.to_string(),
            number: self.steps[..at].iter().filter(|s| s.step == *step).count(),
            rule: rule.to_string(),
        }
    }
}
