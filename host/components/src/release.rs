//! A prepared release in memory: its components, linked, and their wiring.

use std::sync::{Arc, Weak};

use foldhash::HashMap;
use rialto_engine::Name;
use wasmtime::Engine;
use wasmtime::component::types::Type;
use wasmtime::component::{ComponentExportIndex, InstancePre, Val};

use crate::canaries::Canaries;
use crate::described::ConfigurationDescription;
use crate::digest::Digest;
use crate::earlier::{Earlier, EarlierReleases};
use crate::failures::Failings;
use crate::guest::{Guest, Identity};
use crate::instance::Pool;
use crate::introspect::Shape;
use crate::last_good::LastGoodSlot;
use crate::quarantine::BoundQuarantine;
use crate::remembered::Answers;
use crate::spec::{CanaryTerms, Effective, Isolation, Limits, Role};
use crate::steps::Asked;
use crate::suspensions::Suspensions;
use crate::verdict_counts::VerdictCounts;
use crate::what_if::Drafts;
use crate::wiring::Wiring;

/// A function that a component exports.
#[derive(Clone, Debug)]
pub struct Export {
    /// The interface's full name.
    pub interface: Name,
    /// The function's name.
    pub function: Name,
    /// Where wasmtime finds it.
    pub index: ComponentExportIndex,
    /// The types of its parameters.
    pub params: Arc<[Type]>,
    /// How many results it has: none or one.
    pub results: usize,
}

/// What a rule says about itself.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct RuleDescription {
    /// Its own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One sentence.
    pub summary: String,
    /// Error codes that it may return.
    pub codes: Vec<String>,
    /// JSON Schema of its settings.
    pub settings_schema: String,
}

impl RuleDescription {
    /// The most fuel that a verdict needs, by the rule's own words (`x-rialto-fuel` of the schema); none if it says nothing.
    #[must_use]
    pub fn fuel(&self) -> Option<u64> {
        let schema: serde_json::Value = serde_json::from_str(&self.settings_schema).ok()?;
        schema.get("x-rialto-fuel")?.as_u64()
    }
}

/// A component of a release.
pub struct Member {
    /// Who it is.
    pub identity: Arc<Identity>,
    /// What it is for.
    pub role: Role,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The listener on which it serves HTTP.
    pub listener: Option<Name>,
    /// Its bounds.
    pub limits: Limits,
    /// How long its instances live.
    pub isolation: Isolation,
    /// What it imports and exports.
    pub shape: Shape,
    /// Functions that it exports.
    pub exports: Vec<Export>,
    /// What it says about itself, if it is a rule.
    pub description: Option<RuleDescription>,
    /// What it says of its configuration, if it does.
    pub configuration: Option<ConfigurationDescription>,
    /// Its OpenAPI document, if it serves HTTP.
    pub openapi: Option<Arc<str>>,
    /// Indices in `exports` by interface and function.
    pub(crate) by_export: HashMap<Name, HashMap<Name, usize>>,
    pub(crate) engine: Engine,
    pub(crate) pre: InstancePre<Guest>,
    pub(crate) handlers: Handlers,
    pub(crate) wasi: bool,
    pub(crate) pool: Pool,
    pub(crate) answers: Answers,
}

/// The typed exports that the host calls, where there are any.
#[derive(Clone, Default)]
pub(crate) struct Handlers {
    pub http: Option<crate::bindings::exports::rialto::host::http_handler::GuestIndices>,
    pub report: Option<crate::bindings::exports::rialto::host::http_report_handler::GuestIndices>,
    pub reminder: Option<crate::bindings::exports::rialto::host::reminder_handler::GuestIndices>,
    pub activation:
        Option<crate::bindings::exports::rialto::host::activation_handler::GuestIndices>,
    pub authorization:
        Option<crate::bindings::exports::rialto::host::authorization_handler::GuestIndices>,
    pub described:
        Option<crate::bindings::exports::rialto::host::configuration_schema::GuestIndices>,
    pub configuration:
        Option<crate::bindings::exports::rialto::host::configuration_handler::GuestIndices>,
    pub settings: Option<crate::bindings::exports::rialto::host::settings_handler::GuestIndices>,
    pub rule: Option<crate::bindings::exports::rialto::rules::rule::GuestIndices>,
}

impl Member {
    /// The index of an exported function in `exports`.
    pub fn export(&self, interface: &str, function: &str) -> Option<usize> {
        self.by_export.get(interface)?.get(function).copied()
    }

    /// Whether it has something to do when its release becomes current.
    pub fn wants_activation(&self) -> bool {
        self.handlers.activation.is_some()
    }

