//! What a stored component says of itself before a release has it, and rules that judge without being released.

use std::sync::Arc;

use anyhow::Context as _;
use rialto_components::introspect::Shape;
use rialto_components::problem::Problem;
use rialto_components::{
    ComponentSpec, Digest, Grants, Isolation, Limits, RULE_SURFACES, Release, ReleaseSpec, Role,
};
use rialto_manifest::operator::Ceilings;
use rialto_manifest::scheme::{RuleLimits, SchemeDocument};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::refused::unfit;
use super::{Refused, Releases};
use crate::limits::bytes as bytes_of;
use crate::located::located;
use crate::spec;

/// The name of a component that no scheme has named yet.
const UNNAMED: &str = "component";

/// A stored component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownComponent {
    /// The digest of its bytes.
    pub digest: Digest,
    /// How many bytes it has.
    pub bytes: u64,
    /// The host's surfaces that it imports.
    pub host: Vec<String>,
    /// What it says as a rule; none if it is no rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<ShownRule>,
}

/// What a rule says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownRule {
    /// Its own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One sentence.
    pub summary: String,
    /// Error codes that it may return.
    pub codes: Vec<String>,
    /// The steps to which it can be bound.
    pub steps: Vec<String>,
    /// JSON Schema of its settings.
    pub settings_schema: Value,
    /// The most fuel that a verdict needs, by its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<u64>,
}

impl Releases {
    /// The most that components get at this host.
    #[must_use]
    pub fn ceilings(&self) -> &Ceilings {
        &self.operator.ceilings
    }

    /// What a stored component says of itself; none if it is not stored.
    ///
    /// # Errors
    /// When the host cannot run it.
    pub fn describe(&self, digest: Digest) -> Result<Option<ShownComponent>, Refused> {
        let stored = self.store.component(&digest.to_string());
        let stored = stored.context("reading the component")?;
        stored
            .map(|bytes| self.describe_bytes(digest, bytes.into()))
            .transpose()
    }

    /// What a component says of itself, stored or not.
    ///
    /// # Errors
    /// When the host cannot run it.
    pub fn describe_bytes(
        &self,
        digest: Digest,
        bytes: Arc<[u8]>,
    ) -> Result<ShownComponent, Refused> {
        let told = |problem: &Problem| problem.to_string();
        let size = bytes.len() as u64;
        let alone = self.alone(digest, bytes);
        let shape = self.runtime.shape(&alone);
        let shape = shape.map_err(|problem| Refused::Unfit(vec![told(&problem)]))?;
        let mut shown = ShownComponent {
            digest,
            bytes: size,
            host: host_surfaces(&shape),
            rule: None,
        };
        if !is_rule(&shape) {
            return Ok(shown);
        }
        let release = ReleaseSpec {
            number: 0,
            digest,
            components: vec![alone],
            steps: Vec::new(),
            scheme: "{}".into(),
            lists: Arc::default(),
            signers: Vec::new(),
            codes: Vec::new(),
            has_rules_alone: false,
        };
        let release = self.runtime.prepare(&release.rules_alone());
        let release = release.map_err(|all| Refused::Unfit(all.iter().map(told).collect()))?;
        let member = release.members.first();
        shown.rule = member
            .and_then(|member| member.description.as_ref())
            .map(|said| ShownRule {
                name: said.name.clone(),
                version: said.version.clone(),
                summary: said.summary.clone(),
                codes: said.codes.clone(),
                steps: steps(&shape),
                // A rule without a schema takes no settings.
                settings_schema: serde_json::from_str(&said.settings_schema).unwrap_or_default(),
                fuel: said.fuel(),
            });
        Ok(shown)
    }

    /// The rules of a document alone, prepared to judge what was judged before. They serve nothing.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn rules_alone(&self, document: &SchemeDocument) -> Result<Release, Refused> {
        let scheme = document.scheme().map_err(|problems| unfit(&problems))?;
        rialto_manifest::admit(&self.operator, &scheme).map_err(|problems| unfit(&problems))?;
        let spec = spec::release(0, document, |digest| {
            let bytes = self.store.component(&digest.to_string()).ok().flatten();
            bytes.map(Into::into)
        });
        let spec = spec.map_err(|error| Refused::Unfit(vec![error.to_string()]))?;
        let release = self.runtime.prepare(&spec.rules_alone());
        release.map_err(|problems| unfit(&located(&scheme, &problems)))
    }

    /// A component within the limits that a rule has without a word of its scheme.
    fn alone(&self, digest: Digest, bytes: Arc<[u8]>) -> ComponentSpec {
        let (most, usual) = (self.ceilings(), RuleLimits::default());
        ComponentSpec {
            name: UNNAMED.into(),
            role: Role::Rule,
            digest,
            bytes,
            grants: Grants {
                host: RULE_SURFACES.map(str::to_owned).to_vec(),
                ..Grants::default()
            },
            limits: Limits {
                memory_bytes: bytes_of(usual.memory.min(most.memory)),
                deadline_ms: usual.deadline.min(most.deadline).millis(),
                fuel: Some(usual.fuel.min(most.fuel)),
                instances: 1,
            },
            isolation: Isolation::Fresh,
            settings: "{}".into(),
            listener: None,
        }
    }
}

fn is_rule(shape: &Shape) -> bool {
    let mut exports = shape.exports.iter();
    exports.any(|one| one.name.is_rules() && one.name.interface == "rule")
}

fn steps(shape: &Shape) -> Vec<String> {
    let exports = shape.exports.iter();
    let steps = exports.filter(|one| one.name.is_rules() && one.function("check").is_some());
    let mut steps: Vec<String> = steps.map(|one| one.name.interface.clone()).collect();
    // A rule may serve several versions of a step.
    steps.dedup();
    steps
}

fn host_surfaces(shape: &Shape) -> Vec<String> {
    let imports = shape.imports.iter().filter(|one| one.name.is_host());
    let mut surfaces: Vec<String> = imports.map(|one| one.name.interface.clone()).collect();
    surfaces.sort_unstable();
    surfaces.dedup();
    surfaces
}