    /// Whether it says who may do what.
    pub fn authorizes(&self) -> bool {
        self.handlers.authorization.is_some()
    }

    /// Whether it knows the configuration of all components.
    pub fn keeps_configuration(&self) -> bool {
        self.handlers.configuration.is_some()
    }
}

/// A rule at a step.
#[derive(Clone, Debug)]
pub struct BoundRule {
    /// The rule's index in `members`.
    pub member: usize,
    /// The index of the step's function in the rule's exports.
    pub export: usize,
    /// Who the rule is at this step: with the step's settings.
    pub identity: Arc<Identity>,
    /// The members of the input that it takes, in their order; empty if the input is no record.
    pub(crate) members: Arc<[Name]>,
    /// The counters that it needs.
    pub(crate) counters: Arc<[Val]>,
    /// The digest of the step's settings.
    pub settings_digest: Digest,
    /// What its failure means.
    pub failing: Failings,
    /// The code that a failure that refuses gives.
    pub failure_code: Arc<str>,
    /// The earlier release that decides when it fails, if there is one.
    pub last_good: LastGoodSlot,
    /// Its quarantine, if it is ever in one.
    pub quarantine: Option<BoundQuarantine>,
    /// Whether the current release's one judges also what was agreed under an earlier one.
    pub always_newest: bool,
    /// Whether clients are told nothing of it.
    pub confidential: bool,
    /// When the rule is asked.
    pub effective: Effective,
    /// The candidate in its shadow, if there is one.
    pub shadow: Option<Arc<BoundShadow>>,
    /// The candidate that decides in its place about some requests, if there is one.
    pub canary: Option<Arc<BoundCanary>>,
}

/// A candidate that decides about some requests in the place of a rule at a step.
#[derive(Debug)]
pub struct BoundCanary {
    /// The candidate at this step, with its own settings. It has neither shadow nor canary.
    pub bound: BoundRule,
    /// The digest of the candidate's bytes.
    pub digest: Digest,
    /// Which requests, and when it is held back.
    pub terms: CanaryTerms,
}

/// A candidate in the shadow of a rule at a step.
#[derive(Clone, Debug)]
pub struct BoundShadow {
    /// The candidate at this step, with its own settings. It has no shadow.
    pub bound: BoundRule,
    /// The share of requests that it judges, in millionths.
    pub share: u32,
    /// The most processor time, in millionths of one processor.
    pub cpu: u32,
}

/// A release, checked and linked.
pub struct Release {
    /// Its number; 0 for one that was only checked.
    pub number: u64,
    /// The digest of its contents.
    pub digest: Digest,
    /// The digest of the scheme's facts, which components may read.
    pub scheme_digest: Digest,
    /// Its components.
    pub members: Vec<Member>,
    /// Which import of which component is linked to what.
    pub wiring: Wiring,
    /// Rules by the step's interface name.
    pub steps: HashMap<Name, Vec<BoundRule>>,
    /// How its contexts ask each step.
    pub(crate) asked: HashMap<Name, Asked>,
    /// Rules that are suspended now, whatever the release.
    pub(crate) suspensions: Arc<Suspensions>,
    /// How many drafts each asker has had judged, whatever the release.
    pub(crate) drafts: Arc<Drafts>,
    /// What rules said lately, whatever the release.
    pub(crate) verdicts: Arc<VerdictCounts>,
    /// Who says which requests a canary decides about.
    pub(crate) canaries: Arc<dyn Canaries>,
    /// The releases that stay ready. They have this too, so it does not keep them.
    pub(crate) earlier: Weak<EarlierReleases>,
    pub(crate) by_name: HashMap<Name, usize>,
}

impl Release {
    /// Whether a candidate is in the shadow of any rule, or decides in the place of one.
    #[must_use]
    pub fn has_candidates(&self) -> bool {
        let mut rules = self.steps.values().flatten();
        rules.any(|bound| bound.shadow.is_some() || bound.canary.is_some())
    }

    /// An earlier release, if it is ready.
    pub(crate) fn earlier(&self, number: u64) -> Earlier {
        let earlier = self.earlier.upgrade();
        earlier.map_or(Earlier::NotKept, |earlier| earlier.get(number))
    }

    /// Whether a rule is suspended at an instant, in milliseconds since 1970.
    #[must_use]
    pub fn suspends(&self, rule: &str, at: u64) -> bool {
        self.suspensions.suspends(rule, at)
    }

    /// A component by its name.
    pub fn member(&self, name: &str) -> Option<&Member> {
        self.by_name.get(name).map(|&at| &self.members[at])
    }
}
